/* Handles the loader's errors. */
#ifndef MP_LOADER_H
#define MP_LOADER_H

#include <dlfcn.h>

/* Clears the error of a look-up by memprof, so that the program's next dlerror does not report it.
 * The first call marks the error as reported, the second one frees it. */
static inline void mp_loader_forget_error(void)
{
    dlerror();
    dlerror();
}

#endif
