/* Loads libdw from the machine on which the report runs.  It brings libelf, whose functions dlsym
 * finds through it. */
#include <dlfcn.h>

#include "libdw.h"

struct mpr_dw mpr_dw;

bool mpr_dw_load(void)
{
    static bool tried, loaded;
    static const struct {
        const char *name;
        void *place;
    } function[] = {
#define X(name) { #name, &mpr_dw.name },
        MPR_DW_FUNCTIONS(X)
#undef X
    };
    if (tried) return loaded;
    tried = true;
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof function / sizeof *function; i++) {
        void *found = dlsym(library, function[i].name);
        if (!found) return false; /* an older version */
        *(void **)function[i].place = found;
    }
    return loaded = library != NULL;
}
