/* nvtxRangePushA and nvtxRangePop for scripts: load this library with ctypes, and no package is
 * needed.
 *
 * Does what NVTX's own header does in a native program: when it is loaded, it loads the tool that
 * NVTX_INJECTION64_PATH names (libmemprof.so sets it) and lets it fill in the functions.  Without a
 * tool the calls do nothing. */
#include <dlfcn.h>
#include <stdlib.h>

#include "nvtx/nvtx_abi.h"

static struct nvtx_core core;
static nvtx_function *table[sizeof core / sizeof(nvtx_function)];

static int module_table(int module, nvtx_function ***out, unsigned *entries)
{
    *out = table;
    *entries = sizeof table / sizeof *table;
    return module == NVTX_MODULE_CORE;
}

static const void *export_table(uint32_t id)
{
    static const struct nvtx_callbacks callbacks = { sizeof callbacks, module_table };
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

__attribute__((constructor)) static void inject(void)
{
    for (size_t i = 1; i < sizeof table / sizeof *table; i++) table[i] = (nvtx_function *)&core + i;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    nvtx_init init = tool ? (nvtx_init)dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (init) init(export_table);
}

int nvtxRangePushA(const char *text) { return core.RangePushA ? core.RangePushA(text) : -1; }
int nvtxRangePop(void) { return core.RangePop ? core.RangePop() : -1; }
