/* The first reading finds the instant.  The second one copies the live blocks at that instant,
 * which are then walked in the order of their addresses.
 *
 * glibc fills the heap of an arena upwards, so all memory from its first block to its last live
 * block has been in use, and glibc returns none of it unless the program calls malloc_trim.  Other
 * allocators return whole pages when they want, so only pages of live blocks are known to be held.
 */
#include "occupancy.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "labels.h"
#include "projection.h"
#include "reader.h"
#include "reading.h"
#include "retained.h"

struct live_block {
    uint64_t addr, size, time;
    struct mpr_address_range at; /* its footprint */
    double pinned;               /* its part of the free bytes of its pages */
    uint32_t cell;
    bool weighed; /* it has a sampled call stack */
};

/* The addresses of all blocks ever in a heap of glibc. */
struct heap_extent {
    uint64_t heap, lowest, end;
};

/* A reading of the live blocks at an instant. */
struct taking {
    struct mpr_occupancy *out;
    struct mpr_reader reader;
    struct mpr_malloc_layout layout;
    struct mpr_ledger ledger; /* when each block was allocated */
    struct mpr_index number;  /* of heap_extent + 1 */
    struct heap_extent *extent;
    size_t extents, extent_cap;
    struct live_block *block;
    size_t blocks;
    uint64_t mappings; /* bytes of host/mmap */
    bool taken;
};

/* ---- the live blocks at the instant */

/* Returns a number of the heap of glibc that the address would be in. */
static uint64_t heap_of(uint64_t addr)
{
    return mpr_is_break(addr) ? 0 : addr / MPR_GLIBC_HEAP_BYTES;
}

static void note_extent(void *arg, uint64_t key, const struct mpr_live_block *block)
{
    struct taking *t = arg;
    const uint64_t addr = key >> 8, heap = heap_of(addr), end = addr + block->size;
    if ((uint8_t)key != MPF_HEAP_HOST || block->size >= MPR_GLIBC_MAPPED_BYTES) return;
    const uint32_t number = mpr_index_get(&t->number, heap);
    if (number) {
        struct heap_extent *e = &t->extent[number - 1];
        if (addr < e->lowest) e->lowest = addr;
        if (end > e->end) e->end = end;
        return;
    }
    *MPR_ADD(t->extent, t->extents, t->extent_cap) = (struct heap_extent){ heap, addr, end };
    mpr_index_set(&t->number, heap, (uint32_t)t->extents);
}

static void ignore(void *arg, const struct mpr_ledger_entry *entry)
{
    (void)arg;
    (void)entry;
}

static uint64_t time_of(const struct taking *t, uint64_t key)
{
    const uint32_t number = mpr_index_get(&t->ledger.live.number, key);
    return number ? t->ledger.live.at[number - 1].time : 0;
}

static void take_block(struct taking *t, const struct mpr_block *b)
{
    const uint64_t addr = b->key >> 8;
    if ((uint8_t)b->key != MPF_HEAP_HOST || addr < t->layout.page) return;
    t->block[t->blocks++] = (struct live_block){ .addr = addr,
                                                 .size = mpr_block_size(b),
                                                 .time = time_of(t, b->key),
                                                 .cell = mpr_block_cell(b),
                                                 .weighed = mpr_block_weighed(b) };
}

MPR_COMPARE(by_address, struct live_block, mpr_compare(a->addr, b->addr))

