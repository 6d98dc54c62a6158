/* NVTX's payload extension. NCCL pushes through the core and pops here: without it every later path
 * would be wrong. Payloads are stored unchanged, with the number of their schema. */
#include "nvtx/nvtx_payload.h"

#include <string.h>

#include "core/names.h"
#include "core/ranges.h"
#include "mpf/slot.h"
#include "nvtx/nvtx_chain.h"
#include "nvtx/nvtx_text.h"
#include "nvtx/schemas.h"

void mp_nvtx_payloads(nvtx_payload_t list, size_t count)
{
    if (list && count) mp_schemas_tell();
    for (size_t i = 0; list && i < count; i++)
        if (list[i].data && list[i].bytes != SIZE_MAX)
            mp_range_data(list[i].schema, list[i].data, list[i].bytes);
}

static uint64_t new_schema(void)
{
    static uint64_t last = NVTX_SCHEMA_DYNAMIC;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Returns a schema's number: the program's own, that of the chained library, or ours. */
static uint64_t schema_id(uint64_t own, uint64_t next)
{
    return own ? own : next ? next : new_schema();
}

/* Records the names, types and places of the entries, so that a report can distinguish a
 * communicator's ranges by its hash. */
static void describe(uint64_t id, const struct nvtx_schema *schema)
{
    uint8_t data[MPF_DATA_MAX];
    size_t bytes = 0;
    for (size_t i = 0; schema->entries && i < schema->entry_count; i++) {
        const struct nvtx_schema_entry *e = &schema->entries[i];
        const char *name = e->name ? e->name : "";
        const uint64_t place[] = { e->type, e->offset };
        const size_t length = strlen(name) + 1;
        if (length > sizeof data - bytes || sizeof place > sizeof data - bytes - length) break;
        memcpy(data + bytes, place, sizeof place);
        memcpy(data + bytes + sizeof place, name, length);
        bytes += sizeof place + length;
    }
    if (bytes) mp_schemas_add(id, data, bytes);
}

static uint64_t schema_register(void *domain, const struct nvtx_schema *schema)
{
    const uint64_t next = MP_NVTX_ASK(payload, PayloadSchemaRegister, domain, schema);
    if (!schema) return next;
    const uint64_t id = schema_id((schema->fields & NVTX_SCHEMA_HAS_ID) ? schema->id : 0, next);
    describe(id, schema);
    return id;
}

static uint64_t enum_register(void *domain, const struct nvtx_enum *values)
{
    const uint64_t next = MP_NVTX_ASK(payload, PayloadEnumRegister, domain, values);
    if (!values) return next;
    return schema_id((values->fields & NVTX_ENUM_HAS_ID) ? values->id : 0, next);
}

static void mark(void *handle, nvtx_payload_t list, size_t count)
{
    uint32_t domain;
    if (mp_nvtx_domain(handle, &domain)) {
        mp_range_mark(domain, MP_NAME_NONE);
        mp_nvtx_payloads(list, count);
    }
    MP_NVTX_NEXT(payload, MarkPayload, handle, list, count);
}

static int push(void *handle, nvtx_payload_t list, size_t count)
{
    uint32_t domain;
    int level = MP_RANGE_ERROR;
    if (mp_nvtx_domain(handle, &domain)) {
        level = mp_range_push(domain, MP_NAME_NONE);
        mp_nvtx_payloads(list, count);
    }
    MP_NVTX_NEXT(payload, RangePushPayload, handle, list, count);
    return level;
}

static int pop(void *handle, nvtx_payload_t list, size_t count)
{
    uint32_t domain;
    int level = MP_RANGE_ERROR;
    if (mp_nvtx_domain(handle, &domain)) {
        level = mp_range_pop(domain);
        mp_nvtx_payloads(list, count);
    }
    MP_NVTX_NEXT(payload, RangePopPayload, handle, list, count);
    return level;
}

static uint64_t start(void *handle, nvtx_payload_t list, size_t count)
{
    const uint64_t next = MP_NVTX_ASK(payload, RangeStartPayload, handle, list, count);
    uint32_t domain;
    if (!mp_nvtx_domain(handle, &domain)) return next;
    const uint64_t id = next ? next : mp_range_new_id();
    mp_range_start(domain, MP_NAME_NONE, id);
    mp_nvtx_payloads(list, count);
    return id;
}

static void end(void *handle, uint64_t id, nvtx_payload_t list, size_t count)
{
    mp_range_end(id);
    MP_NVTX_NEXT(payload, RangeEndPayload, handle, id, list, count);
}

/* Always true, because memprof records the events of every domain, whether the chained library does
 * or not. */
static uint8_t is_enabled(void *handle)
{
    (void)handle;
    return 1;
}

enum { SLOTS = sizeof(struct nvtx_payload_extension) / sizeof(nvtx_function) };
union slots {
    struct nvtx_payload_extension as;
    intptr_t slot[SLOTS];
};

static const union slots ours = { .as = {
                                      .PayloadSchemaRegister = schema_register,
                                      .PayloadEnumRegister = enum_register,
                                      .MarkPayload = mark,
                                      .RangePushPayload = push,
                                      .RangePopPayload = pop,
                                      .RangeStartPayload = start,
                                      .RangeEndPayload = end,
                                      .DomainIsEnabled = is_enabled,
                                  } };

void mp_nvtx_payload_install(const struct nvtx_segment *segment)
{
    union slots next = { .as = mp_nvtx_next.payload };
    for (size_t i = 0; i < SLOTS && i < segment->slots; i++) {
        if (segment->slot[i]) next.slot[i] = segment->slot[i];
        segment->slot[i] = ours.slot[i];
    }
    mp_nvtx_next.payload = next.as;
}
