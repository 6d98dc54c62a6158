/* MOVE_BEGIN removes a block from the live table, because another block may get its address before
 * realloc returns.  The block stays in the accounts until MOVE_END. */
#include "host_memory.h"

#include "alloc_context.h"
#include "block_observers.h"

/* ---- events out of order */

void mpr_host_expire(struct mpr_replay *r, uint64_t now)
{
    struct mpr_early_event expired;
    while (mpr_reorder_expire(&r->repairs, now, &expired)) {
        struct mpr_heap *heap = &r->accounts.heap[expired.key & 0xff];
        if (expired.kind == MPR_AWAITS_FREE) heap->missed++;
        else if (r->options.attached) {
            heap->inherited++;
            mpr_before_freed(r, expired.bytes);
        } else heap->unmatched++;
    }
}

/* ---- accounts */

/* Adds a sampled block to the estimates (@sign: 1), or removes it (-1), and returns its bytes in
 * the accounts.  The blocks that a sampled block of malloc represents are also in the totals. */
MPR_COLD static uint64_t weigh(struct mpr_replay *r, const struct mpr_block *block, int sign)
{
    struct mpr_estimates *e = &r->estimates;
    const uint64_t size = mpr_block_size(block),
                   bytes = mpr_estimates_change(e, &r->accounts, mpr_block_cell(block), size, sign);
    if ((uint8_t)block->key != MPF_HEAP_HOST || !mpr_replay_samples_host(r)) return bytes;
    const struct mpr_weight more = mpr_estimates_weight(&e->host, size);
    mpr_counted_totals_sampled(r, sign, block->key, &more);
    return bytes;
}

static inline void remove_block(struct mpr_replay *r, const struct mpr_block *block)
{
    uint64_t size = mpr_block_size(block);
    if (mpr_blocks_are_observed(r)) mpr_observe_block_free(r, block->key, size);
    if (__builtin_expect(mpr_block_weighed(block), 0)) size = weigh(r, block, -1);
    mpr_accounts_remove(&r->accounts, mpr_block_cell(block), size);
}

/* ---- large blocks of host/heap, which are also kept by address, to find the owner of a mapping */

#define LARGE_BLOCK (UINT64_C(1) << 20)
static inline bool is_large(const struct mpr_block *b)
{
    return __builtin_expect(mpr_block_size(b) >= LARGE_BLOCK, 0) &&
           (b->key & 0xff) == MPF_HEAP_HOST;
}

/* In a valid log blocks do not overlap. */
MPR_COLD static void put_large(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const uint64_t start = b->key >> 8, end = mpr_interval_end(start, mpr_block_size(b));
    mpr_intervals_replace(blocks, &(struct mpr_interval){ start, end, mpr_block_cell(b), true });
}

MPR_COLD static void take_large(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const struct mpr_position place = mpr_intervals_after(blocks, b->key >> 8);
    const struct mpr_interval *span = mpr_intervals_at(blocks, place);
    if (span && span->start == b->key >> 8) mpr_intervals_remove(blocks, place, 1);
}

/* ---- allocations */

/* Removes a live block whose address was given to another one.  Its free was not recorded, or comes
 * later in the log. */
MPR_COLD static void replace_block(struct mpr_replay *r, const struct mpr_block *block,
                                   uint32_t thread)
{
    r->actor = MPR_NOBODY;
    remove_block(r, block);
    r->actor = thread;
    mpr_reorder_wait(&r->repairs, block->key, r->now, thread, MPR_AWAITS_FREE);
    if (is_large(block)) take_large(&r->large_blocks, block);
}

static inline void put_block(struct mpr_replay *r, const struct mpr_block *made, uint32_t thread)
{
    bool existed;
    struct mpr_block *block = mpr_blocks_insert(&r->blocks, made->key, &existed);
    if (existed) replace_block(r, block, thread);
    if (is_large(made)) put_large(&r->large_blocks, made);
    *block = *made;
}

/* Always inlined, because the caller for most events should not call another function. */
static inline __attribute__((always_inline)) void put_new(struct mpr_replay *r,
                                                          struct mpr_thread *t,
                                                          const struct mpf_event *e, bool weighed)
{
    const uint32_t cell = mpr_thread_cell(r, t, e->heap, e->size);
    /* struct mpr_block has no room for a larger size, which no valid log has. */
    uint64_t size = e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX;
    const struct mpr_block block =
        mpr_block_of(mpr_block_key(e->addr, e->heap), size, cell, weighed);
    r->accounts.heap[e->heap].allocations++;
    r->accounts.heap[e->heap].made_bytes += e->size;
    r->accounts.cell[cell].allocations++;
    if (r->repairs.count && mpr_reorder_take_free(&r->repairs, block.key, e->thread)) {
        r->accounts.heap[e->heap].repairs++; /* the block's free was earlier in the log */
        return;
    }
    put_block(r, &block, e->thread);
    if (__builtin_expect(weighed, 0)) size = weigh(r, &block, 1);
    mpr_accounts_add(&r->accounts, cell, size, r->now);
    if (mpr_blocks_are_observed(r))
        mpr_observe_block(r, e->heap, e->addr, mpr_block_size(&block), cell);
}

