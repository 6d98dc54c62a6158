/* Allocations are reported after the replay has applied them, and frees while it applies them,
 * so the order is that of the log. If the driver maps or unmaps consecutive memory in several
 * calls, it is one entry, as PyTorch requests it. */
#include "torch_trace.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "intervals.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "reader.h"
#include "repeats.h"
#include "segments.h"

/* The size of PyTorch's segments for small blocks. Others have multiples of it (c10/cuda). */
#define PAGE (UINT64_C(2) << 20)

/* ---- before the trace */

int mpr_torch_survey(struct mpr_torch_survey *survey, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    static const char step[] = "ProfilerStep#";
    struct mpr_reader reader;
    const struct mpr_ranges *ranges = &reader.replay.ranges;
    bool has_profiler_steps = false;
    *survey = (struct mpr_torch_survey){ .devices = 0 };
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.replay.options.without_malloc = true;
    reader.repeats = mpr_repeats_watch(&reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    mpr_reader_summary(&reader, path, &survey->arena, &survey->summary);
    for (uint32_t i = 1; i < ranges->nodes; i++) {
        size_t bytes;
        const char *name = mpr_texts_get(&ranges->names, ranges->node[i].name, &bytes),
                   *domain = mpr_ranges_domain(ranges, ranges->node[i].domain);
        has_profiler_steps |= name && bytes >= sizeof step - 1 &&
                              memcmp(name, step, sizeof step - 1) == 0 &&
                              (!*domain || strcmp(domain, "torch") == 0);
    }
    if (!has_profiler_steps)
        survey->step =
            mpr_repeats_outermost_name_with(reader.repeats, &survey->arena, MPR_REPEATS_LEAST);
    survey->device = mpr_arena_alloc(&survey->arena, MPF_GPUS * sizeof *survey->device);
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const struct mpr_gpu_device *d = &reader.replay.gpu.device[i];
        survey->device[i] = (struct mpr_torch_survey_device){
            .name = mpr_arena_text(&survey->arena, d->name),
            .total = d->total == MPF_UNKNOWN ? 0 : d->total,
            .used = reader.replay.accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, i)].allocations != 0,
        };
        if (survey->device[i].used) survey->devices = i + 1;
    }
    mpr_reader_close(&reader);
    return 0;
}

void mpr_torch_survey_free(struct mpr_torch_survey *survey) { mpr_arena_free(&survey->arena); }

void mpr_torch_state_free(struct mpr_torch_state *state) { mpr_arena_free(&state->arena); }

/* ---- a reading */

/* A piece of memory of PyTorch's segments. */
struct piece {
    uint32_t site, capture;
    bool expandable;
    bool supposed;   /* only the blocks in it were recorded */
    bool sleeps;     /* a plug-in for sleep mode made it: it remains a segment while it is unmapped,
                        until its addresses are freed */
    bool is_freed;   /* its memory was freed or never recorded */
    uint64_t blocks; /* number of live blocks that begin in it */
    uint32_t next_free;
};

struct reading {
    struct mpr_reader reader;
    const struct mpr_torch_options *options;
    struct mpr_torch_state *out;
    struct mpr_code *code;
    struct mpr_ledger ledger;
    struct mpr_intervals pieces; /* by address: indices in `piece` */
    struct piece *piece;
    uint32_t piece_count, piece_cap;
    uint32_t free_place; /* an unused index in `piece` + 1, or 0 */
    uint64_t *stream;    /* by capture */
    uint32_t streams;
    uint32_t *pool; /* by capture */
    uint32_t pools, private_pools;
    struct mpr_index pool_of;      /* by hash of the id that PyTorch gave it: number */
    struct mpr_torch_entry newest; /* the newest entry, which is not reported yet, or with size 0 */
    bool closed;                   /* until_ns has passed */
};

static void flush(struct reading *r)
{
    if (r->newest.size) r->options->report(r->options->arg, &r->newest);
    r->newest.size = 0;
}

static uint64_t device_free(const struct reading *r)
{
    const struct mpr_replay *replay = &r->reader.replay;
    const struct mpr_gpu_device *d = &replay->gpu.device[r->options->device];
    const uint64_t used = mpr_gpu_device_used(d, mpr_gpu_tracked(replay, r->options->device));
    if (used == MPF_UNKNOWN || d->total == MPF_UNKNOWN) return UINT64_MAX;
    return mpr_saturating_sub(d->total, used);
}

