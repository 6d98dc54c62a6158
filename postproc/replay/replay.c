/* One small function an operation.
 *
 * A block that realloc works on (MOVE_BEGIN) leaves the live table and stays in the books until
 * MOVE_END: its address may be handed out meanwhile. */
#include "replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "absent.h"
#include "chosen.h"
#include "gpu.h"
#include "gpu_peaks.h"
#include "lives.h"
#include "maker.h"
#include "mpf/slot.h"
#include "nvtx_heaps.h"

#define PREFETCH_AHEAD 32

void mpr_replay_init(struct mpr_replay *r, const struct mpr_replay_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    const double mean = options->sample_mean > 0         ? options->sample_mean
                        : options->torch_sample_mean > 0 ? options->torch_sample_mean
                                                         : options->python_sample_mean;
    r->estimates.stacks = (struct mpr_sampling){ mean, options->sample_below };
    r->estimates.host =
        (struct mpr_sampling){ options->host_sample_mean, options->host_sample_below };
    mpr_samples_init(&r->samples);
    mpr_chosen_init(r);
    mpr_books_init(&r->books);
    mpr_blocks_init(&r->blocks);
    mpr_ranges_init(&r->ranges);
    mpr_gpu_init(&r->gpu);
    mpr_windows_turn(&r->windows, options->in_window, 0);
}

void mpr_replay_free(struct mpr_replay *r)
{
    mpr_books_free(&r->books);
    mpr_blocks_free(&r->blocks);
    mpr_estimates_free(&r->estimates);
    mpr_totals_free(&r->totals);
    mpr_ranges_free(&r->ranges);
    mpr_regions_free(&r->regions);
    mpr_sites_free(&r->sites);
    mpr_gpu_free(&r->gpu);
    mpr_nvtx_free(&r->nvtx);
    mpr_threads_free(&r->threads);
}

/* ---- cells */

/* Of a block without a call stack, as most are. */
static uint64_t cell_key(const struct mpr_replay *r, const struct mpr_thread *t, uint64_t size)
{
    switch (r->options.by) {
    case MPR_GROUP_RANGE:
    case MPR_GROUP_AUTO: return t->node;
    case MPR_GROUP_THREAD: return t->number;
    case MPR_GROUP_SIZE: return mpr_size_class(size);
    case MPR_GROUP_ALL:
        return mpr_all_key((struct mpr_all){ t->node, t->number, mpr_size_class(size) });
    default: return 0;
    }
}

/* The cell of a block whose call stack is known. */
MPR_COLD static uint32_t cell_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                      uint64_t size)
{
    const uint32_t node = mpr_maker_path(r, t->node, t->at.python);
    const struct mpr_maker maker = {
        size, node, t->number, mpr_sites_site(&r->sites, t->at), 0, 0
    };
    t->at = (struct mpr_site){ 0, 0 };
    return mpr_maker_cell(r, &maker, heap);
}

/* The cell of a block without one, which the hints do not know. */
MPR_COLD static uint32_t look_up_cell(struct mpr_replay *r, uint64_t key, uint8_t heap)
{
    const uint32_t cell = mpr_books_cell(&r->books, key, 0, heap);
    *mpr_books_hint(&r->books, key, heap) = (struct mpr_hint){ key, cell, heap };
    return cell;
}

static inline uint32_t cell_of(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                               uint64_t size)
{
    if (__builtin_expect(t->at.stack | t->at.python, 0)) return cell_at_site(r, t, heap, size);
    const uint64_t key = cell_key(r, t, size);
    const struct mpr_hint *hint = mpr_books_hint(&r->books, key, heap);
    return hint->key == key && hint->heap == heap && heap ? hint->cell : look_up_cell(r, key, heap);
}

/* ---- blocks */

/* What a block can say of its size: no log of ours has more. */
static uint64_t size_of(const struct mpf_event *e)
{
    return e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX;
}

