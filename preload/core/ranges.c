/* Invariant: a thread's depth in a domain is the number of its PUSH events without their POP. A
 * forked child keeps the depths of the thread that forked, although pops of ranges that its parent
 * opened have no PUSH in its own log. */
#include "core/ranges.h"

#include "core/feature.h"
#include "core/names.h"
#include "core/record.h"
#include "core/window.h"

/* Depth of the thread's stack in the default domain [0] and in the first domains created, by
 * ordinal. The library may use 128 bytes of thread-local memory in total, because libraries that
 * are opened with dlopen share a small reserve. A table for all domains would not fit. */
#define TRACKED 20
static __thread uint16_t depth[TRACKED] __attribute__((tls_model("initial-exec")));

static uint16_t *depth_of(uint32_t domain)
{
    if (!domain) return &depth[0];
    const unsigned ordinal = mp_domain_ordinal(domain);
    return ordinal && ordinal < TRACKED ? &depth[ordinal] : NULL;
}

static uint64_t place(uint32_t domain, uint32_t name) { return name | (uint64_t)domain << 32; }

/* Returns the calling thread's range at this depth, for windows. */
static uint64_t window_level(uint32_t domain, uint16_t depth_there)
{
    return mp_window_level(mp_self ? mp_self->number : 0, domain, depth_there);
}

static void call_before_range(void)
{
    if (mp_features.before_range) mp_features.before_range();
}

int mp_range_push(uint32_t domain, uint32_t name)
{
    call_before_range();
    mp_record(MPF_OP_PUSH, MPF_HEAP_NONE, place(domain, name), 0);
    uint16_t *d = depth_of(domain);
    if (!d) return MP_RANGE_UNTRACKED;
    if (name == mp_window.range) mp_window_begins(window_level(domain, *d));
    return (*d)++;
}

int mp_range_pop(uint32_t domain)
{
    uint16_t *d = depth_of(domain);
    if (d && !*d) return MP_RANGE_ERROR;
    call_before_range();
    mp_record(MPF_OP_POP, MPF_HEAP_NONE, place(domain, MP_NAME_NONE), 0);
    if (!d) return MP_RANGE_UNTRACKED;
    --*d;
    if (mp_window_waits()) mp_window_ends(window_level(domain, *d));
    return *d;
}

uint64_t mp_range_new_id(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* An event has 40 bits for an ID. */
void mp_range_start(uint32_t domain, uint32_t name, uint64_t id)
{
    mp_record(MPF_OP_RANGE_START, MPF_HEAP_NONE, place(domain, name), id & MPF_SIZE_MAX);
    if (name == mp_window.range) mp_window_begins(mp_window_id(id));
}

void mp_range_end(uint64_t id)
{
    mp_record(MPF_OP_RANGE_END, MPF_HEAP_NONE, 0, id & MPF_SIZE_MAX);
    if (mp_window_waits()) mp_window_ends(mp_window_id(id));
}

void mp_range_mark(uint32_t domain, uint32_t name)
{
    mp_record(MPF_OP_MARK, MPF_HEAP_NONE, place(domain, name), 0);
}

void mp_range_data(uint64_t schema, const void *data, size_t bytes)
{
    mp_record_data(MPF_OP_RANGE_DATA, MPF_HEAP_NONE, schema, data,
                   bytes < MPF_DATA_MAX ? bytes : MPF_DATA_MAX);
}