static void take(struct taking *t, const struct mpr_replay *r)
{
    const struct mpr_blocks *live = &r->blocks;
    const uint64_t *jemalloc = r->samples.source[MPR_SOURCE_JEMALLOC].now.value;
    struct mpr_occupancy_measured *m = &t->out->measured;
    t->taken = true;
    t->block = mpr_alloc(live->live, sizeof *t->block);
    for (size_t i = 0; i <= live->mask; i++)
        for (const struct mpr_block *b = live->line[i].at; b < live->line[i].at + MPR_LINE; b++)
            if (b->key) take_block(t, b);
    if (t->blocks) qsort(t->block, t->blocks, sizeof *t->block, by_address);
    t->mappings = r->accounts.heap[MPF_HEAP_MMAP].bytes;
    m->active = jemalloc[MPF_JEMALLOC_ACTIVE];
    m->allocated = jemalloc[MPF_JEMALLOC_ALLOCATED];
    m->resident = jemalloc[MPF_JEMALLOC_RESIDENT];
    if (r->thinned[MPF_HEAP_HOST].blocks) t->out->gap = MPR_OCCUPANCY_THINNED;
}

static void tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    (void)time;
    take(arg, r);
}

/* ---- a walk over the blocks of a part of the address space */

struct walk {
    struct taking *taking;
    struct mpr_occupancy_heap *heap;
    struct mpr_address_range unit; /* the newest pages that are kept or given back as a whole */
    uint64_t unit_free;
    size_t first, count; /* the blocks in it */
    uint64_t cursor;     /* the end of the newest block */
};

static bool is_glibc(const struct taking *t) { return t->layout.of == MPR_MALLOC_GLIBC; }

static void close_unit(struct walk *w)
{
    struct live_block *block = w->taking->block;
    const double part = w->count ? (double)w->unit_free / (double)w->count : 0;
    for (size_t i = w->first; i < w->first + w->count; i++) block[i].pinned += part;
    if (!is_glibc(w->taking)) w->heap->sum.pinned += w->unit_free;
    w->count = w->unit_free = 0;
}

/* Returns the unit of block i at the address.  It does not overlap the unit before it. */
static struct mpr_address_range unit_of(const struct walk *w, size_t i, uint64_t at)
{
    const struct live_block *b = &w->taking->block[i];
    struct mpr_address_range unit = mpr_malloc_unit(&w->taking->layout, b->addr, b->size, at);
    if (unit.from < w->unit.end) unit.from = w->unit.end;
    if (unit.end <= at) unit.end = at + 1; /* damage */
    return unit;
}

static void open_unit(struct walk *w, size_t i, struct mpr_address_range unit)
{
    w->unit = unit;
    w->first = i;
    w->taking->out->pages += unit.end - unit.from;
}

/* Adds the free bytes from the newest block to the begin of the next one.  Returns how many of them
 * are in pages that malloc_trim returns. */
static uint64_t add_free(struct walk *w, uint64_t to)
{
    struct mpr_occupancy_bytes *sum = &w->heap->sum;
    const uint64_t end = to < w->unit.end ? to : w->unit.end;
    if (end > w->cursor) w->unit_free += end - w->cursor;
    if (!is_glibc(w->taking) || to <= w->cursor) return 0;
    const struct mpr_address_range free = { w->cursor, to };
    const uint64_t trimmable = mpr_glibc_trimmable(&w->taking->layout, &free);
    sum->free += trimmable;
    sum->pinned += to - w->cursor - trimmable;
    return trimmable;
}

/* Opens the unit of the next block, which begins at `from`.  A page of glibc that has only the
 * header of a free chunk stays with the blocks before it. */
static void next_unit(struct walk *w, size_t i, uint64_t from, uint64_t trimmable)
{
    const struct mpr_address_range unit = unit_of(w, i, from);
    const uint64_t free_from = w->unit.end > w->cursor ? w->unit.end : w->cursor,
                   begin = unit.from > free_from ? unit.from : free_from;
    if (is_glibc(w->taking)) w->unit_free += mpr_saturating_sub(begin - free_from, trimmable);
    close_unit(w);
    open_unit(w, i, unit);
    w->unit_free = mpr_saturating_sub(from, begin);
}