static void wait_for_partner(struct mpr_replay *r, uint64_t key, uint32_t thread,
                             enum mpr_waiting kind)
{
    const struct mpr_repair repair = { key, r->now, thread, (uint8_t)kind };
    mpr_repairs_wait(&r->repairs, &repair);
}

static void expire_repairs(struct mpr_replay *r, uint64_t now)
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

/* Into the books, and out of them. */
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

static void born(struct mpr_replay *r, const struct mpf_event *e, uint32_t cell)
{
    const struct mpr_large_block block = {
        .addr = e->addr, .size = size_of(e), .from = e->time, .to = UINT64_MAX, .cell = cell
    };
    mpr_lives_born(r, e->heap, &block);
    mpr_lives_counted(r, e->heap, block.addr, block.size, cell);
}

static inline void put_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                           bool weighed)
{
    const uint32_t cell = cell_of(r, t, e->heap, e->size);
    const struct mpr_block block =
        mpr_block_of(mpr_block_key(e->addr, e->heap), size_of(e), cell, weighed);
    r->books.heap[e->heap].allocations++;
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

static inline void on_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
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

static void on_free(struct mpr_replay *r, const struct mpf_event *e)
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

static void on_move_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
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

static void on_move_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    end_move(r, t, e);
    if (e->addr) on_alloc(r, t, e);
    t->at = (struct mpr_site){ 0, 0 };
}

/* Or an mmap, of a handler's: then the mremap ends later. */
static void on_remap_refused(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    t->refused[0] = leaving->from;
    t->refused[1] = leaving->size;
    mpr_regions_stay(&r->regions, &r->books, leaving);
}

static void on_fail(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_heap *heap = &r->books.heap[e->heap];
    const uint64_t size = e->size | e->addr >> 32 << 40;
    if (mpf_fail_ends_move(e->heap)) move_back(r, t);
    if (e->heap == MPF_HEAP_MMAP && t->remaps) on_remap_refused(r, t);
    heap->failures++;
    heap->used = true;
    if (size >= heap->largest.size)
        heap->largest = (struct mpr_failure){ e->time, size, (unsigned)(e->addr & UINT32_MAX) };
}

/* ---- blocks that are a part of another heap's */

/* Of Python's small objects the log has sampled ones only. */
static void on_python(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_FREE) on_free(r, e);
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

/* Blocks of host/heap, of which not every one is in the log. */
static void on_part(struct mpr_replay *r, struct mpr_thread *t, struct mpf_event e)
{
    e.heap = MPF_HEAP_HOST;
    switch (e.op) {
    case MPF_OP_ALLOC: put_part(r, t, &e); break;
    case MPF_OP_FREE: on_free(r, &e); break;
    case MPF_OP_MOVE_BEGIN: on_move_begin(r, t, &e); break;
    case MPF_OP_MOVE_END: on_part_moved(r, t, &e); break;
    default: break;
    }
}

/* The rest: of nobody's range, thread or size. */
static void on_totals(struct mpr_replay *r, const struct mpf_event *e)
{
    if (!r->totals.told) {
        const uint32_t node = mpr_sites_named(&r->sites, &r->ranges, r->options.rest_name);
        r->totals.site = mpr_sites_site(&r->sites, (struct mpr_site){ .python = node });
        const struct mpr_maker maker = { .node = node, .site = r->totals.site };
        r->totals.cell = mpr_maker_cell(r, &maker, MPF_HEAP_HOST);
    }
    mpr_totals_take(&r->totals, &r->books, e);
}

/* ---- regions */

static void count_region(struct mpr_replay *r, uint8_t heap, uint32_t cell, size_t made,
                         size_t gone)
{
    if (made) {
        r->books.heap[heap].allocations++;
        r->books.cell[cell].allocations++;
    }
    if (gone) r->books.heap[heap].frees++;
}

