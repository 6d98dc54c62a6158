#include "emitter.h"

#include <string.h>

enum { ENTRIES = 16, SLOTS = 63 };
struct nvtx_core emit_core;
struct nvtx_core2 emit_core2;
struct nvtx_payload_extension emit_payload;
struct nvtx_memory_extension emit_memory;
uint16_t emitter_compatible = 0x0104;

static nvtx_function *core_table[ENTRIES], *core2_table[ENTRIES];
static unsigned core_entries = ENTRIES, core2_entries = ENTRIES;

static int module_table(int module, nvtx_function ***table, unsigned *entries)
{
    *table = module == NVTX_MODULE_CORE ? core_table : core2_table;
    *entries = module == NVTX_MODULE_CORE ? core_entries : core2_entries;
    return *entries > 0 && (module == NVTX_MODULE_CORE || module == NVTX_MODULE_CORE2);
}

static const void *get_table(uint32_t id)
{
    static const struct nvtx_callbacks callbacks = { sizeof callbacks, module_table };
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

void emitter_entries(unsigned core, unsigned core2)
{
    core_entries = core;
    core2_entries = core2;
}

int emitter_inject(nvtx_init init)
{
    memset(&emit_core, 0, sizeof emit_core);
    memset(&emit_core2, 0, sizeof emit_core2);
    for (unsigned i = 1; i < ENTRIES; i++) {
        core_table[i] = (nvtx_function *)&emit_core + i;
        core2_table[i] = (nvtx_function *)&emit_core2 + i;
    }
    return init(get_table);
}

int emitter_inject_extension(nvtx_extension_init init, unsigned module)
{
    intptr_t slot[SLOTS] = { 0 };
    struct nvtx_segment segment = { 0, SLOTS, slot };
    struct nvtx_extension extension = {
        3, sizeof extension, (uint16_t)module, emitter_compatible, 1, &segment, NULL, NULL
    };
    const int served = init(&extension);
    if (module == NVTX_EXTENSION_MEMORY) memcpy(&emit_memory, slot, sizeof emit_memory);
    else memcpy(&emit_payload, slot, sizeof emit_payload);
    return served;
}
