/* A watch sees what comes, after replay has taken it; the ledger tells what goes, while replay
 * does: so the order is that of the log.  What the driver does piece by piece in a row is one
 * entry, as PyTorch asks for it. */
#include "torch_trace.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "chosen.h"
#include "gpu_book.h"
#include "gpu_peaks.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "reader.h"
#include "repeats.h"
#include "torch_pieces.h"
#include "walk.h"

/* ---- what there is */

static bool has_torch(const struct mpr_replay *r, unsigned device)
{
    return r->books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].allocations != 0;
}

static bool is_profiler_step(const struct mpr_ranges *ranges, const struct mpr_node *n)
{
    static const char name[] = "ProfilerStep#";
    size_t bytes;
    const char *told = mpr_texts_get(&ranges->names, n->name, &bytes),
               *domain = mpr_ranges_domain(ranges, n->domain);
    return told && bytes >= sizeof name - 1 && memcmp(told, name, sizeof name - 1) == 0 &&
           (!*domain || strcmp(domain, "torch") == 0);
}

static bool has_profiler_steps(const struct mpr_ranges *ranges)
{
    for (uint32_t i = 1; i < ranges->nodes; i++)
        if (is_profiler_step(ranges, &ranges->node[i])) return true;
    return false;
}

int mpr_torch_survey(struct mpr_torch_survey *survey, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    *survey = (struct mpr_torch_survey){ .devices = 0 };
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.replay.options.without_malloc = true;
    reader.repeats = mpr_repeats_new();
    mpr_repeats_watch(reader.repeats, &reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    mpr_reader_summary(&reader, path, &survey->arena, &survey->summary);
    if (!has_profiler_steps(&reader.replay.ranges))
        survey->step = mpr_repeats_outermost_name(reader.repeats, &survey->arena);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (has_torch(&reader.replay, i)) survey->devices = i + 1;
    mpr_reader_close(&reader);
    return 0;
}

void mpr_torch_survey_free(struct mpr_torch_survey *survey) { mpr_arena_free(&survey->arena); }

void mpr_torch_state_free(struct mpr_torch_state *state) { mpr_arena_free(&state->arena); }

/* ---- a reading */

struct reading {
    struct mpr_reader reader;
    const struct mpr_torch_options *options;
    struct mpr_torch_state *out;
    struct mpr_code *code;
    struct mpr_ledger ledger;
    struct mpr_torch_pieces pieces;
    uint64_t *stream; /* by capture */
    uint32_t streams;
    struct mpr_torch_entry newest; /* size 0: none is kept back */
    bool closed;                   /* until_ns has passed */
};

static void flush(struct reading *r)
{
    if (r->newest.size) r->options->tell(r->options->arg, &r->newest);
    r->newest.size = 0;
}

static bool continues(const struct mpr_torch_entry *e, const struct mpr_torch_entry *next)
{
    return (e->action == MPR_TORCH_SEGMENT_MAP || e->action == MPR_TORCH_SEGMENT_UNMAP) &&
           e->size && next->action == e->action && next->addr == e->addr + e->size &&
           next->stack == e->stack && next->stream == e->stream;
}

static void tell(struct reading *r, struct mpr_torch_entry entry)
{
    entry.time_ns = r->reader.replay.now;
    if (entry.time_ns < r->options->from_ns) return;
    if (continues(&r->newest, &entry)) {
        r->newest.size += entry.size;
        return;
    }
    flush(r);
    r->newest = entry;
}

static uint32_t stack_of(struct reading *r, uint32_t site)
{
    return mpr_code_of_site(r->code, &r->reader, mpr_sites_of(&r->reader.replay.sites, site));
}

static uint64_t stream_of(const struct reading *r, uint32_t capture)
{
    return capture < r->streams ? r->stream[capture] : 0;
}

/* ---- segments */

static void piece_comes(void *arg, uint64_t addr, uint64_t size,
                        const struct mpr_torch_piece *piece)
{
    struct reading *r = arg;
    tell(r, (struct mpr_torch_entry){ .action = piece->expandable ? MPR_TORCH_SEGMENT_MAP
                                                                  : MPR_TORCH_SEGMENT_ALLOC,
                                      .addr = addr,
                                      .size = size,
                                      .stream = stream_of(r, piece->capture),
                                      .stack = stack_of(r, piece->site) });
}

static void piece_goes(void *arg, uint64_t addr, uint64_t size, const struct mpr_torch_piece *piece)
{
    struct reading *r = arg;
    tell(r, (struct mpr_torch_entry){ .action = piece->expandable ? MPR_TORCH_SEGMENT_UNMAP
                                                                  : MPR_TORCH_SEGMENT_FREE,
                                      .addr = addr,
                                      .size = size,
                                      .stream = stream_of(r, piece->capture) });
}

static bool is_here(const struct reading *r, uint8_t heap, unsigned code)
{
    return mpf_heap_is_gpu(heap) && mpf_heap_code(heap) == code &&
           mpf_heap_device(heap) == r->options->device;
}

static void on_driver_block(struct reading *r, const struct mpr_gpu_block *b)
{
    if (!b || !b->segment || !is_here(r, b->heap, MPF_HEAP_DEVICE)) return;
    const bool expands = b->handle && mpr_walk_expands(&r->reader.replay.sites, b->library);
    mpr_torch_pieces_add(&r->pieces, b->addr, b->size,
                         &(struct mpr_torch_piece){ .site = b->site,
                                                    .capture = b->capture,
                                                    .expandable = expands,
                                                    .sleeps = b->handle && !expands });
}

/* Memory with a handle is a block where it is mapped first. */
static void on_map(struct reading *r, uint64_t addr)
{
    const struct mpr_gpu *g = &r->reader.replay.gpu;
    const struct mpr_interval *map =
        mpr_intervals_at(&g->maps, mpr_intervals_after(&g->maps, addr));
    if (!map || map->start != addr) return;
    const struct mpr_object *o = &g->object[map->what];
    if (!o->imported && o->block.addr == addr) on_driver_block(r, &o->block);
}

/* ---- blocks */

static void on_torch_block(struct reading *r, const struct mpr_gpu_block *b)
{
    if (!b || b->size < r->options->min_bytes || !is_here(r, b->heap, MPF_HEAP_TORCH)) return;
    mpr_torch_pieces_hold(&r->pieces, b->addr, b->size);
    tell(r, (struct mpr_torch_entry){ .action = MPR_TORCH_ALLOC,
                                      .addr = b->addr,
                                      .size = b->size,
                                      .stream = stream_of(r, b->capture),
                                      .stack = stack_of(r, b->site) });
}

static void on_alloc(struct reading *r, const struct mpf_event *e)
{
    const struct mpr_gpu *g = &r->reader.replay.gpu;
    if (is_here(r, e->heap, MPF_HEAP_TORCH))
        on_torch_block(r, mpr_gpu_blocks_find(&g->torch, e->addr));
    else on_driver_block(r, mpr_gpu_blocks_find(&g->driver, e->addr));
}

static uint64_t stream_at(const struct reading *r, uint64_t addr)
{
    const struct mpr_interval *span =
        mpr_intervals_at(&r->pieces.at, mpr_intervals_after(&r->pieces.at, addr));
    return span ? stream_of(r, r->pieces.piece[span->what].capture) : 0;
}

/* What goes, of any heap. */
static void on_gone(void *arg, const struct mpr_ledger_entry *entry)
{
    struct reading *r = arg;
    const uint64_t addr = entry->key >> 8;
    if (r->closed) return;
    if (is_here(r, (uint8_t)entry->key, MPF_HEAP_DEVICE))
        mpr_torch_pieces_drop(&r->pieces, addr, entry->size);
    if (!is_here(r, (uint8_t)entry->key, MPF_HEAP_TORCH) || entry->size < r->options->min_bytes)
        return;
    tell(r, (struct mpr_torch_entry){ .action = MPR_TORCH_FREE,
                                      .addr = addr,
                                      .size = entry->size,
                                      .stream = stream_at(r, addr) });
    mpr_torch_pieces_leave(&r->pieces, addr);
}

/* What the driver said when it refused, and what has been given back since: of a segment that
 * expands the pieces that were there. */
static uint64_t free_at(const struct reading *r, const struct mpr_oom *o)
{
    const uint64_t tracked = mpr_gpu_tracked(&r->reader.replay, r->options->device);
    return o->free == MPF_UNKNOWN ? UINT64_MAX : o->free + mpr_less(o->picture.tracked, tracked);
}

static void on_oom(struct reading *r, const struct mpr_thread *t, const struct mpf_event *e)
{
    const struct mpr_oom *told = &r->reader.replay.gpu.oom[t->gpu.torch_oom - 1];
    if (!is_here(r, e->heap, MPF_HEAP_TORCH)) return;
    tell(r, (struct mpr_torch_entry){
                .action = MPR_TORCH_OOM, .addr = free_at(r, told), .size = e->addr });
}

/* ---- events */

static void on_capture(struct reading *r, const struct mpr_thread *t, const struct mpf_event *e)
{
    const uint32_t capture = t->gpu.capture;
    MPR_REACH(r->stream, capture, r->streams);
    if (capture) r->stream[capture] = e->addr;
}

static void see(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct reading *r = arg;
    (void)replay;
    if (r->closed) return;
    switch (e->op) {
    case MPF_OP_ALLOC: on_alloc(r, e); break;
    case MPF_OP_HANDLE_MAP: on_map(r, mpr_gpu_word(e, 0)); break;
    case MPF_OP_ADDRESS_FREE: mpr_torch_pieces_forget(&r->pieces, e->addr, e->size); break;
    case MPF_OP_TORCH_OOM: on_oom(r, t, e); break;
    case MPF_OP_CAPTURE_BEGIN: on_capture(r, t, e); break;
    default: break;
    }
}

/* ---- the state at the end */

static int by_address(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The live blocks by address; of the caller. */
static struct mpr_gpu_block *live_blocks(const struct reading *r, size_t *count)
{
    const struct mpr_gpu_blocks *all = &r->reader.replay.gpu.torch;
    struct mpr_gpu_block *block = mpr_alloc(all->live, sizeof *block);
    *count = 0;
    for (uint32_t i = 0; i < all->live; i++)
        if (is_here(r, all->at[i].heap, MPF_HEAP_TORCH) && all->at[i].size >= r->options->min_bytes)
            block[(*count)++] = all->at[i];
    qsort(block, *count, sizeof *block, by_address);
    return block;
}

/* PyTorch asks for 2 MiB at a time for such, and for more for others. */
#define SMALL (UINT64_C(2) << 20)

static void begin_segment(struct reading *r, const struct mpr_interval *span)
{
    const struct mpr_torch_piece *piece = &r->pieces.piece[span->what];
    struct mpr_torch_segment *s = &r->out->segment[r->out->segments++];
    *s = (struct mpr_torch_segment){ .addr = span->start,
                                     .size = span->end - span->start,
                                     .stream = stream_of(r, piece->capture),
                                     .stack = stack_of(r, piece->site),
                                     .expandable = piece->expandable,
                                     .small = span->end - span->start <= SMALL };
    if (piece->capture)
        memcpy(s->pool, r->reader.replay.gpu.capture[piece->capture - 1].pool, sizeof s->pool);
}

/* Pieces of an expandable segment that follow each other are one. */
static void fill_segments(struct reading *r)
{
    struct mpr_torch_segment *s = NULL;
    const struct mpr_interval *span;
    uint32_t capture = 0;
    r->out->segment = mpr_arena_alloc(&r->out->arena, r->pieces.pieces * sizeof *r->out->segment);
    for (struct mpr_position place = mpr_intervals_after(&r->pieces.at, 0);
         (span = mpr_intervals_at(&r->pieces.at, place));
         place = mpr_intervals_next(&r->pieces.at, place)) {
        const struct mpr_torch_piece *piece = &r->pieces.piece[span->what];
        if (s && s->expandable && piece->expandable && s->addr + s->size == span->start &&
            capture == piece->capture)
            s->size += span->end - span->start;
        else begin_segment(r, span);
        s = &r->out->segment[r->out->segments - 1];
        capture = piece->capture;
    }
}

/* Blocks that overlap, as only a damaged log has them, end where the next one begins. */
static void fill_blocks(struct reading *r)
{
    size_t count, next = 0;
    struct mpr_gpu_block *live = live_blocks(r, &count);
    struct mpr_torch_block *block = mpr_arena_alloc(&r->out->arena, count * sizeof *block);
    for (size_t i = 0; i < r->out->segments; i++) {
        struct mpr_torch_segment *s = &r->out->segment[i];
        while (next < count && live[next].addr < s->addr) next++;
        s->block = block;
        for (; next < count && live[next].addr - s->addr < s->size; next++) {
            uint64_t most = s->addr + s->size - live[next].addr;
            if (next + 1 < count && live[next + 1].addr - live[next].addr < most)
                most = live[next + 1].addr - live[next].addr;
            const uint64_t size = live[next].size < most ? live[next].size : most;
            *block++ =
                (struct mpr_torch_block){ live[next].addr, size, stack_of(r, live[next].site) };
            s->blocks++;
        }
    }
    free(live);
}

static void close_trace(struct reading *r)
{
    flush(r);
    r->closed = true;
    fill_segments(r);
    fill_blocks(r);
}

/* ---- reading */

/* Before the first event behind until_ns. */
static void tick(void *arg, const struct mpr_replay *replay, uint64_t time)
{
    struct reading *r = arg;
    (void)replay, (void)time;
    if (!r->closed) close_trace(r);
}

static void begin(struct reading *r)
{
    struct mpr_replay *replay = &r->reader.replay;
    replay->options.without_malloc = true;
    replay->watch = (struct mpr_watch){ see, r };
    replay->ledger = &r->ledger;
    r->ledger = (struct mpr_ledger){ .tell = on_gone, .arg = r };
    r->pieces = (struct mpr_torch_pieces){ .comes = piece_comes, .goes = piece_goes, .arg = r };
    if (r->options->until_ns < UINT64_MAX - 1)
        mpr_clock_begin(replay, &(struct mpr_clock){ .tick = tick,
                                                     .arg = r,
                                                     .every = UINT64_MAX / 2,
                                                     .next = r->options->until_ns + 1 });
}

static void end(struct reading *r)
{
    mpr_ledger_free(&r->ledger);
    mpr_torch_pieces_free(&r->pieces);
    free(r->stream);
}

int mpr_torch_trace_read(struct mpr_torch_state *state, struct mpr_code *code, const char *path,
                         const struct mpr_torch_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct reading r = { .options = options, .out = state, .code = code };
    *state = (struct mpr_torch_state){ .segments = 0 };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    begin(&r);
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        if (!r.closed) close_trace(&r);
        mpr_reader_close(&r.reader);
    } else mpr_torch_state_free(state);
    end(&r);
    return status;
}