static void add_block(struct walk *w, size_t i)
{
    const struct live_block *b = &w->taking->block[i];
    const uint64_t from = b->at.from > w->cursor ? b->at.from : w->cursor,
                   end = b->at.end > from ? b->at.end : from + 1, trimmable = add_free(w, from);
    if (from >= w->unit.end) next_unit(w, i, from, trimmable);
    w->count++;
    if (end > w->unit.end) { /* the pages between its first and its last one have no free bytes */
        const struct mpr_address_range last = unit_of(w, i, end - 1);
        w->taking->out->pages += mpr_saturating_sub(last.from, w->unit.end);
        close_unit(w);
        open_unit(w, i, last);
        w->count = 1;
    }
    w->cursor = end;
}

static void count_block(struct mpr_occupancy_heap *heap, const struct live_block *b)
{
    heap->sum.blocks++;
    heap->sum.live += b->size;
    heap->sum.overhead += mpr_saturating_sub(b->at.end - b->at.from, b->size);
}

/* Returns the first address of the heap that was in use, or the block's if that is not known. */
static uint64_t begin_of(const struct taking *t, const struct live_block *b)
{
    const uint32_t number = is_glibc(t) ? mpr_index_get(&t->number, heap_of(b->addr)) : 0;
    const uint64_t lowest = number ? t->extent[number - 1].lowest : b->addr;
    return mpr_malloc_footprint(&t->layout, lowest < b->addr ? lowest : b->addr, 0, false).from;
}

static void walk_blocks(struct taking *t, struct mpr_occupancy_heap *heap, size_t from, size_t to)
{
    struct walk w = { .taking = t, .heap = heap };
    heap->addr = begin_of(t, &t->block[from]);
    if (is_glibc(t)) w.cursor = heap->addr;
    for (size_t i = from; i < to; i++) {
        struct live_block *b = &t->block[i];
        b->at = mpr_malloc_footprint(&t->layout, b->addr, b->size, false);
        count_block(heap, b);
        add_block(&w, i);
    }
    if (!is_glibc(t)) add_free(&w, w.unit.end);
    close_unit(&w);
    heap->bytes = mpr_saturating_sub(w.cursor, heap->addr);
}

/* Blocks that glibc obtained from the kernel one by one have no neighbours. */
static void add_mapped(struct taking *t, struct mpr_occupancy_heap *mapped, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct live_block *b = &t->block[i];
        b->at = mpr_malloc_footprint(&t->layout, b->addr, b->size, true);
        count_block(mapped, b);
        mapped->bytes += b->at.end - b->at.from;
        t->out->pages += b->at.end - b->at.from;
    }
}

/* ---- parts of the address space */

static size_t end_of_heap(const struct taking *t, size_t from)
{
    size_t to = from + 1;
    while (to < t->blocks && heap_of(t->block[to].addr) == heap_of(t->block[from].addr)) to++;
    return to;
}

/* A heap of an arena is reserved as a whole, so it has only small blocks, and all others between
 * them. A block from the kernel follows a header at the begin of a page. */
static bool are_mapped(const struct taking *t, size_t from, size_t to)
{
    if (!is_glibc(t) || mpr_is_break(t->block[from].addr)) return false;
    for (size_t i = from; i < to; i++)
        if (t->block[i].size < MPR_GLIBC_MAPPED_BYTES) return false;
    return true;
}

static enum mpr_occupancy_kind kind_of(const struct taking *t, uint64_t addr)
{
    if (!is_glibc(t)) return MPR_OCCUPANCY_REGION;
    return mpr_is_break(addr) ? MPR_OCCUPANCY_BREAK : MPR_OCCUPANCY_HEAP;
}

MPR_COMPARE(by_free, struct mpr_occupancy_heap,
            mpr_compare(b->sum.pinned + b->sum.free, a->sum.pinned + a->sum.free)
                ?: mpr_compare(b->sum.live, a->sum.live) ?: mpr_compare(a->addr, b->addr))

static void add_sum(struct mpr_occupancy_bytes *to, const struct mpr_occupancy_bytes *from)
{
    to->blocks += from->blocks;
    to->live += from->live;
    to->overhead += from->overhead;
    to->pinned += from->pinned;
    to->free += from->free;
}

