/* A block that realloc works on (MOVE_BEGIN) leaves the live table and stays in the accounts until
 * MOVE_END, because its address may be given to another block meanwhile. */
#include "host_memory.h"

#include "alloc_context.h"
#include "block_observers.h"

/* ---- events out of order */

static void wait_for_partner(struct mpr_replay *r, uint64_t key, uint32_t thread,
                             enum mpr_awaited kind)
{
    const struct mpr_early_event repair = { key, r->now, thread, (uint8_t)kind };
    mpr_reorder_wait(&r->repairs, &repair);
}

void mpr_host_expire(struct mpr_replay *r, uint64_t now)
{
    struct mpr_early_event expired;
    while (mpr_reorder_expire(&r->repairs, now, &expired)) {
        struct mpr_heap *heap = &r->accounts.heap[expired.key & 0xff];
        if (expired.kind == MPR_AWAITS_FREE) heap->missed++;
        else heap->unmatched++;
    }
}

/* ---- accounts */

/* Adds a sampled block to the estimates (@sign: 1), or removes it (-1), and returns its bytes in
 * the accounts. Blocks of malloc represent others that are among the totals. */
MPR_COLD static uint64_t weigh(struct mpr_replay *r, const struct mpr_block *block, int sign)
{
    struct mpr_estimates *e = &r->estimates;
    const uint64_t size = mpr_block_size(block),
                   bytes = mpr_estimates_change(e, &r->accounts, mpr_block_cell(block), size, sign);
    if ((uint8_t)block->key != MPF_HEAP_HOST || !mpr_replay_samples_host(r)) return bytes;
    const struct mpr_weight more = mpr_estimates_weight(&e->host, size);
    mpr_counted_totals_sampled(&r->totals, &r->accounts, sign, block->key, &more, r->now);
    return bytes;
}

static inline void count_out(struct mpr_replay *r, const struct mpr_block *block)
{
    uint64_t size = mpr_block_size(block);
    if (mpr_blocks_are_observed(r)) mpr_observe_block_free(r, block->key, size);
    if (__builtin_expect(mpr_block_weighed(block), 0)) size = weigh(r, block, -1);
    mpr_accounts_remove(&r->accounts, mpr_block_cell(block), size);
}

/* ---- large blocks of host/heap, which are also kept by address: possible owners of a mapping */

#define LARGE_BLOCK (UINT64_C(1) << 20)
static inline bool is_large(const struct mpr_block *b)
{
    return __builtin_expect(mpr_block_size(b) >= LARGE_BLOCK, 0) &&
           (b->key & 0xff) == MPF_HEAP_HOST;
}

MPR_COLD static void put_large(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const uint64_t start = b->key >> 8, end = mpr_interval_end(start, mpr_block_size(b));
    const struct mpr_interval span = { start, end, mpr_block_cell(b), true };
    const struct mpr_position place = mpr_intervals_after(blocks, start);
    const size_t overlapping = mpr_intervals_count(blocks, place, end); /* 0 in a valid log */
    if (overlapping) mpr_intervals_remove(blocks, place, overlapping);
    mpr_intervals_insert(blocks, mpr_intervals_after(blocks, start), &span);
}

MPR_COLD static void take_large(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const struct mpr_position place = mpr_intervals_after(blocks, b->key >> 8);
    const struct mpr_interval *span = mpr_intervals_at(blocks, place);
    if (span && span->start == b->key >> 8) mpr_intervals_remove(blocks, place, 1);
}

/* ---- allocations */

/* A block is live at this address, and its free was not recorded. It was freed, because the address
 * was given to another block. */
MPR_COLD static void replace_block(struct mpr_replay *r, const struct mpr_block *block,
                                   uint32_t thread)
{
    r->actor = MPR_NOBODY;
    count_out(r, block);
    r->actor = thread;
    wait_for_partner(r, block->key, thread, MPR_AWAITS_FREE);
}

