#include "host_memory.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"

/* ---- bytes */

static void remove_bytes(struct mpr_replay *r, const struct mpr_interval *span)
{
    if (span->writable) mpr_accounts_remove(&r->accounts, span->value, span->end - span->start);
}

static void add_bytes(struct mpr_replay *r, const struct mpr_interval *span, uint64_t time)
{
    if (span->writable) mpr_accounts_add(&r->accounts, span->value, span->end - span->start, time);
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

/* Splits the interval that contains `address` there.  The bytes stay the same; the accounts have
 * one more block. */
static void split(struct mpr_replay *r, uint64_t address)
{
    struct mpr_interval *span = mpr_intervals_find(&r->mappings, address);
    if (!span || span->start >= address) return;
    struct mpr_interval left = *span;
    remove_bytes(r, span);
    left.end = span->start = address;
    add_bytes(r, &left, 0);
    add_bytes(r, span, 0);
    mpr_intervals_insert(&r->mappings, &left);
}

/* Splits at both ends and returns the position of the first interval inside. */
static struct mpr_position split_off(struct mpr_replay *r, uint64_t start, uint64_t end)
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
    const struct mpr_position first = split_off(r, start, end);
    MPR_INTERVALS_EACH(span, spans, first, end)
    {
        remove_bytes(r, span);
        count++;
    }
    mpr_intervals_remove(spans, first, count);
    return count;
}

/* Returns true if an interval of the range is known.  *heap: the heap of the first one */
static bool is_known(const struct mpr_replay *r, uint64_t start, uint64_t size, uint8_t *heap)
{
    const struct mpr_interval *span = mpr_intervals_find(&r->mappings, start);
    if (!span || span->start >= mpr_interval_end(start, size)) return false;
    *heap = r->accounts.cell[span->value].heap;
    return true;
}

/* ---- mmap, munmap, mprotect */

/* Size 0 is a whole mapping, because shmdt has only its start. */
static void on_unmap(struct mpr_replay *r, const struct mpf_event *e)
{
    uint8_t heap;
    uint64_t size = e->size;
    if (!size) {
        const struct mpr_interval *span = mpr_intervals_find(&r->mappings, e->addr);
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
    mpr_intervals_insert(&r->mappings, &span);
    add_bytes(r, &span, e->time);
    count_event(r, e->heap, span.value, writable, 0);
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
    MPR_INTERVALS_EACH(span, &r->mappings, split_off(r, e->addr, end), end)
    {
        if (span->writable == writable) continue;
        remove_bytes(r, span);
        span->writable = writable;
        if (writable) span->value = cell;
        add_bytes(r, span, e->time);
        changed++;
    }
    count_event(r, heap, cell, writable ? changed : 0, writable ? 0 : changed);
}

/* ---- mremap */

/* Takes the intervals of a range out of the mappings, until the mremap ends. */
static void begin_mremap(struct mpr_replay *r, struct mpr_thread *t, uint64_t start, uint64_t size)
{
    struct mpr_mremap *move = &t->remap[t->remaps++];
    struct mpr_intervals *spans = &r->mappings;
    const uint64_t end = mpr_interval_end(start, size);
    const struct mpr_interval *span;
    *move = (struct mpr_mremap){ .from = start, .size = size };
    if (!size) return;
    const struct mpr_position first = split_off(r, start, end);
    const size_t count = mpr_intervals_count(spans, first, end);
    if (!count) return;
    move->span = mpr_alloc(count, sizeof *move->span);
    MPR_INTERVALS_EACH(span, spans, first, end) move->span[move->count++] = *span;
    mpr_intervals_remove(spans, first, count);
}

static void release(struct mpr_mremap *move)
{
    free(move->span);
    *move = (struct mpr_mremap){ 0 };
}

/* Ends an mremap that failed: maps the intervals again.  If something else was mapped there
 * meanwhile, which a kernel does not do, they replace it. */
static void put_back(struct mpr_replay *r, struct mpr_mremap *move)
{
    for (size_t i = 0; i < move->count; i++) {
        const struct mpr_interval *span = &move->span[i];
        const struct mpr_interval *other = mpr_intervals_find(&r->mappings, span->start);
        if (other && other->start < span->end) remove_bytes(r, span);
        else mpr_intervals_insert(&r->mappings, span);
    }
    release(move);
}

/* The intervals are cut at the new size and keep their owner.  Bytes beyond the old size belong to
 * the thread's cell. */
static void on_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (!t->remaps && t->failed_remap[1]) { /* the FAIL did not end it */
        begin_mremap(r, t, t->failed_remap[0], t->failed_remap[1]);
        t->failed_remap[1] = 0;
    }
    if (!t->remaps) return;
    struct mpr_mremap *move = &t->remap[--t->remaps];
    if (!move->count) {
        on_unmap(r, e);
        return;
    }
    const uint8_t heap = r->accounts.cell[move->span->value].heap;
    const uint32_t cell = mpr_thread_cell(r, t, heap, e->size);
    const uint64_t end = mpr_interval_end(e->addr, e->size);
    struct mpr_interval added = { e->addr + move->size, end, cell, false };
    size_t moved = 0;
    for (size_t i = 0; i < move->count; i++) remove_bytes(r, &move->span[i]);
    unmap(r, e->addr, e->size);
    for (size_t i = 0; i < move->count; i++) {
        struct mpr_interval span = move->span[i];
        span.start = span.start - move->from + e->addr;
        span.end = span.end - move->from + e->addr;
        if (span.end > end) span.end = end;
        if (span.start >= span.end) continue;
        added.writable = span.writable;
        mpr_intervals_insert(&r->mappings, &span);
        add_bytes(r, &span, e->time);
        moved++;
    }
    if (moved && e->size > move->size) {
        mpr_intervals_insert(&r->mappings, &added);
        add_bytes(r, &added, e->time);
        moved++;
    }
    release(move);
    count_event(r, heap, cell, moved, moved);
}

void mpr_mappings_remap_failed(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_mremap *move = &t->remap[--t->remaps];
    t->failed_remap[0] = move->from;
    t->failed_remap[1] = move->size;
    put_back(r, move);
}

void mpr_mappings_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_MAP:
    case MPF_OP_RESERVE: on_map(r, t, e); break;
    case MPF_OP_UNMAP: on_unmap(r, e); break;
    case MPF_OP_PROTECT_RW:
    case MPF_OP_PROTECT_NONE: on_protect(r, t, e); break;
    case MPF_OP_REMAP_FROM:
        if (t->remaps == MPR_REMAPS) { /* the end of the oldest one was lost */
            put_back(r, &t->remap[0]);
            memmove(t->remap, t->remap + 1, --t->remaps * sizeof *t->remap);
        }
        begin_mremap(r, t, e->addr, e->size);
        break;
    case MPF_OP_REMAP_TO: on_remap_to(r, t, e); break;
    default: break;
    }
}