/* Counts the ranges of 2 MiB that have blocks. */
static void count_huge_pages(struct taking *t)
{
    enum { HUGE_BITS = 21 };
    uint64_t next = 0;
    for (const struct live_block *b = t->block; b < t->block + t->blocks; b++) {
        const uint64_t first = b->at.from >> HUGE_BITS, last = (b->at.end - 1) >> HUGE_BITS;
        if (last < next) continue;
        t->out->huge_pages += last + 1 - (first > next ? first : next);
        next = last + 1;
    }
}

static void find_heaps(struct taking *t)
{
    struct mpr_occupancy *out = t->out;
    struct mpr_occupancy_heap mapped = { .kind = MPR_OCCUPANCY_MAPPED };
    size_t heaps = 1; /* that of mapped blocks */
    for (size_t i = 0; i < t->blocks; i = end_of_heap(t, i)) heaps++;
    out->heap = mpr_arena_alloc(&out->arena, heaps * sizeof *out->heap);
    for (size_t i = 0, to; i < t->blocks; i = to) {
        to = end_of_heap(t, i);
        if (are_mapped(t, i, to)) add_mapped(t, &mapped, i, to);
        else {
            struct mpr_occupancy_heap *heap = &out->heap[out->heaps++];
            *heap = (struct mpr_occupancy_heap){ .kind = kind_of(t, t->block[i].addr) };
            walk_blocks(t, heap, i, to);
        }
    }
    if (mapped.sum.blocks) out->heap[out->heaps++] = mapped;
    for (size_t i = 0; i < out->heaps; i++) add_sum(&out->sum, &out->heap[i].sum);
    if (out->heaps) qsort(out->heap, out->heaps, sizeof *out->heap, by_free);
    out->page_bytes = t->layout.page;
    out->pages /= t->layout.page;
    count_huge_pages(t);
}

/* ---- owners of the blocks */

/* Blocks of one path, and the blocks that they represent. */
struct owner {
    double pinned, bytes, blocks;
    double more_pinned, more_bytes, more_blocks;
    uint64_t oldest;
};

/* The sums that all samples represent. */
struct represented {
    struct mpr_represented_sum pinned, bytes, blocks;
};

static void add_sampled(struct owner *o, struct represented *all, const struct live_block *b,
                        const struct mpr_weight *w)
{
    const double variance = (1 + w->blocks) * w->blocks; /* of the number of blocks */
    o->more_pinned += b->pinned * w->blocks;
    o->more_bytes += w->bytes;
    o->more_blocks += w->blocks;
    all->pinned.estimated += b->pinned * w->blocks;
    all->pinned.variance += b->pinned * b->pinned * variance;
    all->bytes.estimated += w->bytes;
    all->bytes.variance += w->variance;
    all->blocks.estimated += w->blocks;
    all->blocks.variance += variance;
}

/* Returns the owners by cell of the projection. */
static struct owner *find_owners(struct taking *t, const struct mpr_projection *p,
                                 struct represented *all)
{
    const struct mpr_replay *r = &t->reader.replay;
    struct owner *owner = mpr_alloc(r->accounts.cells, sizeof *owner);
    for (const struct live_block *b = t->block; b < t->block + t->blocks; b++) {
        struct owner *o = &owner[p->to ? p->to[b->cell] : b->cell];
        if (o->blocks <= 0 || b->time < o->oldest) o->oldest = b->time;
        o->pinned += b->pinned;
        o->bytes += (double)b->size;
        o->blocks++;
        if (!b->weighed || !mpr_cell_is_weighed(r, &p->cell[b->cell], r->options.by, p->by))
            continue;
        const struct mpr_weight w =
            mpr_estimates_weight(mpr_estimates_sampling(&r->estimates, MPF_HEAP_HOST), b->size);
        if (w.blocks > 0) add_sampled(o, all, b, &w);
        t->out->samples += w.blocks > 0;
    }
    return owner;
}