static void report(struct reading *r, struct mpr_torch_entry entry)
{
    struct mpr_torch_entry *newest = &r->newest;
    entry.time_ns = r->reader.replay.now;
    entry.device_free = device_free(r);
    if (entry.time_ns < r->options->from_ns) return;
    if ((newest->action == MPR_TORCH_SEGMENT_MAP || newest->action == MPR_TORCH_SEGMENT_UNMAP) &&
        newest->size && entry.action == newest->action &&
        entry.addr == newest->addr + newest->size && entry.stack == newest->stack &&
        entry.stream == newest->stream) {
        newest->size += entry.size;
        return;
    }
    flush(r);
    r->newest = entry;
}

static uint32_t stack_of(struct reading *r, uint32_t site)
{
    if (!r->code) return 0;
    return mpr_code_of_site(r->code, &r->reader, mpr_sites_of(&r->reader.replay.sites, site));
}

static uint64_t stream_of(const struct reading *r, uint32_t capture)
{
    return capture < r->streams ? r->stream[capture] : 0;
}

static uint32_t pool_of(const struct reading *r, uint32_t capture)
{
    return capture < r->pools ? r->pool[capture] : 0;
}

static bool is_here(const struct reading *r, uint8_t heap, unsigned code)
{
    return mpf_heap_is_gpu(heap) && mpf_heap_code(heap) == code &&
           mpf_heap_device(heap) == r->options->device;
}

/* ---- pieces */

static uint64_t end_of(uint64_t addr, uint64_t size)
{
    return size > UINT64_MAX - addr ? UINT64_MAX : addr + size;
}

/* Returns the first piece that ends after the address, or NULL. */
static const struct mpr_interval *piece_after(const struct reading *r, uint64_t addr)
{
    return mpr_intervals_at(&r->pieces, mpr_intervals_after(&r->pieces, addr));
}

static void add_piece(struct reading *r, uint64_t start, uint64_t end, const struct piece *piece)
{
    uint32_t place = r->free_place - 1;
    if (r->free_place) {
        r->free_place = r->piece[place].next_free;
    } else {
        MPR_GROW(r->piece, r->piece_count, r->piece_cap);
        place = r->piece_count++;
    }
    r->piece[place] = *piece;
    mpr_intervals_insert(&r->pieces, &(struct mpr_interval){ start, end, place, false });
    report(r, (struct mpr_torch_entry){ .action = piece->expandable ? MPR_TORCH_SEGMENT_MAP
                                                                    : MPR_TORCH_SEGMENT_ALLOC,
                                        .addr = start,
                                        .size = end - start,
                                        .stream = stream_of(r, piece->capture),
                                        .stack = stack_of(r, piece->site),
                                        .pool = pool_of(r, piece->capture),
                                        .supposed = piece->supposed });
}

/* Removes the piece if its memory is freed and no block is left in it. */
static void remove_if_unused(struct reading *r, struct mpr_position place)
{
    const struct mpr_interval span = *mpr_intervals_at(&r->pieces, place);
    const struct piece piece = r->piece[span.value];
    if (!piece.is_freed || piece.sleeps || piece.blocks) return;
    r->piece[span.value] = (struct piece){ .next_free = r->free_place };
    r->free_place = span.value + 1;
    mpr_intervals_remove(&r->pieces, place, 1);
    report(r, (struct mpr_torch_entry){ .action = piece.expandable ? MPR_TORCH_SEGMENT_UNMAP
                                                                   : MPR_TORCH_SEGMENT_FREE,
                                        .addr = span.start,
                                        .size = span.end - span.start,
                                        .stream = stream_of(r, piece.capture),
                                        .pool = pool_of(r, piece.capture) });
}

/* Memory of a segment was allocated or mapped. Adds pieces for those parts that have none. */
static void add_memory(struct reading *r, uint64_t addr, uint64_t size, const struct piece *piece)
{
    const uint64_t end = end_of(addr, size);
    while (addr < end) {
        const struct mpr_interval *span = piece_after(r, addr);
        if (span && span->start <= addr) {
            r->piece[span->value].is_freed = false;
            addr = span->end;
            continue;
        }
        const uint64_t to = span && span->start < end ? span->start : end;
        add_piece(r, addr, to, piece);
        addr = to;
    }
}