/* shmdt names only the beginning: size 0 is the whole mapping. */
static void on_unmap(struct mpr_replay *r, const struct mpf_event *e)
{
    uint8_t heap;
    const uint64_t size = e->size ? e->size : mpr_regions_extent(&r->regions, e->addr);
    if (!mpr_regions_known(&r->regions, &r->books, e->addr, size, &heap)) return;
    count_region(r, heap, 0, 0, mpr_regions_unmap(&r->regions, &r->books, e->addr, size));
}

static void on_protect(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    uint8_t heap;
    const bool writable = e->op == MPF_OP_PROTECT_RW;
    if (!mpr_regions_known(&r->regions, &r->books, e->addr, e->size, &heap)) return;
    const uint32_t cell = cell_of(r, t, heap, e->size);
    const size_t changed =
        mpr_regions_protect(&r->regions, &r->books, e->addr, e->size, cell, writable, e->time);
    count_region(r, heap, cell, writable ? changed : 0, writable ? 0 : changed);
}

static void on_map(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool writable = e->op == MPF_OP_MAP;
    const uint32_t cell = cell_of(r, t, e->heap, e->size);
    on_unmap(r, e);
    const size_t made =
        mpr_regions_map(&r->regions, &r->books, e->addr, e->size, cell, writable, e->time);
    count_region(r, e->heap, cell, made && writable, 0);
}

static void on_remap_from(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->remaps == MPR_REMAPS) {
        mpr_regions_stay(&r->regions, &r->books, &t->remap[0]);
        memmove(t->remap, t->remap + 1, --t->remaps * sizeof *t->remap);
    }
    mpr_regions_leave(&r->regions, &r->books, e->addr, e->size, &t->remap[t->remaps++]);
}

static void leave_after_all(struct mpr_replay *r, struct mpr_thread *t)
{
    mpr_regions_leave(&r->regions, &r->books, t->refused[0], t->refused[1], &t->remap[t->remaps++]);
    t->refused[1] = 0;
}

static void on_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t to[2] = { e->addr, e->size };
    if (!t->remaps && t->refused[1]) leave_after_all(r, t);
    if (!t->remaps) return;
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    if (!leaving->count) {
        on_unmap(r, e);
        return;
    }
    const uint8_t heap = r->books.cell[leaving->span->what].heap;
    const uint32_t cell = cell_of(r, t, heap, e->size);
    const size_t arrived = mpr_regions_arrive(&r->regions, &r->books, leaving, to, cell, e->time);
    count_region(r, heap, cell, arrived, arrived);
}

/* ---- threads and definitions */

static void name_thread(struct mpr_thread *t, const struct mpf_event *e)
{
    const size_t bytes = e->size < sizeof t->name - 1 ? (size_t)e->size : sizeof t->name - 1;
    if (bytes) memcpy(t->name, e->data, bytes);
    t->name[bytes] = 0;
}

static void on_thread(struct mpr_thread *t, const struct mpf_event *e)
{
    t->tid = e->addr;
    if (!t->first_ns) t->first_ns = e->time;
    name_thread(t, e);
}

static void on_thread_end(struct mpr_replay *r, const struct mpf_event *e)
{
    if (e->addr < r->threads.count && r->threads.at[e->addr])
        mpr_thread_end(r->threads.at[e->addr], e->time);
}

static void on_lost(struct mpr_replay *r, const struct mpf_event *e)
{
    r->lost += e->addr;
    if (e->size < sizeof r->lost_by / sizeof *r->lost_by) r->lost_by[e->size] += e->addr;
}

static void on_unwritten(struct mpr_replay *r, const struct mpf_event *e)
{
    const size_t most = sizeof r->unwritten / sizeof *r->unwritten;
    if (e->size >= sizeof *r->unwritten && r->unwrittens < most)
        memcpy(&r->unwritten[r->unwrittens++], e->data, sizeof *r->unwritten);
}

