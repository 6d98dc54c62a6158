/* One of several libraries that each define `chained`. Each looks up the next definition after
 * itself at every call, and passes the call on to it. */
#define _GNU_SOURCE
#include "chain.h"

#include <dlfcn.h>
#include <string.h>

void chained(char *out)
{
    void (*next)(char *) = dlsym(RTLD_NEXT, "chained");
    strcat(out, LINK);
    if (next) next(out);
}

/* The loader's error message names the object that made the call. */
const char *LOST(void)
{
    dlerror();
    return dlsym(RTLD_NEXT, "lost") || dlvsym(RTLD_NEXT, "lost", "LOST_1") ? "found" : dlerror();
}