/* The memory was freed or unmapped, or with @addresses its addresses were freed. A piece remains
 * while it has blocks; one that `sleeps` remains until its addresses are freed. */
static void drop_memory(struct reading *r, uint64_t addr, uint64_t size, bool addresses)
{
    const uint64_t end = end_of(addr, size);
    struct mpr_position place = mpr_intervals_after(&r->pieces, addr);
    const struct mpr_interval *span;
    while ((span = mpr_intervals_at(&r->pieces, place)) && span->start < end) {
        struct piece *piece = &r->piece[span->value];
        if (addresses) piece->sleeps &= !piece->is_freed;
        else piece->is_freed = true;
        addr = span->end;
        remove_if_unused(r, place);
        place = mpr_intervals_after(&r->pieces, addr);
    }
}

/* Counts a new block in its piece. If its memory was not recorded, adds pieces for it: the whole
 * pages from its address to its end, or to the next piece. */
static void add_block(struct reading *r, uint64_t addr, uint64_t size)
{
    static const struct piece supposed = { .expandable = true, .supposed = true, .is_freed = true };
    const uint64_t end = end_of(addr, size),
                   limit = end > UINT64_MAX - PAGE ? end : (end + PAGE - 1) / PAGE * PAGE;
    const struct mpr_interval *span;
    for (uint64_t at = addr; at < end;) {
        struct mpr_position place = mpr_intervals_after(&r->pieces, at);
        for (; at < end && (span = mpr_intervals_at(&r->pieces, place)) && span->start <= at;
             place = mpr_intervals_next(&r->pieces, place))
            at = span->end;
        if (at >= end) break;
        uint64_t from = at - at % PAGE;
        while ((span = piece_after(r, from)) && span->end <= at) from = span->end;
        add_piece(r, from, span && span->start < limit ? span->start : limit, &supposed);
    }
    span = piece_after(r, addr);
    if (span && span->start <= addr) r->piece[span->value].blocks++;
}

/* ---- events */

static void on_driver_block(struct reading *r, const struct mpr_gpu_block *b)
{
    if (!b || !b->segment || !is_here(r, b->heap, MPF_HEAP_DEVICE)) return;
    const bool expands = b->handle && mpr_segment_expands(&r->reader.replay.sites, b->library);
    add_memory(r, b->addr, b->size,
               &(struct piece){ .site = b->site,
                                .capture = b->capture,
                                .expandable = expands,
                                .sleeps = b->handle && !expands });
}

static void on_alloc(struct reading *r, const struct mpr_thread *t, const struct mpf_event *e)
{
    const struct mpr_gpu *g = &r->reader.replay.gpu;
    if (!is_here(r, e->heap, MPF_HEAP_TORCH)) {
        on_driver_block(r, mpr_gpu_blocks_find(&g->driver, e->addr));
        return;
    }
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&g->torch, e->addr);
    if (!b || b->size < r->options->min_bytes || !is_here(r, b->heap, MPF_HEAP_TORCH)) return;
    add_block(r, b->addr, b->size);
    report(r,
           (struct mpr_torch_entry){ .action = MPR_TORCH_ALLOC,
                                     .addr = b->addr,
                                     .size = b->size,
                                     .stream = stream_of(r, b->capture),
                                     .stack = stack_of(r, b->site),
                                     .pool = pool_of(r, b->capture),
                                     .site = b->site,
                                     .before_capture = !b->capture && t->gpu.torch_began_capture });
}

/* The ledger reports each block that is freed, of any heap. */
static void on_free(void *arg, const struct mpr_ledger_entry *entry)
{
    struct reading *r = arg;
    const uint64_t addr = entry->key >> 8;
    const uint8_t heap = (uint8_t)entry->key;
    if (r->closed) return;
    if (is_here(r, heap, MPF_HEAP_DEVICE)) drop_memory(r, addr, entry->size, false);
    if (!is_here(r, heap, MPF_HEAP_TORCH) || entry->size < r->options->min_bytes) return;
    const struct mpr_position place = mpr_intervals_after(&r->pieces, addr);
    const struct mpr_interval *span = mpr_intervals_at(&r->pieces, place);
    report(r, (struct mpr_torch_entry){ .action = MPR_TORCH_FREE,
                                        .addr = addr,
                                        .size = entry->size,
                                        .stream = span ? stream_of(r, r->piece[span->value].capture)
                                                       : 0 });
    if (!span || span->start > addr) return;
    if (r->piece[span->value].blocks) r->piece[span->value].blocks--;
    remove_if_unused(r, place);
}

