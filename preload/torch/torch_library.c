#include "torch/torch_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/worker.h"
#include "stacks/module.h"

enum { PATH_BYTES = 1024 }; /* on stacks that may be small */

static void *loaded(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library) dlclose(library);
    return library;
}

/* Distributions append a version to the name, so their libraries are found by their paths. */
void *mp_torch_library(const char *name)
{
    char part[64] = "/", path[PATH_BYTES];
    struct mp_text t = { part, sizeof part, 1, false };
    void *library = loaded(name);
    if (library) return library;
    mp_text_str(&t, name);
    return mp_module_file(part, path, sizeof path) ? loaded(path) : NULL;
}

/* "2.11.0+cu130", in Python behind "__version__ = '": 211; 0: no version. */
static unsigned version_in(const char *text)
{
    static const char python[] = "__version__ = '";
    const char *p = strstr(text, python);
    unsigned part[2];
    return mp_text_version(p ? p + strlen(python) : text, part) ? part[0] * 100 + part[1] : 0;
}

/* The first line that has one decides. */
static void take_version(void *arg, const char *line)
{
    unsigned *version = arg;
    if (!*version) *version = version_in(line);
}

/* The version that a file says, which is named from the folder of another one. */
static unsigned version_beside(const char *path, const char *file)
{
    static char at[PATH_BYTES]; /* stays valid if the worker is slow */
    unsigned version = 0;
    struct mp_text t = MP_TEXT(at);
    const char *slash = strrchr(path, '/');
    if (!slash) return 0;
    mp_text_bytes(&t, path, (size_t)(slash - path));
    mp_text_str(&t, file);
    if (!t.full) mp_worker_lines(at, take_version, &version);
    return version;
}

/* A wheel has its libraries in the Python package; others have them elsewhere, and LibTorch has no
 * Python. */
unsigned mp_torch_version(const void *function)
{
    Dl_info info;
    char package[PATH_BYTES];
    if (!dladdr(function, &info)) return 0;
    unsigned version = version_beside(info.dli_fname, "/../version.py");
    if (!version && mp_module_file("/torch/_C.", package, sizeof package))
        version = version_beside(package, "/version.py");
    return version ? version : version_beside(info.dli_fname, "/../build-version");
}
