#include "ranges.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "emitter.h"

void ranges_init(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    nvtx_init init = library ? (nvtx_init)dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (init) emitter_inject(init);
}

void range_push(const char *name)
{
    if (emit_core.RangePushA) emit_core.RangePushA(name);
}

void range_pop(void)
{
    if (emit_core.RangePop) emit_core.RangePop();
}
