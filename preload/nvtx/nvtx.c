/* NVTX: memprof as the injection library of every shared object that contains NVTX.
 *
 * Callbacks run on the program's threads, in any context: they keep errno, take no lock for known
 * names, and return the values that NVTX promises (levels, ids, handles). A table without an entry
 * belongs to an older NVTX. */
#include <errno.h>
#include <string.h>

#include "core/names.h"
#include "core/process.h"
#include "core/ranges.h"
#include "core/record.h"
#include "mpf/event.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/nvtx_chain.h"
#include "nvtx/nvtx_payload.h"
#include "nvtx/nvtx_text.h"

static void mark(uint32_t domain, uint32_t name, nvtx_event_t e)
{
    mp_range_mark(domain, name);
    mp_nvtx_event_payloads(e);
}

static int push(uint32_t domain, uint32_t name, nvtx_event_t e)
{
    const int level = mp_range_push(domain, name);
    mp_nvtx_event_payloads(e);
    return level;
}

/* The ID is that of the chained library if it gave one, because the program has a single ID for
 * both. */
static uint64_t start(uint32_t domain, uint32_t name, nvtx_event_t e, uint64_t next)
{
    const uint64_t id = next ? next : mp_range_new_id();
    mp_range_start(domain, name, id);
    mp_nvtx_event_payloads(e);
    return id;
}

static void name_thread(uint32_t tid, const char *text, size_t bytes)
{
    mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, tid, text, bytes);
}

/* ---- CORE: the default domain */

static void mark_ex(nvtx_event_t e)
{
    mark(0, mp_nvtx_name_event(e), e);
    MP_NVTX_NEXT(core, MarkEx, e);
}

static void mark_a(const char *text)
{
    mark(0, mp_nvtx_name_a(text), NULL);
    MP_NVTX_NEXT(core, MarkA, text);
}

static void mark_w(const wchar_t *text)
{
    mark(0, mp_nvtx_name_w(text), NULL);
    MP_NVTX_NEXT(core, MarkW, text);
}

static uint64_t range_start_ex(nvtx_event_t e)
{
    return start(0, mp_nvtx_name_event(e), e, MP_NVTX_ASK(core, RangeStartEx, e));
}

static uint64_t range_start_a(const char *text)
{
    return start(0, mp_nvtx_name_a(text), NULL, MP_NVTX_ASK(core, RangeStartA, text));
}

static uint64_t range_start_w(const wchar_t *text)
{
    return start(0, mp_nvtx_name_w(text), NULL, MP_NVTX_ASK(core, RangeStartW, text));
}

static void range_end(uint64_t id)
{
    mp_range_end(id);
    MP_NVTX_NEXT(core, RangeEnd, id);
}

static int range_push_ex(nvtx_event_t e)
{
    const int level = push(0, mp_nvtx_name_event(e), e);
    MP_NVTX_NEXT(core, RangePushEx, e);
    return level;
}

static int range_push_a(const char *text)
{
    const int level = push(0, mp_nvtx_name_a(text), NULL);
    MP_NVTX_NEXT(core, RangePushA, text);
    return level;
}

static int range_push_w(const wchar_t *text)
{
    const int level = push(0, mp_nvtx_name_w(text), NULL);
    MP_NVTX_NEXT(core, RangePushW, text);
    return level;
}

static int range_pop(void)
{
    const int level = mp_range_pop(0);
    MP_NVTX_NEXT(core, RangePop);
    return level;
}

static void name_os_thread_a(uint32_t tid, const char *text)
{
    if (text) name_thread(tid, text, strnlen(text, MP_NAME_BYTES));
    MP_NVTX_NEXT(core, NameOsThreadA, tid, text);
}

static void name_os_thread_w(uint32_t tid, const wchar_t *text)
{
    char utf8[MP_NAME_BYTES];
    if (text) name_thread(tid, utf8, mp_nvtx_utf8(text, utf8, sizeof utf8));
    MP_NVTX_NEXT(core, NameOsThreadW, tid, text);
}

/* ---- CORE2: any domain; NULL is the default one; an unknown handle is refused */

static void domain_mark_ex(void *handle, nvtx_event_t e)
{
    uint32_t domain;
    if (mp_nvtx_domain(handle, &domain)) mark(domain, mp_nvtx_name_event(e), e);
    MP_NVTX_NEXT(core2, DomainMarkEx, handle, e);
}

static uint64_t domain_range_start_ex(void *handle, nvtx_event_t e)
{
    const uint64_t next = MP_NVTX_ASK(core2, DomainRangeStartEx, handle, e);
    uint32_t domain;
    if (!mp_nvtx_domain(handle, &domain)) return next;
    return start(domain, mp_nvtx_name_event(e), e, next);
}

static void domain_range_end(void *handle, uint64_t id)
{
    mp_range_end(id);
    MP_NVTX_NEXT(core2, DomainRangeEnd, handle, id);
}

static int domain_range_push_ex(void *handle, nvtx_event_t e)
{
    uint32_t domain;
    const int level =
        mp_nvtx_domain(handle, &domain) ? push(domain, mp_nvtx_name_event(e), e) : MP_RANGE_ERROR;
    MP_NVTX_NEXT(core2, DomainRangePushEx, handle, e);
    return level;
}

static int domain_range_pop(void *handle)
{
    uint32_t domain;
    const int level = mp_nvtx_domain(handle, &domain) ? mp_range_pop(domain) : MP_RANGE_ERROR;
    MP_NVTX_NEXT(core2, DomainRangePop, handle);
    return level;
}

