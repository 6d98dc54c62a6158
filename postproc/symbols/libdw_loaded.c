/* The library of the machine that the report runs on.  libelf's functions are found through libdw,
 * which depends on it. */
#include <dlfcn.h>

#include "libdw.h"

struct mpr_dw mpr_dw;

static const struct {
    const char *name;
    void *place;
} function[] = {
#define FUNCTION(name) { #name, &mpr_dw.name },
#include "libdw.def"
#undef FUNCTION
};

static bool load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof function / sizeof *function; i++) {
        void *found = dlsym(library, function[i].name);
        if (!found) return false; /* an older version */
        *(void **)function[i].place = found;
    }
    return library;
}

bool mpr_dw_load(void)
{
    static bool looked, loaded;
    if (!looked) loaded = load();
    looked = true;
    return loaded;
}
