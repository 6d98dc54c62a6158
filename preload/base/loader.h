/* The loader's errors. */
#ifndef MP_LOADER_H
#define MP_LOADER_H

#include <dlfcn.h>

/* After a look-up of memprof's own that may have failed: the program's next dlerror must not tell
 * of it.  The first call marks the error as told, the second one frees it. */
static inline void mp_loader_forget_error(void)
{
    dlerror();
    dlerror();
}

#endif
