/* The loader keeps the blocks of a failed call's error until the next call. memprof looks up an
 * operator at the operator's first use. This must not be such a next call. */
#include <cstdlib>
#include <dlfcn.h>
#include <new>

int main()
{
    void *kept[64];
    dlsym(RTLD_DEFAULT, "no such function");
    operator delete[](operator new[](100, std::align_val_t(64), std::nothrow), std::align_val_t(64),
                      std::nothrow);
    for (size_t i = 0; i < 64; i++) kept[i] = malloc(16 + 4 * i);
    for (void *p : kept) free(p);
    return dlerror() == nullptr;
}