/* Everything but blocks. */
static void apply_other(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_FAIL: on_fail(r, t, e); break;
    case MPF_OP_MAP:
    case MPF_OP_RESERVE: on_map(r, t, e); break;
    case MPF_OP_UNMAP: on_unmap(r, e); break;
    case MPF_OP_PROTECT_RW:
    case MPF_OP_PROTECT_NONE: on_protect(r, t, e); break;
    case MPF_OP_REMAP_FROM: on_remap_from(r, t, e); break;
    case MPF_OP_REMAP_TO: on_remap_to(r, t, e); break;
    case MPF_OP_PUSH:
        mpr_thread_push(t, &r->ranges, r->count[e->op],
                        mpr_ranges_name(&r->ranges, (uint32_t)e->addr), (uint32_t)(e->addr >> 32));
        break;
    case MPF_OP_POP: mpr_thread_pop(t, &r->ranges, (uint32_t)(e->addr >> 32)); break;
    case MPF_OP_NAME: mpr_ranges_set_name(&r->ranges, (uint32_t)e->addr, e->data, e->size); break;
    case MPF_OP_DOMAIN:
        mpr_texts_set(&r->ranges.domains, (uint32_t)e->addr, e->data, e->size);
        break;
    case MPF_OP_THREAD: on_thread(t, e); break;
    case MPF_OP_THREAD_NAME: name_thread(t, e); break;
    case MPF_OP_THREAD_END: on_thread_end(r, e); break;
    case MPF_OP_SAMPLE_RSS: mpr_samples_add(&r->samples, &r->books, MPR_SOURCE_RSS, e); break;
    case MPF_OP_SAMPLE_CGROUP: mpr_samples_add(&r->samples, &r->books, MPR_SOURCE_CGROUP, e); break;
    case MPF_OP_SAMPLE_JEMALLOC:
        mpr_samples_add(&r->samples, &r->books, MPR_SOURCE_JEMALLOC, e);
        break;
    case MPF_OP_SAMPLE_HOST: on_totals(r, e); break;
    case MPF_OP_WINDOW: mpr_windows_turn(&r->windows, e->addr != 0, e->time); break;
    case MPF_OP_LOST: on_lost(r, e); break;
    case MPF_OP_UNWRITTEN: on_unwritten(r, e); break;
    default: break; /* a newer minor version's, or nothing that changes the books */
    }
}

/* Device memory and what belongs to it. */
static void apply_gpu(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    mpr_gpu_event(r, t, e);
    if (r->watch.event) r->watch.event(r->watch.arg, r, t, e);
}

/* AT and AT_PYTHON are about the thread's next event, whatever it is. */
static inline bool is_place(const struct mpf_event *e)
{
    return (e->op == MPF_OP_AT) | (e->op == MPF_OP_AT_PYTHON);
}

static inline void on_place(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_AT) t->at.stack = mpr_sites_stack(&r->sites, e->addr);
    else t->at.python = mpr_sites_python(&r->sites, e->addr);
}

/* One test tells an event of the host: its operations and heaps have the lower codes. */
static_assert(MPF_OP_SAMPLE_HOST < MPF_OP_GPU_DEVICE && MPF_HEAP_SHM < MPF_HEAP_PINNED,
              "the host's come first");
static_assert(MPF_OP_POP == MPF_OP_PUSH + 1 && MPF_OP_RANGE_START == MPF_OP_PUSH + 2 &&
                  MPF_OP_RANGE_END == MPF_OP_PUSH + 3 && MPF_OP_MARK == MPF_OP_PUSH + 4 &&
                  MPF_OP_RANGE_DATA > MPF_OP_MARK,
              "mpr_gpu_range takes those of ranges by their order");
static inline bool is_gpu(const struct mpf_event *e)
{
    return (e->heap >= MPF_HEAP_PINNED) | (e->op >= MPF_OP_GPU_DEVICE);
}

