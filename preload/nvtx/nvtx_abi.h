/* The part of NVTX's injection interface that memprof uses.
 *
 * A program's copy of NVTX (every shared object has its own) opens the library that
 * NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2 with a function that returns
 * export tables. The table of callbacks has one table of functions per module: entry [id] points to
 * the pointer that NVTX calls through. Entries that the injection library does not set become
 * no-ops. A result of 0 makes all of them no-ops. NVTX 2 calls InitializeInjectionNvtx in the same
 * way.
 *
 * InitializeInjectionNvtxExtension is called once for each extension and shared object. There a
 * slot contains the function itself. */
#ifndef MP_NVTX_ABI_H
#define MP_NVTX_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef void (*nvtx_function)(void);

#define NVTX_TABLE_CALLBACKS 1
enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

struct nvtx_callbacks {
    size_t bytes;
    /* Returns 1 and the module's table with the number of its entries, or 0. Entry 0 is unused. */
    int (*module_table)(int module, nvtx_function ***table, unsigned *entries);
};
typedef const void *(*nvtx_get_table)(uint32_t table);
typedef int (*nvtx_init)(nvtx_get_table get);

enum nvtx_message { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };

union nvtx_text {
    const char *ascii;
    const wchar_t *unicode;
    void *registered;
};

/* nvtxEventAttributes. Fields beyond `bytes` do not exist. */
struct nvtx_event {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t payloads; /* number of struct nvtx_payload, with NVTX_PAYLOADS */
    union {
        uint64_t u64;
        double f64;
        const struct nvtx_payload *list;
    } payload;
    int32_t message_type;
    union nvtx_text message;
};
static_assert(sizeof(struct nvtx_event) == 48, "ABI");

#define NVTX_PAYLOADS ((int32_t)0xdfbd0009) /* payload_type: an array of struct nvtx_payload */
struct nvtx_payload {
    uint64_t schema;
    size_t bytes; /* SIZE_MAX if not given */
    const void *data;
};

typedef const struct nvtx_event *nvtx_event_t;
typedef const struct nvtx_payload *nvtx_payload_t;

/* X(id, name, result, parameters) */
#define NVTX_CORE(X)                                                                               \
    X(1, MarkEx, void, (nvtx_event_t event))                                                       \
    X(2, MarkA, void, (const char *text))                                                          \
    X(3, MarkW, void, (const wchar_t *text))                                                       \
    X(4, RangeStartEx, uint64_t, (nvtx_event_t event))                                             \
    X(5, RangeStartA, uint64_t, (const char *text))                                                \
    X(6, RangeStartW, uint64_t, (const wchar_t *text))                                             \
    X(7, RangeEnd, void, (uint64_t id))                                                            \
    X(8, RangePushEx, int, (nvtx_event_t event))                                                   \
    X(9, RangePushA, int, (const char *text))                                                      \
    X(10, RangePushW, int, (const wchar_t *text))                                                  \
    X(11, RangePop, int, (void))                                                                   \
    X(12, NameCategoryA, void, (uint32_t category, const char *text))                              \
    X(13, NameCategoryW, void, (uint32_t category, const wchar_t *text))                           \
    X(14, NameOsThreadA, void, (uint32_t tid, const char *text))                                   \
    X(15, NameOsThreadW, void, (uint32_t tid, const wchar_t *text))

#define NVTX_CORE2(X)                                                                              \
    X(1, DomainMarkEx, void, (void *domain, nvtx_event_t event))                                   \
    X(2, DomainRangeStartEx, uint64_t, (void *domain, nvtx_event_t event))                         \
    X(3, DomainRangeEnd, void, (void *domain, uint64_t id))                                        \
    X(4, DomainRangePushEx, int, (void *domain, nvtx_event_t event))                               \
    X(5, DomainRangePop, int, (void *domain))                                                      \
    X(6, DomainResourceCreate, void *, (void *domain, void *attributes))                           \
    X(7, DomainResourceDestroy, void, (void *resource))                                            \
    X(8, DomainNameCategoryA, void, (void *domain, uint32_t category, const char *text))           \
    X(9, DomainNameCategoryW, void, (void *domain, uint32_t category, const wchar_t *text))        \
    X(10, DomainRegisterStringA, void *, (void *domain, const char *text))                         \
    X(11, DomainRegisterStringW, void *, (void *domain, const wchar_t *text))                      \
    X(12, DomainCreateA, void *, (const char *text))                                               \
    X(13, DomainCreateW, void *, (const wchar_t *text))                                            \
    X(14, DomainDestroy, void, (void *domain))                                                     \
    X(15, Initialize, void, (const void *reserved))

/* the payload extension, without its clocks and batches; slots start at 0 */
#define NVTX_PAYLOAD_EXTENSION(X)                                                                  \
    X(0, PayloadSchemaRegister, uint64_t, (void *domain, const struct nvtx_schema *schema))        \
    X(1, PayloadEnumRegister, uint64_t, (void *domain, const struct nvtx_enum *values))            \
    X(2, MarkPayload, void, (void *domain, nvtx_payload_t list, size_t count))                     \
    X(3, RangePushPayload, int, (void *domain, nvtx_payload_t list, size_t count))                 \
    X(4, RangePopPayload, int, (void *domain, nvtx_payload_t list, size_t count))                  \
    X(5, RangeStartPayload, uint64_t, (void *domain, nvtx_payload_t list, size_t count))           \
    X(6, RangeEndPayload, void, (void *domain, uint64_t id, nvtx_payload_t list, size_t count))    \
    X(7, DomainIsEnabled, uint8_t, (void *domain))