static uint64_t whole(double number) { return number > 0 ? (uint64_t)(number + 0.5) : 0; }

/* Moves what the samples represent from the owner of blocks without a call stack to the owners of
 * the samples. */
static void extrapolate(const struct mpr_replay *r, struct owner *owner, struct represented *all)
{
    const struct owner *const end = owner + r->accounts.cells;
    struct owner *rest = NULL;
    for (uint32_t i = 0; i < r->accounts.cells && !rest; i++)
        if (r->accounts.cell[i].heap == MPF_HEAP_HOST &&
            mpr_replay_is_represented(r, &r->accounts.cell[i]))
            rest = &owner[i];
    if (!rest || all->blocks.estimated <= 0) return;
    all->pinned.known = rest->pinned;
    all->bytes.known = rest->bytes;
    all->blocks.known = rest->blocks;
    const double pinned = mpr_estimates_factor(&all->pinned),
                 bytes = mpr_estimates_factor(&all->bytes),
                 blocks = mpr_estimates_factor(&all->blocks);
    for (struct owner *o = owner; o < end; o++) {
        o->pinned += o->more_pinned * pinned;
        o->bytes += o->more_bytes * bytes;
        o->blocks += o->more_blocks * blocks;
    }
    rest->pinned -= all->pinned.estimated * pinned;
    rest->bytes -= all->bytes.estimated * bytes;
    rest->blocks -= all->blocks.estimated * blocks;
}

MPR_COMPARE(by_pinned, struct mpr_occupancy_pin,
            mpr_compare(b->pinned, a->pinned) ?: mpr_compare(b->row.bytes, a->row.bytes)
                ?: mpr_frame_compare_paths(a->row.path, b->row.path))

static void find_pins(struct taking *t, const struct mpr_projection *p)
{
    struct mpr_occupancy *out = t->out;
    const struct mpr_replay *r = &t->reader.replay;
    struct represented all = { .pinned = { 0 } };
    struct owner *owner = find_owners(t, p, &all);
    extrapolate(r, owner, &all);
    size_t count = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) count += owner[i].blocks >= 0.5;
    out->pin = mpr_arena_alloc(&out->arena, count * sizeof *out->pin);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct owner *o = &owner[i];
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (o->blocks < 0.5 || o->pinned < 1) continue;
        const bool estimated =
            o->more_blocks > 0 || (all.blocks.estimated > 0 && mpr_replay_is_represented(r, cell));
        out->pin[out->pins++] = (struct mpr_occupancy_pin){
            .row = { .path = mpr_label_path(&out->arena, &t->reader, cell),
                     .bytes = whole(o->bytes),
                     .blocks = whole(o->blocks),
                     .estimated = estimated },
            .pinned = whole(o->pinned),
            .oldest_time = o->oldest,
        };
    }
    free(owner);
    if (out->pins) qsort(out->pin, out->pins, sizeof *out->pin, by_pinned);
}

/* ---- figures of the kernel */

/* Mappings and large blocks may have pages that were never touched.  The reading by kind of mapping
 * has the resident bytes of the largest ones. */
static uint64_t untouched(const struct mpr_replay *r, uint8_t heap)
{
    const struct mpr_resident *resident = &r->samples.resident;
    uint64_t sum = 0;
    for (unsigned i = 0; i < resident->cells; i++) {
        const struct mpr_resident_cell *c = &resident->cell[i];
        if (r->accounts.cell[c->cell].heap == heap)
            sum += mpr_saturating_sub(c->bytes, c->resident);
    }
    return sum;
}

