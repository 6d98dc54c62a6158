/* Serves NVTX's extensions. */
#include <errno.h>
#include <stdbool.h>

#include "core/process.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/nvtx_chain.h"
#include "nvtx/nvtx_memory.h"
#include "nvtx/nvtx_payload.h"

static bool serve(const struct nvtx_extension *extension)
{
    if (!extension->segments || !extension->segment || !extension->segment->slot) return false;
    switch (extension->module) {
    case NVTX_EXTENSION_PAYLOAD: mp_nvtx_payload_install(extension->segment); return true;
    case NVTX_EXTENSION_MEMORY:
        return extension->compatible == NVTX_MEMORY_COMPATIBLE &&
               mp_nvtx_memory_install(extension->segment);
    default: return false;
    }
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    struct nvtx_extension *extension);

/* Returns 1 if the extension is served; 0 makes its functions no-ops. */
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
    if (!mp_process_active() || !extension || extension->bytes < sizeof *extension) return 0;
    const int saved = errno;
    const nvtx_extension_init next =
        (nvtx_extension_init)mp_nvtx_chain_symbol("InitializeInjectionNvtxExtension");
    const bool served = next && next(extension);
    const bool ours = serve(extension);
    errno = saved;
    return served || ours;
}
