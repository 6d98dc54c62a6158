#include "host_memory.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"

/* ---- bytes */

static void remove_bytes(struct mpr_replay *r, const struct mpr_interval *span)
{
    if (span->writable) mpr_accounts_remove(&r->accounts, span->what, span->end - span->start);
}

static void add_bytes(struct mpr_replay *r, const struct mpr_interval *span, uint64_t time)
{
    if (span->writable) mpr_accounts_add(&r->accounts, span->what, span->end - span->start, time);
}

/* @made, @freed: numbers of intervals; several count as one event. */
static void count_event(struct mpr_replay *r, uint8_t heap, uint32_t cell, size_t made,
                        size_t freed)
{
    if (made) {
        r->accounts.heap[heap].allocations++;
        r->accounts.cell[cell].allocations++;
    }
    if (freed) r->accounts.heap[heap].frees++;
}

/* ---- intervals */

static struct mpr_interval *first_after(const struct mpr_intervals *spans, uint64_t address)
{
    return mpr_intervals_at(spans, mpr_intervals_after(spans, address));
}

static void insert(struct mpr_intervals *spans, const struct mpr_interval *span)
{
    mpr_intervals_insert(spans, mpr_intervals_after(spans, span->start), span);
}

/* Makes `address` a border between intervals. The bytes stay; the accounts count one more block. */
static void split(struct mpr_replay *r, uint64_t address)
{
    struct mpr_intervals *spans = &r->mappings;
    const struct mpr_position place = mpr_intervals_after(spans, address);
    struct mpr_interval *span = mpr_intervals_at(spans, place);
    if (!span || span->start >= address) return;
    struct mpr_interval left = *span;
    left.end = address;
    mpr_intervals_insert(spans, place, &left);
    span = first_after(spans, address);
    const struct mpr_interval right = { address, span->end, span->what, span->writable };
    remove_bytes(r, span);
    *span = right;
    add_bytes(r, &left, 0);
    add_bytes(r, &right, 0);
}

/* Splits at both ends and returns the place of the first interval inside. */
static struct mpr_position cut_out(struct mpr_replay *r, uint64_t start, uint64_t end)
{
    split(r, start);
    split(r, end);
    return mpr_intervals_after(&r->mappings, start);
}

/* Unmaps the range and returns how many intervals that were. */
static size_t unmap(struct mpr_replay *r, uint64_t start, uint64_t size)
{
    struct mpr_intervals *spans = &r->mappings;
    const uint64_t end = mpr_interval_end(start, size);
    const struct mpr_interval *span;
    size_t count = 0;
    if (!size) return 0;
    const struct mpr_position first = cut_out(r, start, end);
    MPR_INTERVALS_EACH(span, spans, first, end)
    {
        remove_bytes(r, span);
        count++;
    }
    mpr_intervals_remove(spans, first, count);
    return count;
}

/* Returns true if any byte of the range is known, and in *heap the heap of the first. */
static bool is_known(const struct mpr_replay *r, uint64_t start, uint64_t size, uint8_t *heap)
{
    const struct mpr_interval *span = first_after(&r->mappings, start);
    if (!span || span->start >= mpr_interval_end(start, size)) return false;
    *heap = r->accounts.cell[span->what].heap;
    return true;
}

/* ---- mmap, munmap, mprotect */

/* shmdt has only the start of a mapping: size 0 is all of it. */
static void on_unmap(struct mpr_replay *r, const struct mpf_event *e)
{
    uint8_t heap;
    uint64_t size = e->size;
    if (!size) {
        const struct mpr_interval *span = first_after(&r->mappings, e->addr);
        if (span && span->start == e->addr) size = span->end - e->addr;
    }
    if (is_known(r, e->addr, size, &heap)) count_event(r, heap, 0, 0, unmap(r, e->addr, size));
}

static void on_map(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool writable = e->op == MPF_OP_MAP;
    const struct mpr_interval span = { e->addr, mpr_interval_end(e->addr, e->size),
                                       mpr_thread_cell(r, t, e->heap, e->size), writable };
    on_unmap(r, e);
    if (!e->size) return;
    unmap(r, e->addr, e->size);
    insert(&r->mappings, &span);
    add_bytes(r, &span, e->time);
    count_event(r, e->heap, span.what, writable, 0);
}