/* Captures with the id of the same pool share it. */
static void on_capture_begin(struct reading *r, const struct mpr_thread *t,
                             const struct mpf_event *e)
{
    const uint64_t id[2] = { mpr_gpu_word(e, 0), mpr_gpu_word(e, 1) };
    const uint64_t hash = mpr_hash(mpr_hash(id[0]) + id[1]);
    const bool has_id = (id[0] || id[1]) && id[0] != MPF_UNKNOWN;
    uint32_t number = has_id ? mpr_index_get(&r->pool_of, hash) : 0;
    if (!t->gpu.capture) return;
    if (!number) number = ++r->private_pools;
    if (has_id) mpr_index_set(&r->pool_of, hash, number);
    MPR_REACH(r->pool, t->gpu.capture, r->pools);
    r->pool[t->gpu.capture] = number;
}

/* Names the pool of a capture that began without one: a later capture may share it. */
static void on_capture_end(struct reading *r, const struct mpr_gpu *g, const struct mpf_event *e)
{
    const uint32_t capture = mpr_index_get(&g->captured, e->addr), number = pool_of(r, capture);
    const uint64_t id[2] = { mpr_gpu_word(e, 0), mpr_gpu_word(e, 1) };
    if (number) mpr_index_set(&r->pool_of, mpr_hash(mpr_hash(id[0]) + id[1]), number);
}

