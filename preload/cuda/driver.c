#include "cuda/driver.h"

#include <dlfcn.h>

struct mp_driver mp_driver;

bool mp_driver_init(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return false;
#define X(name, ...) mp_driver.name = (__typeof__(mp_driver.name))dlsym(library, #name);
    MP_DRIVER_CALLS(X)
#undef X
    return true;
}