/* A range that was never mapped stays unknown. */
static void on_protect(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    uint8_t heap;
    const bool writable = e->op == MPF_OP_PROTECT_RW;
    const uint64_t end = mpr_interval_end(e->addr, e->size);
    struct mpr_interval *span;
    size_t changed = 0;
    if (!is_known(r, e->addr, e->size, &heap)) return;
    const uint32_t cell = mpr_thread_cell(r, t, heap, e->size);
    MPR_INTERVALS_EACH(span, &r->mappings, cut_out(r, e->addr, end), end)
    {
        if (span->writable == writable) continue;
        remove_bytes(r, span);
        span->writable = writable;
        if (writable) span->what = cell;
        add_bytes(r, span, e->time);
        changed++;
    }
    count_event(r, heap, cell, writable ? changed : 0, writable ? 0 : changed);
}

/* ---- mremap */

static void leave(struct mpr_replay *r, struct mpr_leaving *leaving, uint64_t start, uint64_t size)
{
    struct mpr_intervals *spans = &r->mappings;
    const uint64_t end = mpr_interval_end(start, size);
    const struct mpr_interval *span;
    *leaving = (struct mpr_leaving){ .from = start, .size = size };
    if (!size) return;
    const struct mpr_position first = cut_out(r, start, end);
    const size_t count = mpr_intervals_count(spans, first, end);
    if (!count) return;
    leaving->span = mpr_alloc(count, sizeof *leaving->span);
    MPR_INTERVALS_EACH(span, spans, first, end) leaving->span[leaving->count++] = *span;
    mpr_intervals_remove(spans, first, count);
}

static void release(struct mpr_leaving *leaving)
{
    free(leaving->span);
    *leaving = (struct mpr_leaving){ 0 };
}

/* The call failed, so the intervals are still at their old place. If something else was mapped
 * there meanwhile, which no kernel does, that is newer. */
static void stay(struct mpr_replay *r, struct mpr_leaving *leaving)
{
    for (size_t i = 0; i < leaving->count; i++) {
        const struct mpr_interval *span = &leaving->span[i];
        const struct mpr_interval *other = first_after(&r->mappings, span->start);
        if (other && other->start < span->end) remove_bytes(r, span);
        else insert(&r->mappings, span);
    }
    release(leaving);
}

static void on_remap_from(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->remaps == MPR_REMAPS) {
        stay(r, &t->remap[0]);
        memmove(t->remap, t->remap + 1, --t->remaps * sizeof *t->remap);
    }
    leave(r, &t->remap[t->remaps++], e->addr, e->size);
}

/* The intervals are clipped to the new size. They keep their owner; bytes beyond the old size
 * belong to the thread's cell. */
static void on_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (!t->remaps && t->refused[1]) { /* the FAIL did not end it */
        leave(r, &t->remap[t->remaps++], t->refused[0], t->refused[1]);
        t->refused[1] = 0;
    }
    if (!t->remaps) return;
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    if (!leaving->count) {
        on_unmap(r, e);
        return;
    }
    const uint8_t heap = r->accounts.cell[leaving->span->what].heap;
    const uint32_t cell = mpr_thread_cell(r, t, heap, e->size);
    const uint64_t end = mpr_interval_end(e->addr, e->size);
    struct mpr_interval added = { e->addr + leaving->size, end, cell, false };
    size_t arrived = 0;
    for (size_t i = 0; i < leaving->count; i++) remove_bytes(r, &leaving->span[i]);
    unmap(r, e->addr, e->size);
    for (size_t i = 0; i < leaving->count; i++) {
        struct mpr_interval span = leaving->span[i];
        span.start = span.start - leaving->from + e->addr;
        span.end = span.end - leaving->from + e->addr;
        if (span.end > end) span.end = end;
        if (span.start >= span.end) continue;
        added.writable = span.writable;
        insert(&r->mappings, &span);
        add_bytes(r, &span, e->time);
        arrived++;
    }
    if (arrived && e->size > leaving->size) {
        insert(&r->mappings, &added);
        add_bytes(r, &added, e->time);
        arrived++;
    }
    release(leaving);
    count_event(r, heap, cell, arrived, arrived);
}

void mpr_mappings_remap_failed(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    t->refused[0] = leaving->from;
    t->refused[1] = leaving->size;
    stay(r, leaving);
}

void mpr_mappings_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_MAP:
    case MPF_OP_RESERVE: on_map(r, t, e); break;
    case MPF_OP_UNMAP: on_unmap(r, e); break;
    case MPF_OP_PROTECT_RW:
    case MPF_OP_PROTECT_NONE: on_protect(r, t, e); break;
    case MPF_OP_REMAP_FROM: on_remap_from(r, t, e); break;
    case MPF_OP_REMAP_TO: on_remap_to(r, t, e); break;
    default: break;
    }
}