void mpr_host_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    put_new(r, t, e, mpr_thread_has_sampled_stack(r, t) && !mpr_replay_samples_host(r));
}

/* ---- frees */

/* The block is unknown: it is from before the attach, or its allocation comes later in the log. The
 * event's size is that of a slot of the journal. */
MPR_COLD static void wait_with_bytes(struct mpr_replay *r, uint64_t key, const struct mpf_event *e)
{
    const struct mpr_block_bytes *known = &r->block_bytes;
    const uint64_t in_log = known->thread == e->thread ? known->bytes : 0;
    mpr_reorder_wait(&r->repairs, key, r->now, e->thread, MPR_AWAITS_ALLOC);
    if (r->options.attached) mpr_reorder_set_bytes(&r->repairs, e->size ? e->size : in_log);
}

/* Moves the block that the event frees or reallocates from the live table to *block.  Returns false
 * if it is unknown. */
static inline bool take_block(struct mpr_replay *r, const struct mpf_event *e,
                              struct mpr_block *block)
{
    const uint64_t key = mpr_block_key(e->addr, e->heap);
    if (r->repairs.count && mpr_reorder_match(&r->repairs, key, MPR_AWAITS_FREE, 0)) {
        r->accounts.heap[key & 0xff].repairs++;
        return false;
    }
    if (mpr_blocks_take(&r->blocks, key, block)) {
        if (is_large(block)) take_large(&r->large_blocks, block);
        return true;
    }
    if (r->options.has_parent) r->accounts.heap[key & 0xff].inherited++;
    else wait_with_bytes(r, key, e);
    return false;
}

void mpr_host_free(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_block block;
    r->accounts.heap[e->heap].frees++;
    r->accounts.heap[e->heap].used = true;
    if (take_block(r, e, &block)) remove_block(r, &block);
}

/* ---- realloc */

/* Ends a realloc that failed, or whose end was not recorded. */
static void move_back(struct mpr_replay *r, struct mpr_thread *t)
{
    if (t->moving && t->moved.key) put_block(r, &t->moved, t->number);
    t->moving = false;
}

void mpr_host_move_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    move_back(r, t);
    t->moving = true;
    if (!take_block(r, e, &t->moved)) t->moved.key = 0;
}

static void end_move(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                     bool weighed)
{
    if (t->moving) r->accounts.heap[e->heap].frees++;
    if (t->moving && t->moved.key) remove_block(r, &t->moved);
    t->moving = false;
    if (e->addr) put_new(r, t, e, weighed);
    t->at = (struct mpr_site){ 0, 0 };
}

void mpr_host_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    end_move(r, t, e, mpr_thread_has_sampled_stack(r, t) && !mpr_replay_samples_host(r));
}

void mpr_host_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_heap *heap = &r->accounts.heap[e->heap];
    const bool huge = e->addr & MPF_FAIL_HUGE_PAGES;
    struct mpr_failure *largest = huge ? &heap->largest_huge : &heap->largest;
    const uint64_t size = mpf_fail_bytes(e->addr, e->size);
    if (mpf_fail_ends_move(e->heap)) move_back(r, t);
    if (e->heap == MPF_HEAP_MMAP && t->remaps) mpr_mappings_remap_failed(r, t);
    heap->failures += !huge;
    heap->huge_failures += huge;
    heap->used = true;
    if (size >= largest->size)
        *largest = (struct mpr_failure){ e->time, size, (unsigned)(e->addr & UINT32_MAX) };
}

/* ---- blocks that are part of another heap */

void mpr_host_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_FREE) mpr_host_free(r, e);
    if (e->op == MPF_OP_ALLOC) put_new(r, t, e, r->options.python_sample_mean > 0);
}

void mpr_host_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e)
{
    const bool weighed = mpr_replay_samples_host(r) || mpr_thread_has_sampled_stack(r, t);
    e.heap = MPF_HEAP_HOST;
    switch (e.op) {
    case MPF_OP_ALLOC: put_new(r, t, &e, weighed); break;
    case MPF_OP_FREE: mpr_host_free(r, &e); break;
    case MPF_OP_MOVE_BEGIN: mpr_host_move_begin(r, t, &e); break;
    case MPF_OP_MOVE_END: end_move(r, t, &e, weighed); break;
    default: break;
    }
}