/* Returns the bytes of glibc's heaps that have been in use, and are above their last live block. */
static uint64_t above_blocks(const struct taking *t)
{
    uint64_t used = 0, below = 0;
    if (!is_glibc(t)) return 0;
    for (size_t i = 0; i < t->extents; i++) used += t->extent[i].end - t->extent[i].lowest;
    for (size_t i = 0; i < t->out->heaps; i++)
        if (t->out->heap[i].kind != MPR_OCCUPANCY_MAPPED) below += t->out->heap[i].bytes;
    return mpr_saturating_sub(used, below);
}

/* The kernel's total of private memory is sampled every 100 ms.  The reading by kind of mapping is
 * older or newer, and shows how much of that total cannot be malloc's.  glibc may have returned
 * memory above the last block of a heap. */
static void measure(struct taking *t)
{
    const struct mpr_replay *r = &t->reader.replay;
    const struct mpr_resident *kinds = &r->samples.resident;
    const struct mpr_reading rss =
        mpr_reading_at_peak(&r->samples.source[MPR_SOURCE_RSS], MPF_HEAP_HOST, t->out->time);
    struct mpr_occupancy_measured *m = &t->out->measured;
    const struct mpr_occupancy_bytes *sum = &t->out->sum;
    m->private = MPF_UNKNOWN;
    if (!rss.valid || !kinds->valid || rss.value[MPF_RSS_ANON] == MPF_UNKNOWN ||
        kinds->anonymous == MPF_UNKNOWN)
        return;
    const uint64_t mallocs = kinds->value[MPF_RESIDENT_BRK] + kinds->value[MPF_RESIDENT_ANON],
                   others = mpr_saturating_sub(kinds->anonymous, mallocs),
                   blocks = sum->live + sum->overhead, unused = untouched(r, MPF_HEAP_HOST),
                   above = above_blocks(t);
    m->time = rss.time;
    m->mappings = mpr_saturating_sub(t->mappings, untouched(r, MPF_HEAP_MMAP));
    m->untouched = unused < blocks ? unused : blocks;
    m->private = mpr_saturating_sub(rss.value[MPF_RSS_ANON], others + m->mappings);
    m->unknown = mpr_signed_difference(blocks - m->untouched + sum->pinned + sum->free, m->private);
    if (m->unknown < 0) {
        const uint64_t missing = (uint64_t)-m->unknown;
        m->returned = sum->free < missing ? sum->free : missing;
        m->unknown += (int64_t)m->returned;
        return;
    }
    m->top = above < (uint64_t)m->unknown ? above : (uint64_t)m->unknown;
    m->unknown -= (int64_t)m->top;
}

/* ---- readings */

/* Returns the grouping of a reading, whose cells are summed up by the grouping of the result. */
static enum mpr_group reading_by(const struct mpr_occupancy *out)
{
    return out->options.by == MPR_GROUP_AUTO ? MPR_GROUP_PLACE : out->options.by;
}

/* Sets the instant and the grouping from the options.  Returns false if they do not have both. */
static bool take_instant(struct mpr_occupancy *out)
{
    const struct mpr_occupancy_options *o = &out->options;
    if (o->which != MPR_OCCUPANCY_AT_TIME || !o->at.settled || !o->choice) return false;
    out->time = o->at.to;
    out->choice = *o->choice;
    return true;
}

/* Finds both in a reading of the whole log. */
static int find_instant(struct mpr_occupancy *out, const char *path,
                        const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_occupancy_options *o = &out->options;
    const bool is_time = o->which == MPR_OCCUPANCY_AT_TIME;
    struct mpr_retained_samples kept = { .taken = 0 };
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, reading_by(out), is_time ? o->at : MPR_INSTANT_PEAK,
                        error) != 0)
        return -1;
    mpr_retained_watch(&kept, &reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    const struct mpr_log_status *log = mpr_log_status(reader.log);
    const uint64_t peak = reader.replay.accounts.heap[MPF_HEAP_HOST].peak_time;
    mpr_retained_end(&kept, log->end_ns, !log->ended);
    if (o->which == MPR_OCCUPANCY_AT_KEPT && !mpr_retained_bytes(&kept.largest))
        o->which = MPR_OCCUPANCY_AT_PEAK;
    out->time = o->which == MPR_OCCUPANCY_AT_KEPT ? kept.largest.time
                : !is_time || !o->at.settled      ? peak
                : o->at.to < log->end_ns          ? o->at.to
                                                  : log->end_ns;
    mpr_reader_summary(&reader, path, &out->arena, &out->summary);
    out->choice = o->by != MPR_GROUP_AUTO ? (struct mpr_choice){ .by = o->by, .source = "" }
                  : o->choice             ? *o->choice
                                          : mpr_choose(&reader);
    mpr_reader_close(&reader);
    return 0;
}

