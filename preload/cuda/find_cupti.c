#include "cuda/find_cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                     "libcupti.so.11.2" };
enum { NAMES = sizeof names / sizeof *names };

static void *open_in(const char *folder, const char *below)
{
    for (int i = 0; i < NAMES; i++) {
        char path[PATH_MAX];
        struct mp_text t = MP_TEXT(path);
        mp_text_str(&t, folder);
        mp_text_str(&t, below);
        mp_text_str(&t, names[i]);
        void *library = t.full ? NULL : dlopen(path, RTLD_LAZY);
        if (library) return library;
    }
    return NULL;
}

struct folders {
    char at[4][PATH_MAX];
    unsigned count;
};

/* The loader's lock is held here, so folders are only stored. */
static int note_folder(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct folders *f = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash ||
        (strncmp(slash, "/libcudart.so", 13) != 0 && strncmp(slash, "/libtorch.so", 12) != 0))
        return 0;
    const size_t length = (size_t)(slash - info->dlpi_name);
    if (length >= PATH_MAX || f->count == sizeof f->at / sizeof *f->at) return 0;
    memcpy(f->at[f->count], info->dlpi_name, length);
    f->at[f->count++][length] = 0;
    return 0;
}

/* Next to libcudart (CUDA 13's wheels and toolkits), or in the neighbour package (CUDA 12's wheels,
 * and next to libtorch). */
static void *beside_cuda(void)
{
    static const char *const below[] = { "/", "/../../cuda_cupti/lib/", "/../../nvidia/cu13/lib/",
                                         "/../../nvidia/cuda_cupti/lib/",
                                         "/../extras/CUPTI/lib64/" };
    static struct folders f;
    void *library = NULL;
    dl_iterate_phdr(note_folder, &f);
    for (unsigned n = 0; n < f.count; n++)
        for (size_t i = 0; i < sizeof below / sizeof *below && !library; i++)
            library = open_in(f.at[n], below[i]);
    return library;
}

void *mp_loaded_cupti(void)
{
    for (int i = 0; i < NAMES; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) return library;
    }
    return NULL;
}

static void *in_known_places(void)
{
    static const struct {
        const char *variable, *below;
    } place[] = { { "CONDA_PREFIX", "/lib/" },
                  { "CUDA_HOME", "/lib64/" },
                  { "CUDA_HOME", "/extras/CUPTI/lib64/" },
                  { "CUDA_PATH", "/lib64/" },
                  { "CUDA_PATH", "/extras/CUPTI/lib64/" } };
    void *library = NULL;
    for (size_t i = 0; i < sizeof place / sizeof *place && !library; i++) {
        const char *folder = secure_getenv(place[i].variable);
        if (folder && *folder) library = open_in(folder, place[i].below);
    }
    if (!library) library = open_in("/usr/local/cuda", "/lib64/");
    if (!library) library = open_in("/usr/local/cuda", "/extras/CUPTI/lib64/");
    for (int i = 0; i < NAMES && !library; i++) library = dlopen(names[i], RTLD_LAZY);
    return library;
}

static void *find(const char **why)
{
    const char *wish = secure_getenv("MEMPROF_CUPTI");
    *why = "cannot find libcupti; install the CUDA toolkit or set MEMPROF_CUPTI to its path";
    if (wish && !strcmp(wish, "off")) {
        *why = "MEMPROF_CUPTI=off";
        return NULL;
    }
    void *library = mp_loaded_cupti();
    if (library) return library;
    if (wish && *wish && strcmp(wish, "alone") != 0) {
        *why = "cannot load the library that MEMPROF_CUPTI names";
        return dlopen(wish, RTLD_LAZY);
    }
    library = beside_cuda();
    return library ? library : in_known_places();
}

void *mp_find_cupti(const char **path, const char **why)
{
    void *library = find(why);
    struct link_map *map;
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) *path = map->l_name;
    return library;
}
