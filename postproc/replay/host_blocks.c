/* A block that realloc works on (MOVE_BEGIN) leaves the live table and stays in the books until
 * MOVE_END: its address may be handed out meanwhile. */
#include "host_blocks.h"

#include "host_maps.h"
#include "lives.h"
#include "maker.h"

/* ---- what is not in order */

static void wait_for_partner(struct mpr_replay *r, uint64_t key, uint32_t thread,
                             enum mpr_waiting kind)
{
    const struct mpr_repair repair = { key, r->now, thread, (uint8_t)kind };
    mpr_repairs_wait(&r->repairs, &repair);
}

void mpr_host_blocks_expire(struct mpr_replay *r, uint64_t now)
{
    struct mpr_repair late;
    while (mpr_repairs_expire(&r->repairs, now, &late)) {
        struct mpr_heap *heap = &r->books.heap[late.key & 0xff];
        if (late.kind == MPR_WAIT_FREE) heap->missed++;
        else heap->unmatched++;
    }
}

static void unknown_free(struct mpr_replay *r, uint64_t key, uint32_t thread)
{
    if (r->options.has_parent) r->books.heap[key & 0xff].inherited++;
    else wait_for_partner(r, key, thread, MPR_WAIT_ALLOC);
}

/* ---- into the books, and out of them */

/* A sample of malloc's blocks tells of the others, which lie among the totals. */
static void weigh_rest(struct mpr_replay *r, uint64_t key, uint64_t size, int sign)
{
    if ((uint8_t)key != MPF_HEAP_HOST || !mpr_replay_samples_host(r)) return;
    const struct mpr_weight more = mpr_estimates_weight(&r->estimates.host, size);
    mpr_totals_sampled(&r->totals, &r->books, sign, key, &more, r->now);
}

/* What a block whose like are sampled counts in the books. */
MPR_COLD static uint64_t weigh_in(struct mpr_replay *r, const struct mpr_block *block)
{
    const uint32_t cell = mpr_block_cell(block);
    const uint64_t size = mpr_block_size(block);
    if ((uint8_t)block->key == MPF_HEAP_PYTHON)
        return mpr_estimates_come(&r->estimates, &r->books, cell, size);
    mpr_estimates_add(&r->estimates, &r->books, cell, size);
    weigh_rest(r, block->key, size, 1);
    return size;
}

MPR_COLD static uint64_t weigh_out(struct mpr_replay *r, const struct mpr_block *block)
{
    const uint32_t cell = mpr_block_cell(block);
    const uint64_t size = mpr_block_size(block);
    if ((uint8_t)block->key == MPF_HEAP_PYTHON)
        return mpr_estimates_go(&r->estimates, &r->books, cell, size);
    mpr_estimates_remove(&r->estimates, &r->books, cell, size);
    weigh_rest(r, block->key, size, -1);
    return size;
}

static inline void count_in(struct mpr_replay *r, const struct mpr_block *block)
{
    uint64_t size = mpr_block_size(block);
    if (__builtin_expect(mpr_block_weighed(block), 0)) size = weigh_in(r, block);
    mpr_books_add(&r->books, mpr_block_cell(block), size, r->now);
}

static inline void gone(struct mpr_replay *r, uint64_t key, uint64_t size)
{
    mpr_lives_gone(r, key, size);
    mpr_lives_uncounted(r, (uint8_t)key, key >> 8);
}

static inline void count_out(struct mpr_replay *r, const struct mpr_block *block)
{
    uint64_t size = mpr_block_size(block);
    if (mpr_lives_watched(r)) gone(r, block->key, size);
    if (__builtin_expect(mpr_block_weighed(block), 0)) size = weigh_out(r, block);
    mpr_books_remove(&r->books, mpr_block_cell(block), size);
}

/* ---- made and freed */

/* There is a block at this address, whose free has not been seen: it is gone, for the address was
 * handed out. */
MPR_COLD static void replace_block(struct mpr_replay *r, const struct mpr_block *block,
                                   uint32_t thread)
{
    r->actor = MPR_NOBODY;
    count_out(r, block);
    r->actor = thread;
    wait_for_partner(r, block->key, thread, MPR_WAIT_FREE);
}

static inline void put_block(struct mpr_replay *r, const struct mpr_block *made, uint32_t thread)
{
    bool existed;
    struct mpr_block *block = mpr_blocks_insert(&r->blocks, made->key, &existed);
    if (existed) replace_block(r, block, thread);
    *block = *made;
}

/* Has its free been seen before it? */
MPR_COLD static bool is_free_already(struct mpr_replay *r, const struct mpf_event *e, uint64_t key)
{
    if (!mpr_repairs_match(&r->repairs, key, MPR_WAIT_ALLOC, e->thread) &&
        !mpr_repairs_swap(&r->repairs, key))
        return false;
    r->books.heap[e->heap].repairs++;
    return true;
}

/* What a block can say of its size: no log of ours has more. */
static uint64_t size_of(const struct mpf_event *e)
{
    return e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX;
}

static void born(struct mpr_replay *r, const struct mpf_event *e, uint32_t cell)
{
    const struct mpr_large_block block = {
        .addr = e->addr, .size = size_of(e), .from = e->time, .to = UINT64_MAX, .cell = cell
    };
    mpr_lives_born(r, e->heap, &block);
    mpr_lives_counted(r, e->heap, block.addr, block.size, cell);
}

