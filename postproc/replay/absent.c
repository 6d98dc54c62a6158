#include "absent.h"

#include <string.h>

#include "maker.h"
#include "replay.h"

/* No heap is larger, whatever a log says. */
#define LIVE_MAX ((uint64_t)1 << 60)

struct mpr_absent mpr_absent_of(const struct mpf_event *e)
{
    struct mpr_absent v = { 0 };
    if (e->size >= sizeof v.value) memcpy(v.value, e->data, sizeof v.value);
    return v;
}

static uint32_t cell_of(struct mpr_replay *r, uint8_t heap)
{
    const uint32_t node = mpr_sites_named(&r->sites, &r->ranges, "(folded)");
    r->absent_site = mpr_sites_site(&r->sites, (struct mpr_site){ .python = node });
    const struct mpr_maker maker = { .node = node, .site = r->absent_site };
    return mpr_maker_cell(r, &maker, heap);
}

/* To these bytes and blocks in one change, so that a peak is one of both.  The cell may be others',
 * too: by call stack it is that of blocks without one. */
static void change(struct mpr_replay *r, uint8_t heap, uint64_t bytes, uint64_t blocks)
{
    const uint32_t index = cell_of(r, heap);
    struct mpr_absent_live *was = &r->absent[heap];
    if (bytes >= was->bytes)
        mpr_books_add_many(&r->books, index, bytes - was->bytes, blocks - was->blocks, r->now);
    else mpr_books_remove_many(&r->books, index, was->bytes - bytes, was->blocks - blocks);
    *was = (struct mpr_absent_live){ bytes, blocks };
}

void mpr_absent_take(struct mpr_replay *r, const struct mpf_event *e)
{
    const struct mpr_absent now = mpr_absent_of(e);
    struct mpr_heap *heap = &r->books.heap[e->heap];
    const uint64_t bytes = now.value[MPF_FOLDED_BYTES], blocks = now.value[MPF_FOLDED_BLOCKS];
    heap->used = true;
    heap->allocations += now.value[MPF_FOLDED_MADE];
    heap->frees += now.value[MPF_FOLDED_FREED];
    if (bytes || blocks || r->absent_site)
        change(r, e->heap, bytes < LIVE_MAX ? bytes : LIVE_MAX,
               blocks < LIVE_MAX ? blocks : LIVE_MAX);
}
