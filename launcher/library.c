#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "target.h"

#define SEPARATORS " :" /* the loader splits LD_PRELOAD at these, without any quoting */

/* Relative to the folder of the executable: installed in a prefix, or in the build tree. */
static const char *const places[] = { "../" MEMPROF_LIBDIR, "../lib", "../lib64",
                                      "../lib/" MPL_MACHINE_FILES, "../preload" };

static bool beside_executable(char path[PATH_MAX])
{
    char self[PATH_MAX], candidate[PATH_MAX + 64];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/libmemprof.so", self, places[i]);
        if (realpath(candidate, path)) return true;
    }
    return false;
}

/* The path must be absolute because the program may change its directory. Links are not resolved,
 * because a link without a space can replace a path with one. */
static bool from_environment(char path[PATH_MAX], const char *value)
{
    char folder[PATH_MAX] = "";
    if (value[0] != '/' && !getcwd(folder, sizeof folder)) return false;
    const int n = snprintf(path, PATH_MAX, "%s%s%s", folder, value[0] == '/' ? "" : "/", value);
    return n < PATH_MAX && access(path, R_OK) == 0;
}

int mpl_library_find(char path[PATH_MAX], char *reason, size_t cap)
{
    const char *set = getenv("MEMPROF_LIB");
    if (set && *set ? !from_environment(path, set) : !beside_executable(path)) {
        snprintf(reason, cap, "%s%s",
                 set && *set
                     ? "cannot read the file that MEMPROF_LIB names: "
                     : "cannot find libmemprof.so near this program; set MEMPROF_LIB to its path",
                 set && *set ? set : "");
        return -1;
    }
    if (!strpbrk(path, SEPARATORS)) return 0;
    snprintf(
        reason, cap,
        "LD_PRELOAD cannot contain a path with a space or a colon: %s; make a link without them and set "
        "MEMPROF_LIB to it",
        path);
    return -1;
}

/* Returns true if an entry of LD_PRELOAD names a library with this prefix. */
static bool preloads(const char *list, const char *prefix)
{
    for (const char *p = list; *p; p += strspn(p, SEPARATORS)) {
        const size_t length = strcspn(p, SEPARATORS);
        const char *slash = memrchr(p, '/', length);
        const char *name = slash ? slash + 1 : p;
        if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
        p += length;
    }
    return false;
}

/* Finds libmemprof-NAME.so next to libmemprof.so. */
static bool companion(char out[PATH_MAX], const char *library, const char *name)
{
    const int folder = (int)(strrchr(library, '/') - library);
    const int n = snprintf(out, PATH_MAX, "%.*s/libmemprof-%s.so", folder, library, name);
    return n < PATH_MAX && access(out, R_OK) == 0;
}

/* nsys sets its session in the environment of the programs that it starts. */
bool mpl_library_below_nsys(const char *command)
{
    return getenv("NSYS_PROFILING_SESSION_ID") || strcmp(mpl_target_name(command), "nsys") == 0;
}

char *mpl_library_asan_options(const struct mpl_object *program, const char *user_preload,
                               const char *user_options)
{
    static const char *const runtimes[] = { "libasan.so", "libclang_rt.asan" };
    static const char option[] = "verify_asan_link_order";
    bool used = false;
    char *options;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        used |= mpl_object_needs(program, runtimes[i]) ||
                (user_preload && preloads(user_preload, runtimes[i]));
    if (!used || (user_options && strstr(user_options, option))) return NULL;
    const bool any = user_options && *user_options;
    const int length =
        asprintf(&options, "%s%s%s=0", any ? user_options : "", any ? ":" : "", option);
    return length < 0 ? NULL : options;
}

char *mpl_library_preload(const char *library, const struct mpl_object *program, const char *user,
                          bool by_name)
{
    static const char *const allocators[] = { "jemalloc", "mimalloc", "tcmalloc" };
    char *list = NULL;
    size_t bytes;
    char path[PATH_MAX];
    FILE *out = open_memstream(&list, &bytes);
    if (!out) return NULL;
    fputs(library, out);
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "lib%s", allocators[i]);
        const bool used = mpl_object_needs(program, prefix) || (user && preloads(user, prefix));
        if (used && companion(path, library, allocators[i])) fprintf(out, ":%s", path);
    }
    if (user && *user) fprintf(out, ":%s", user);
    if (by_name && companion(path, library, "cuda")) fprintf(out, ":%s", path);
    if (fclose(out) == 0) return list;
    free(list);
    return NULL;
}