#define NVTX_SCHEMA_HAS_ID (1u << 8) /* in nvtx_schema.fields */
struct nvtx_schema_entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t array, offset;
    const void *semantics, *reserved;
};
struct nvtx_schema {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct nvtx_schema_entry *entries;
    size_t entry_count, static_bytes, align;
    uint64_t id;
};
#define NVTX_ENUM_HAS_ID (1u << 5) /* in nvtx_enum.fields */
struct nvtx_enum {
    uint64_t fields;
    const char *name;
    const void *entries;
    size_t entry_count, enum_bytes;
    uint64_t id;
};
#define NVTX_SCHEMA_DYNAMIC (UINT64_C(1) << 32) /* the tool assigns IDs from here on */

/* the memory extension, without permissions, which do not affect amounts */
#define NVTX_MEMORY_EXTENSION(X)                                                                   \
    X(0, MemHeapRegister, void *, (void *domain, const struct nvtx_heap *heap))                    \
    X(1, MemHeapUnregister, void, (void *domain, void *heap))                                      \
    X(2, MemHeapReset, void, (void *domain, void *heap))                                           \
    X(3, MemRegionsRegister, void, (void *domain, const struct nvtx_regions *batch))               \
    X(4, MemRegionsResize, void, (void *domain, const struct nvtx_resizes *batch))                 \
    X(5, MemRegionsUnregister, void, (void *domain, const struct nvtx_references *batch))          \
    X(6, MemRegionsName, void, (void *domain, const struct nvtx_names *batch))

#define NVTX_VIRTUAL_ADDRESS 1 /* a type of memory: described by struct nvtx_range */
enum nvtx_reference { NVTX_BY_ADDRESS = 1, NVTX_BY_HANDLE = 2 };

/* The first fields of all descriptions. */
struct nvtx_description {
    uint16_t compatible, bytes;
    uint32_t kind;
};
struct nvtx_range {
    size_t bytes;
    const void *at;
};
struct nvtx_heap {
    struct nvtx_description head;
    uint32_t usage, type;
    size_t of_bytes;
    const void *range; /* of NVTX_VIRTUAL_ADDRESS: its struct nvtx_range */
    uint32_t category, message_type;
    union nvtx_text message;
};
struct nvtx_regions {
    struct nvtx_description head; /* kind: the type */
    void *heap;
    size_t count, element_bytes;
    const void *elements;
    const void **handles; /* NULL if they are not requested */
};
struct nvtx_resizes {
    struct nvtx_description head; /* kind: the type */
    size_t count, element_bytes;
    const void *elements;
};
struct nvtx_references {
    struct nvtx_description head; /* kind: enum nvtx_reference */
    size_t count, element_bytes;
    const void *elements; /* of void * */
};
struct nvtx_region_name {
    uint32_t reference, message_type;
    const void *region;
    union nvtx_text message;
    uint32_t category, unused;
};
struct nvtx_names {
    struct nvtx_description head;
    size_t count, element_bytes;
    const void *elements;
    size_t unused;
};

#define X(id, name, result, parameters) result(*name) parameters;
struct nvtx_core {
    nvtx_function unused;
    NVTX_CORE(X)
};
struct nvtx_core2 {
    nvtx_function unused;
    NVTX_CORE2(X)
};
struct nvtx_payload_extension {
    NVTX_PAYLOAD_EXTENSION(X)
};
struct nvtx_memory_extension {
    NVTX_MEMORY_EXTENSION(X)
};
#undef X

#define X(id, name, result, parameters)                                                            \
    static_assert(offsetof(struct nvtx_core, name) == (id) * sizeof(nvtx_function),                \
                  "in order of id");
NVTX_CORE(X)
#undef X
#define X(id, name, result, parameters)                                                            \
    static_assert(offsetof(struct nvtx_core2, name) == (id) * sizeof(nvtx_function),               \
                  "in order of id");
NVTX_CORE2(X)
#undef X
#define X(id, name, result, parameters)                                                            \
    static_assert(offsetof(struct nvtx_payload_extension, name) == (id) * sizeof(nvtx_function),   \
                  "in order of id");
NVTX_PAYLOAD_EXTENSION(X)
#undef X
#define X(id, name, result, parameters)                                                            \
    static_assert(offsetof(struct nvtx_memory_extension, name) == (id) * sizeof(nvtx_function),    \
                  "in order of id");
NVTX_MEMORY_EXTENSION(X)
#undef X

enum nvtx_extensions { NVTX_EXTENSION_MEMORY = 1, NVTX_EXTENSION_PAYLOAD = 2 };
#define NVTX_MEMORY_COMPATIBLE                                                                     \
    0x0102 /* version of the memory extension and of its descriptions                              \
            */
struct nvtx_segment {
    size_t id, slots;
    intptr_t *slot; /* 0 if no tool has set it */
};
struct nvtx_extension {
    uint16_t version, bytes;
    uint16_t module, compatible; /* module: of enum nvtx_extensions */
    size_t segments;
    struct nvtx_segment *segment;
    intptr_t (*get_export)(uint32_t id);
    const void *info;
};
typedef int (*nvtx_extension_init)(struct nvtx_extension *extension);

#endif