static void *domain_register_string_a(void *domain, const char *text)
{
    const uint32_t id = mp_nvtx_name_a(text);
    void *const next = MP_NVTX_ASK(core2, DomainRegisterStringA, domain, text);
    return mp_nvtx_handle(id, next);
}

static void *domain_register_string_w(void *domain, const wchar_t *text)
{
    const uint32_t id = mp_nvtx_name_w(text);
    void *const next = MP_NVTX_ASK(core2, DomainRegisterStringW, domain, text);
    return mp_nvtx_handle(id, next);
}

static void *domain_create_a(const char *text)
{
    if (!text) return NULL;
    const uint32_t id = mp_domain_id(text, strnlen(text, MP_NAME_BYTES + 1));
    return mp_nvtx_handle(id, MP_NVTX_ASK(core2, DomainCreateA, text));
}

static void *domain_create_w(const wchar_t *text)
{
    if (!text) return NULL;
    char utf8[MP_NAME_BYTES];
    const uint32_t id = mp_domain_id(utf8, mp_nvtx_utf8(text, utf8, sizeof utf8));
    return mp_nvtx_handle(id, MP_NVTX_ASK(core2, DomainCreateW, text));
}

/* ---- installation. A NULL entry is left to the chained library, or becomes NVTX's no-op:
 * categories and resources do not concern memory. A destroyed domain keeps its number, so a new one
 * with the same name continues it. */

enum { CORE_ENTRIES = sizeof(struct nvtx_core) / sizeof(nvtx_function) };
enum { CORE2_ENTRIES = sizeof(struct nvtx_core2) / sizeof(nvtx_function) };

union core {
    struct nvtx_core as;
    nvtx_function entry[CORE_ENTRIES];
};
union core2 {
    struct nvtx_core2 as;
    nvtx_function entry[CORE2_ENTRIES];
};

static const union core our_core = { .as = {
                                         .MarkEx = mark_ex,
                                         .MarkA = mark_a,
                                         .MarkW = mark_w,
                                         .RangeStartEx = range_start_ex,
                                         .RangeStartA = range_start_a,
                                         .RangeStartW = range_start_w,
                                         .RangeEnd = range_end,
                                         .RangePushEx = range_push_ex,
                                         .RangePushA = range_push_a,
                                         .RangePushW = range_push_w,
                                         .RangePop = range_pop,
                                         .NameOsThreadA = name_os_thread_a,
                                         .NameOsThreadW = name_os_thread_w,
                                     } };

static const union core2 our_core2 = { .as = {
                                           .DomainMarkEx = domain_mark_ex,
                                           .DomainRangeStartEx = domain_range_start_ex,
                                           .DomainRangeEnd = domain_range_end,
                                           .DomainRangePushEx = domain_range_push_ex,
                                           .DomainRangePop = domain_range_pop,
                                           .DomainRegisterStringA = domain_register_string_a,
                                           .DomainRegisterStringW = domain_register_string_w,
                                           .DomainCreateA = domain_create_a,
                                           .DomainCreateW = domain_create_w,
                                       } };

/* One module's table of a shared object, and its entries before a library set them. */
struct module {
    nvtx_function **table;
    unsigned entries;
    nvtx_function fresh[CORE_ENTRIES];
};
static_assert((int)CORE_ENTRIES == (int)CORE2_ENTRIES, "struct module serves both");

static struct module module_of(nvtx_get_table get, int number)
{
    struct module m = { 0 };
    const struct nvtx_callbacks *callbacks = get(NVTX_TABLE_CALLBACKS);
    if (!callbacks || callbacks->bytes < sizeof *callbacks ||
        !callbacks->module_table(number, &m.table, &m.entries) || !m.table)
        return (struct module){ 0 };
    if (m.entries > CORE_ENTRIES) m.entries = CORE_ENTRIES;
    for (unsigned i = 1; i < m.entries; i++)
        if (m.table[i]) m.fresh[i] = *m.table[i];
    return m;
}

/* Replaces the entries for which memprof has a function. Entries of another library are stored in
 * next. */
static void install(const struct module *m, const nvtx_function *ours, void *next)
{
    for (unsigned i = 1; i < m->entries; i++) {
        if (!ours[i] || !m->table[i]) continue;
        if (*m->table[i] != m->fresh[i])
            memcpy((nvtx_function *)next + i, m->table[i], sizeof(nvtx_function));
        *m->table[i] = ours[i];
    }
}

static int inject(nvtx_get_table get, const char *entry_point)
{
    if (!mp_process_active() || !get) return 0;
    const int saved = errno;
    const struct module core = module_of(get, NVTX_MODULE_CORE);
    const struct module core2 = module_of(get, NVTX_MODULE_CORE2);
    const nvtx_init next = (nvtx_init)mp_nvtx_chain_symbol(entry_point);
    if (next) next(get);
    install(&core, our_core.entry, &mp_nvtx_next.core);
    install(&core2, our_core2.entry, &mp_nvtx_next.core2);
    errno = saved;
    return core.entries != 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get);
__attribute__((visibility("default"))) int InitializeInjectionNvtx(nvtx_get_table get);

int InitializeInjectionNvtx2(nvtx_get_table get) { return inject(get, "InitializeInjectionNvtx2"); }
int InitializeInjectionNvtx(nvtx_get_table get) { return inject(get, "InitializeInjectionNvtx"); }