/* Into each of its callers, for that of most events is to have no call more. */
static inline __attribute__((always_inline)) void put_new(struct mpr_replay *r,
                                                          struct mpr_thread *t,
                                                          const struct mpf_event *e, bool weighed)
{
    const uint32_t cell = mpr_maker_new(r, t, e->heap, e->size);
    const struct mpr_block block =
        mpr_block_of(mpr_block_key(e->addr, e->heap), size_of(e), cell, weighed);
    r->books.heap[e->heap].allocations++;
    r->books.heap[e->heap].made_bytes += e->size;
    r->books.cell[cell].allocations++;
    if (r->repairs.count && is_free_already(r, e, block.key)) return;
    put_block(r, &block, e->thread);
    count_in(r, &block);
    if (mpr_lives_watched(r)) born(r, e, cell);
}

/* Does its next block stand for others, which have no call stack? */
static inline bool has_sampled_stack(const struct mpr_replay *r, const struct mpr_thread *t)
{
    const bool sampled = (t->at.stack | t->at.python) && r->options.sample_mean != 0;
    return sampled && (!t->node || r->options.by != MPR_GROUP_AUTO) && !mpr_replay_samples_host(r);
}

void mpr_host_blocks_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    put_new(r, t, e, has_sampled_stack(r, t));
}

/* The block that a free or realloc of `key` means: true with it in *block, false when there is
 * nothing to take. */
static inline bool take_block(struct mpr_replay *r, uint64_t key, uint32_t thread,
                              struct mpr_block *block)
{
    if (r->repairs.count && mpr_repairs_match(&r->repairs, key, MPR_WAIT_FREE, 0)) {
        r->books.heap[key & 0xff].repairs++;
        return false;
    }
    if (mpr_blocks_take(&r->blocks, key, block)) return true;
    unknown_free(r, key, thread);
    return false;
}

void mpr_host_blocks_free(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_block block;
    r->books.heap[e->heap].frees++;
    r->books.heap[e->heap].used = true;
    if (take_block(r, mpr_block_key(e->addr, e->heap), e->thread, &block)) count_out(r, &block);
}

/* ---- realloc */

static void move_back(struct mpr_replay *r, struct mpr_thread *t)
{
    if (t->moving && t->moved.key) put_block(r, &t->moved, t->number);
    t->moving = false;
}

void mpr_host_blocks_move_begin(struct mpr_replay *r, struct mpr_thread *t,
                                const struct mpf_event *e)
{
    move_back(r, t);
    t->moving = true;
    if (!take_block(r, mpr_block_key(e->addr, e->heap), e->thread, &t->moved)) t->moved.key = 0;
}

/* The old block is gone. */
static void end_move(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->moving) r->books.heap[e->heap].frees++;
    if (t->moving && t->moved.key) count_out(r, &t->moved);
    t->moving = false;
}

void mpr_host_blocks_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    end_move(r, t, e);
    if (e->addr) mpr_host_blocks_alloc(r, t, e);
    t->at = (struct mpr_site){ 0, 0 };
}

void mpr_host_blocks_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_heap *heap = &r->books.heap[e->heap];
    const bool huge = e->addr & MPF_FAIL_HUGE_PAGES;
    struct mpr_failure *largest = huge ? &heap->largest_huge : &heap->largest;
    const uint64_t size = mpf_fail_bytes(e->addr, e->size);
    if (mpf_fail_ends_move(e->heap)) move_back(r, t);
    if (e->heap == MPF_HEAP_MMAP && t->remaps) mpr_host_maps_refused(r, t);
    heap->failures += !huge;
    heap->huge_failures += huge;
    heap->used = true;
    if (size >= largest->size)
        *largest = (struct mpr_failure){ e->time, size, (unsigned)(e->addr & UINT32_MAX) };
}

/* ---- blocks that are a part of another heap's */

void mpr_host_blocks_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_FREE) mpr_host_blocks_free(r, e);
    if (e->op == MPF_OP_ALLOC) put_new(r, t, e, r->options.python_sample_mean > 0);
}

static void put_part(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    put_new(r, t, e, mpr_replay_samples_host(r) || has_sampled_stack(r, t));
}

static void on_part_moved(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    end_move(r, t, e);
    if (e->addr) put_part(r, t, e);
    t->at = (struct mpr_site){ 0, 0 };
}

void mpr_host_blocks_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e)
{
    e.heap = MPF_HEAP_HOST;
    switch (e.op) {
    case MPF_OP_ALLOC: put_part(r, t, &e); break;
    case MPF_OP_FREE: mpr_host_blocks_free(r, &e); break;
    case MPF_OP_MOVE_BEGIN: mpr_host_blocks_move_begin(r, t, &e); break;
    case MPF_OP_MOVE_END: on_part_moved(r, t, &e); break;
    default: break;
    }
}

void mpr_host_blocks_rest(struct mpr_replay *r, const struct mpf_event *e)
{
    if (!r->totals.told) {
        const uint32_t node = mpr_sites_named(&r->sites, &r->ranges, r->options.rest_name);
        r->totals.site = mpr_sites_site(&r->sites, (struct mpr_site){ .python = node });
        const struct mpr_maker maker = { .node = node, .site = r->totals.site };
        r->totals.cell = mpr_maker_cell(r, &maker, MPF_HEAP_HOST);
    }
    mpr_totals_take(&r->totals, &r->books, e);
}
