/* Another injection library, as a user may have set one. It counts its calls and returns its own
 * handles. */
#include <string.h>

#include "nvtx/nvtx_abi.h"
#include "tool.h"

__attribute__((visibility("default"))) struct tool_seen tool_seen;
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get);
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    struct nvtx_extension *extension);

static char domain, string;

static int range_push_a(const char *text)
{
    (void)text;
    tool_seen.pushes++;
    return 0;
}

static uint64_t range_start_a(const char *text)
{
    (void)text;
    return TOOL_RANGE;
}

static void name_category_a(uint32_t category, const char *text)
{
    (void)text;
    tool_seen.category = category;
}

static void *domain_create_a(const char *text)
{
    (void)text;
    return &domain;
}

static void *domain_register_string_a(void *in, const char *text)
{
    (void)text;
    tool_seen.domain_known = in == &domain;
    return &string;
}

static int domain_range_push_ex(void *in, nvtx_event_t e)
{
    tool_seen.domain_known = in == &domain;
    tool_seen.string_known = e->message.registered == &string;
    return 0;
}

static int range_pop_payload(void *in, nvtx_payload_t list, size_t count)
{
    (void)list, (void)count;
    tool_seen.pops += in == &domain;
    return 0;
}

static void set(nvtx_function **table, unsigned id, nvtx_function function)
{
    *table[id] = function;
}

int InitializeInjectionNvtx2(nvtx_get_table get)
{
    const struct nvtx_callbacks *callbacks = get(NVTX_TABLE_CALLBACKS);
    nvtx_function **core, **core2;
    unsigned entries;
    callbacks->module_table(NVTX_MODULE_CORE, &core, &entries);
    callbacks->module_table(NVTX_MODULE_CORE2, &core2, &entries);
    set(core, 9, (nvtx_function)range_push_a);
    set(core, 5, (nvtx_function)range_start_a);
    set(core, 12, (nvtx_function)name_category_a);
    set(core2, 12, (nvtx_function)domain_create_a);
    set(core2, 10, (nvtx_function)domain_register_string_a);
    set(core2, 4, (nvtx_function)domain_range_push_ex);
    return 1;
}

int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
    extension->segment[0].slot[4] = (intptr_t)range_pop_payload;
    return 1;
}