static void on_event(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct reading *r = arg;
    const struct mpr_gpu *g = &replay->gpu;
    if (r->closed) return;
    switch (e->op) {
    case MPF_OP_ALLOC: on_alloc(r, t, e); break;
    case MPF_OP_HANDLE_MAP: { /* the memory of a handle is a block at its first mapping */
        const uint64_t addr = mpr_gpu_word(e, 0);
        const struct mpr_interval *map =
            mpr_intervals_at(&g->maps, mpr_intervals_after(&g->maps, addr));
        if (!map || map->start != addr) break;
        const struct mpr_handle_object *o = &g->object[map->value];
        if (!o->imported && o->block.addr == addr) on_driver_block(r, &o->block);
        break;
    }
    case MPF_OP_ADDRESS_FREE: drop_memory(r, e->addr, e->size, true); break;
    case MPF_OP_TORCH_OOM: {
        /* free bytes: those that the driver reported when it had no more memory, plus what the
         * program freed after that */
        const struct mpr_oom *oom = &g->oom[t->gpu.torch_oom - 1];
        if (!is_here(r, e->heap, MPF_HEAP_TORCH)) break;
        const uint64_t back = mpr_saturating_sub(oom->snapshot.tracked,
                                                 mpr_gpu_tracked(replay, r->options->device)),
                       free = oom->free == MPF_UNKNOWN ? UINT64_MAX : oom->free + back;
        report(r,
               (struct mpr_torch_entry){ .action = MPR_TORCH_OOM, .addr = free, .size = e->addr });
        break;
    }
    case MPF_OP_GPU_FAIL: {
        const struct mpr_oom *oom = t->gpu.oom ? &g->oom[t->gpu.oom - 1] : NULL;
        if (!r->options->refusals || !oom || !oom->torch || oom->bytes != e->addr ||
            !is_here(r, e->heap, MPF_HEAP_DEVICE))
            break;
        report(r,
               (struct mpr_torch_entry){ .action = MPR_TORCH_REFUSAL,
                                         .addr = oom->free == MPF_UNKNOWN ? UINT64_MAX : oom->free,
                                         .size = e->addr });
        break;
    }
    case MPF_OP_TORCH_CAPTURE: on_capture_begin(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE_END: on_capture_end(r, g, e); break;
    case MPF_OP_CAPTURE_BEGIN:
        MPR_REACH(r->stream, t->gpu.capture, r->streams);
        if (t->gpu.capture) r->stream[t->gpu.capture] = e->addr;
        break;
    default: break;
    }
}

/* ---- the state at the end */

MPR_COMPARE(by_address, struct mpr_gpu_block, mpr_compare(a->addr, b->addr))

/* Consecutive pieces of an expandable segment are one segment. */
static void fill_segments(struct reading *r)
{
    struct mpr_torch_segment *s = NULL;
    const struct mpr_interval *span;
    uint32_t capture = 0;
    r->out->segment = mpr_arena_alloc(&r->out->arena, r->piece_count * sizeof *r->out->segment);
    for (struct mpr_position place = mpr_intervals_after(&r->pieces, 0);
         (span = mpr_intervals_at(&r->pieces, place));
         place = mpr_intervals_next(&r->pieces, place)) {
        const struct piece *piece = &r->piece[span->value];
        const uint64_t size = span->end - span->start;
        if (s && s->expandable && piece->expandable && s->addr + s->size == span->start &&
            capture == piece->capture) {
            s->size += size;
            continue;
        }
        capture = piece->capture;
        s = &r->out->segment[r->out->segments++];
        *s = (struct mpr_torch_segment){ .addr = span->start,
                                         .size = size,
                                         .stream = stream_of(r, capture),
                                         .stack = stack_of(r, piece->site),
                                         .expandable = piece->expandable,
                                         .small = size <= PAGE };
        if (capture)
            memcpy(s->pool, r->reader.replay.gpu.capture[capture - 1].pool, sizeof s->pool);
    }
}

/* Only damaged logs have overlapping blocks. These end where the next one begins. */
static void fill_blocks(struct reading *r)
{
    const struct mpr_gpu_blocks *all = &r->reader.replay.gpu.torch;
    struct mpr_gpu_block *live = mpr_alloc(all->live, sizeof *live);
    size_t count = 0, next = 0;
    for (uint32_t i = 0; i < all->live; i++)
        if (is_here(r, all->at[i].heap, MPF_HEAP_TORCH) && all->at[i].size >= r->options->min_bytes)
            live[count++] = all->at[i];
    qsort(live, count, sizeof *live, by_address);
    struct mpr_torch_block *block = mpr_arena_alloc(&r->out->arena, count * sizeof *block);
    for (size_t i = 0; i < r->out->segments; i++) {
        struct mpr_torch_segment *s = &r->out->segment[i];
        while (next < count && live[next].addr < s->addr) next++;
        s->block = block;
        for (; next < count && live[next].addr - s->addr < s->size; next++) {
            uint64_t size = s->addr + s->size - live[next].addr;
            if (next + 1 < count && live[next + 1].addr - live[next].addr < size)
                size = live[next + 1].addr - live[next].addr;
            if (live[next].size < size) size = live[next].size;
            *block++ =
                (struct mpr_torch_block){ live[next].addr, size, stack_of(r, live[next].site) };
            s->blocks++;
        }
    }
    free(live);
}

static void close_trace(struct reading *r)
{
    if (r->closed) return;
    flush(r);
    r->closed = true;
    fill_segments(r);
    fill_blocks(r);
}

static void on_tick(void *arg, const struct mpr_replay *replay, uint64_t time)
{
    (void)replay, (void)time;
    close_trace(arg);
}

int mpr_torch_trace_read(struct mpr_torch_state *state, struct mpr_code *code, const char *path,
                         const struct mpr_torch_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct reading r = {
        .options = options, .out = state, .code = code, .ledger = { .report = on_free, .arg = &r }
    };
    struct mpr_replay *replay = &r.reader.replay;
    *state = (struct mpr_torch_state){ .segments = 0 };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    replay->options.without_malloc = true;
    mpr_watch_begin(replay, (struct mpr_watch){ on_event, &r });
    replay->ledger = &r.ledger;
    if (options->until_ns < UINT64_MAX - 1)
        mpr_clock_begin(replay, &(struct mpr_clock){ .tick = on_tick,
                                                     .arg = &r,
                                                     .every = UINT64_MAX / 2,
                                                     .next = options->until_ns + 1 });
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        close_trace(&r);
        mpr_reader_close(&r.reader);
    } else mpr_torch_state_free(state);
    mpr_live_index_free(&r.ledger.live);
    mpr_intervals_free(&r.pieces);
    free(r.piece);
    free(r.stream);
    free(r.pool);
    mpr_index_free(&r.pool_of);
    return status;
}