static inline void apply(struct mpr_replay *r, const struct mpf_event *e)
{
    if (__builtin_expect(e->time >= r->turn, 0)) mpr_chosen_turn(r, e->time);
    r->now = e->time;
    r->actor = e->thread < MPR_THREADS_MAX ? e->thread : 0;
    r->count[e->op]++;
    const bool gpu = is_gpu(e);
    if (e->op == MPF_OP_FREE && !gpu) {
        on_free(r, e);
        return;
    }
    struct mpr_thread *t = e->thread < r->threads.count ? r->threads.at[e->thread] : NULL;
    if (!t) t = mpr_threads_get(&r->threads, e->thread);
    if (e->op == MPF_OP_ALLOC && !gpu) on_alloc(r, t, e);
    else if (is_place(e)) on_place(r, t, e);
    else if (__builtin_expect(gpu, 0)) {
        if (e->op == MPF_OP_FOLDED) mpr_absent_take(r, e);
        else if (e->heap == MPF_HEAP_PYTHON) on_python(r, t, e);
        else if (e->heap == MPF_HEAP_PART) on_part(r, t, *e);
        else if (e->heap == MPF_HEAP_NVTX) mpr_nvtx_event(r, t, e);
        else apply_gpu(r, t, e);
    } else if (e->op == MPF_OP_MOVE_BEGIN) on_move_begin(r, t, e);
    else if (e->op == MPF_OP_MOVE_END) on_move_end(r, t, e);
    else {
        apply_other(r, t, e);
        if (e->op >= MPF_OP_PUSH && e->op <= MPF_OP_RANGE_DATA) mpr_gpu_range(r, t, e);
        if (r->watch.event) r->watch.event(r->watch.arg, r, t, e);
        if (e->op != MPF_OP_THREAD) t->at = (struct mpr_site){ 0, 0 };
    }
}

/* Who looks for a partner of the event looks back from it. */
MPR_COLD static void while_repairs_wait(struct mpr_replay *r, const struct mpf_event *e)
{
    r->repairs.recent.at = e;
    expire_repairs(r, e->time);
}

static inline void take(struct mpr_replay *r, const struct mpf_event *e)
{
    if (r->repairs.count) while_repairs_wait(r, e);
    apply(r, e);
}

static inline void prefetch(const struct mpr_replay *r, const struct mpf_event *e)
{
    mpr_blocks_prefetch(&r->blocks, mpr_block_key(e->addr, e->heap));
}

static bool is_of_malloc(const struct mpf_event *e)
{
    return e->heap == MPF_HEAP_HOST && (e->op == MPF_OP_ALLOC || e->op == MPF_OP_FREE ||
                                        e->op == MPF_OP_MOVE_BEGIN || e->op == MPF_OP_MOVE_END);
}

/* Its time passes, and its call stack is nobody else's. */
static void leave_out(struct mpr_replay *r, const struct mpf_event *e)
{
    if (e->time >= r->turn) mpr_chosen_turn(r, e->time);
    r->now = e->time;
    if (e->op != MPF_OP_FREE)
        mpr_threads_get(&r->threads, e->thread)->at = (struct mpr_site){ 0, 0 };
}

static void batch_without_malloc(struct mpr_replay *r, const struct mpf_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_of_malloc(&events[i])) leave_out(r, &events[i]);
        else take(r, &events[i]);
    }
}

static void batch_of_all(struct mpr_replay *r, const struct mpf_event *events, size_t count)
{
    for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++) prefetch(r, &events[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + PREFETCH_AHEAD < count) prefetch(r, &events[i + PREFETCH_AHEAD]);
        take(r, &events[i]);
    }
}

void mpr_replay_batch(struct mpr_replay *r, const struct mpf_event *events, size_t count)
{
    mpr_recent_begin(&r->repairs.recent, events);
    if (r->options.without_malloc) batch_without_malloc(r, events, count);
    else batch_of_all(r, events, count);
    mpr_recent_end(&r->repairs.recent, count);
}

void mpr_replay_finish(struct mpr_replay *r)
{
    r->actor = MPR_NOBODY;
    expire_repairs(r, UINT64_MAX);
    mpr_chosen_turn(r, UINT64_MAX);
    mpr_gpu_finish(r);
    mpr_totals_finish(&r->totals, &r->books);
    mpr_samples_finish(&r->samples, &r->books);
}