static enum mpr_occupancy_gap gap_of(const struct mpr_replay *r, const struct mpr_summary *s)
{
    if (s->recording.blocks != MPR_RECORDED_ALL || r->totals.known) return MPR_OCCUPANCY_PART;
    return r->accounts.heap[MPF_HEAP_HOST].allocations ? MPR_OCCUPANCY_KNOWN
                                                       : MPR_OCCUPANCY_NO_BLOCKS;
}

static void fill(struct taking *t, const char *path)
{
    struct mpr_occupancy *out = t->out;
    struct mpr_replay *r = &t->reader.replay;
    struct mpr_projection p;
    if (!t->taken) take(t, r);
    if (!out->summary.path) mpr_reader_summary(&t->reader, path, &out->arena, &out->summary);
    out->allocator = t->layout.of;
    if (out->gap == MPR_OCCUPANCY_KNOWN) out->gap = gap_of(r, &out->summary);
    if (out->gap != MPR_OCCUPANCY_KNOWN) return;
    find_heaps(t);
    mpr_projection_begin(&p, r, out->choice.by, NULL);
    find_pins(t, &p);
    measure(t);
    mpr_projection_end(&p, r);
}

static struct mpr_malloc_layout layout_of(const struct mpr_reader *reader)
{
    enum { PAGE = 4096 };
    const struct mpr_header *header = mpr_log_header(reader->log);
    const char *file = mpr_header_get(header, "allocator"),
               *page = mpr_header_get(header, "page_size");
    const uint64_t bytes = page ? strtoull(page, NULL, 10) : 0;
    const bool is_valid = bytes >= PAGE && bytes <= 16 * PAGE && !(bytes & (bytes - 1));
    return (struct mpr_malloc_layout){ mpr_malloc_of(file ? file : ""), is_valid ? bytes : PAGE };
}

int mpr_occupancy_read(struct mpr_occupancy *out, const char *path,
                       const struct mpr_occupancy_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct taking t = { .out = out };
    *out = (struct mpr_occupancy){ .options = *options };
    if (!take_instant(out) && find_instant(out, path, progress, error) != 0) return -1;
    if (mpr_reader_open(&t.reader, path, reading_by(out), MPR_INSTANT_END_OF(out->time), error) !=
        0) {
        mpr_occupancy_free(out);
        return -1;
    }
    t.layout = layout_of(&t.reader);
    t.ledger = (struct mpr_ledger){ .report = ignore, .allocated = note_extent, .arg = &t };
    t.reader.replay.ledger = &t.ledger;
    mpr_clock_begin(&t.reader.replay,
                    &(struct mpr_clock){
                        .tick = tick, .arg = &t, .every = UINT64_MAX / 2, .next = out->time + 1 });
    mpr_reader_end_early(&t.reader);
    const int status = mpr_reader_replay(&t.reader, path, progress, error);
    if (status == 0) {
        fill(&t, path);
        mpr_reader_close(&t.reader);
    } else mpr_occupancy_free(out);
    mpr_live_index_free(&t.ledger.live);
    mpr_index_free(&t.number);
    free(t.extent);
    free(t.block);
    return status;
}

void mpr_occupancy_free(struct mpr_occupancy *out) { mpr_arena_free(&out->arena); }
