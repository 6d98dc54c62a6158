#include "torch/torch_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/worker.h"
#include "stacks/module.h"

enum { PATH_BYTES = 1024 }; /* small, because stacks may be small */

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

/* Parses "2.11.0+cu130", in Python after "__version__ = '", as 211. Returns 0 without a version. */
static unsigned version_in(const char *text)
{
    static const char python[] = "__version__ = '";
    const char *p = strstr(text, python);
    unsigned part[2];
    return mp_text_version(p ? p + strlen(python) : text, part) ? part[0] * 100 + part[1] : 0;
}

/* Uses the first line with a version. */
static void take_version(void *arg, const char *line)
{
    unsigned *version = arg;
    if (!*version) *version = version_in(line);
}

/* Returns the version in a file whose path is relative to the folder of another file. */
static unsigned version_beside(const char *path, const char *file)
{
    static char at[PATH_BYTES]; /* static, so that it stays valid if the worker is slow */
    unsigned version = 0;
    struct mp_text t = MP_TEXT(at);
    const char *slash = strrchr(path, '/');
    if (!slash) return 0;
    mp_text_bytes(&t, path, (size_t)(slash - path));
    mp_text_str(&t, file);
    if (!t.full) mp_worker_lines(at, take_version, &version);
    return version;
}

/* A wheel has its libraries in the Python package. Others have them elsewhere, and LibTorch has no
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