static inline void put_block(struct mpr_replay *r, const struct mpr_block *made, uint32_t thread)
{
    bool existed;
    struct mpr_block *block = mpr_blocks_insert(&r->blocks, made->key, &existed);
    if (existed) replace_block(r, block, thread);
    if (existed && is_large(block)) take_large(&r->large_blocks, block);
    if (is_large(made)) put_large(&r->large_blocks, made);
    *block = *made;
}

/* Returns true if the block's free is earlier in the log than this allocation of it. */
MPR_COLD static bool is_free_already(struct mpr_replay *r, const struct mpf_event *e, uint64_t key)
{
    if (!mpr_reorder_match(&r->repairs, key, MPR_AWAITS_ALLOC, e->thread) &&
        !mpr_reorder_swap(&r->repairs, key))
        return false;
    r->accounts.heap[e->heap].repairs++;
    return true;
}

/* Inlined into each caller, so that the one for most events makes no further call. */
static inline __attribute__((always_inline)) void put_new(struct mpr_replay *r,
                                                          struct mpr_thread *t,
                                                          const struct mpf_event *e, bool weighed)
{
    const uint32_t cell = mpr_thread_cell(r, t, e->heap, e->size);
    /* A block has no room for more. A valid log has no larger ones. */
    uint64_t size = e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX;
    const struct mpr_block block =
        mpr_block_of(mpr_block_key(e->addr, e->heap), size, cell, weighed);
    r->accounts.heap[e->heap].allocations++;
    r->accounts.heap[e->heap].made_bytes += e->size;
    r->accounts.cell[cell].allocations++;
    if (r->repairs.count && is_free_already(r, e, block.key)) return;
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

/* Moves the block of a free or realloc of `key` into *block. Returns false if it is unknown. */
static inline bool take_block(struct mpr_replay *r, uint64_t key, uint32_t thread,
                              struct mpr_block *block)
{
    if (r->repairs.count && mpr_reorder_match(&r->repairs, key, MPR_AWAITS_FREE, 0)) {
        r->accounts.heap[key & 0xff].repairs++;
        return false;
    }
    if (mpr_blocks_take(&r->blocks, key, block)) {
        if (is_large(block)) take_large(&r->large_blocks, block);
        return true;
    }
    if (r->options.has_parent) r->accounts.heap[key & 0xff].inherited++;
    else wait_for_partner(r, key, thread, MPR_AWAITS_ALLOC);
    return false;
}

void mpr_host_free(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_block block;
    r->accounts.heap[e->heap].frees++;
    r->accounts.heap[e->heap].used = true;
    if (take_block(r, mpr_block_key(e->addr, e->heap), e->thread, &block)) count_out(r, &block);
}

/* ---- realloc */

/* The realloc failed, or its end was not recorded. */
static void move_back(struct mpr_replay *r, struct mpr_thread *t)
{
    if (t->moving && t->moved.key) put_block(r, &t->moved, t->number);
    t->moving = false;
}

void mpr_host_move_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    move_back(r, t);
    t->moving = true;
    if (!take_block(r, mpr_block_key(e->addr, e->heap), e->thread, &t->moved)) t->moved.key = 0;
}

static void free_moved(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->moving) r->accounts.heap[e->heap].frees++;
    if (t->moving && t->moved.key) count_out(r, &t->moved);
    t->moving = false;
}

void mpr_host_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    free_moved(r, t, e);
    if (e->addr) mpr_host_alloc(r, t, e);
    t->at = (struct mpr_site){ 0, 0 };
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

static void put_part(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    put_new(r, t, e, mpr_replay_samples_host(r) || mpr_thread_has_sampled_stack(r, t));
}

void mpr_host_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e)
{
    e.heap = MPF_HEAP_HOST;
    switch (e.op) {
    case MPF_OP_ALLOC: put_part(r, t, &e); break;
    case MPF_OP_FREE: mpr_host_free(r, &e); break;
    case MPF_OP_MOVE_BEGIN: mpr_host_move_begin(r, t, &e); break;
    case MPF_OP_MOVE_END:
        free_moved(r, t, &e);
        if (e.addr) put_part(r, t, &e);
        t->at = (struct mpr_site){ 0, 0 };
        break;
    default: break;
    }
}
