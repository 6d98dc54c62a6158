/* One of several libraries that each define `chained` and pass it on to the next one, whom they
 * look up behind themselves at each call. */
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

/* The loader's error names who asked. */
const char *LOST(void)
{
    dlerror();
    return dlsym(RTLD_NEXT, "lost") || dlvsym(RTLD_NEXT, "lost", "LOST_1") ? "found" : dlerror();
}
