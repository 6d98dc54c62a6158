#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "gpu_peaks.h"
#include "growth.h"
#include "held.h"
#include "labels.h"
#include "mpf/sample.h"
#include "picture.h"
#include "reader.h"
#include "repeats.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPAN_NS   (60 * SECOND_NS)
/* Earlier looks: as many as tell of the span, apart by a part of it, which it may be wrong by */
enum { PASTS = 8, THREADS = 4 };
#define APART_NS (SPAN_NS / (PASTS - 2))

/* What an earlier look saw. */
struct past {
    uint64_t time;
    uint64_t heap[MPR_HEAPS]; /* bytes */
    uint64_t *cell;           /* bytes */
    uint32_t cells;
};

struct mpr_live {
    struct mpr_live_options options;
    char *path;
    struct mpr_reader reader;
    struct mpr_choice choice;
    bool chosen;
    struct mpr_arena names;
    struct mpr_path *of_cell, *of_node; /* they last as long as the process is followed */
    uint32_t cells, nodes;
    struct past past[PASTS]; /* oldest first */
    size_t pasts;
    struct timespec looked;
    uint64_t events, allocations[MPR_HEAPS]; /* when it was looked at last; events UINT64_MAX: never
                                              */
    struct mpr_arena arena;                  /* of the look */
    struct mpr_live_look look;
};

/* ---- reading */

static int start(struct mpr_live *l, enum mpr_group by, struct mpr_error *error)
{
    if (mpr_reader_follow(&l->reader, l->path, by, error) != 0) return -1;
    l->reader.repeats = mpr_repeats_new();
    mpr_repeats_watch(l->reader.repeats, &l->reader.replay);
    return 0;
}

int mpr_live_open(struct mpr_live **out, const char *path, const struct mpr_live_options *options,
                  struct mpr_error *error)
{
    struct mpr_live *l = mpr_alloc(1, sizeof *l);
    *l =
        (struct mpr_live){ .options = *options, .path = mpr_text_copy(path), .events = UINT64_MAX };
    l->choice = (struct mpr_choice){ .by = options->by, .source = "" };
    if (start(l, options->by, error) == 0) {
        *out = l;
        return 0;
    }
    free(l->path);
    free(l);
    return -1;
}

static void forget(struct mpr_live *l)
{
    for (size_t i = 0; i < l->pasts; i++) free(l->past[i].cell);
    free(l->of_cell);
    free(l->of_node);
    mpr_arena_free(&l->names);
    l->pasts = l->cells = l->nodes = 0;
    l->of_cell = l->of_node = NULL;
    l->events = UINT64_MAX;
}

void mpr_live_close(struct mpr_live *l)
{
    if (!l) return;
    forget(l);
    mpr_reader_close(&l->reader);
    mpr_arena_free(&l->arena);
    free(l->path);
    free(l);
}

bool mpr_live_runs(const struct mpr_live *l)
{
    return mpr_log_status(l->reader.log)->process.life != MPR_LIFE_ENDED;
}

/* From the beginning: by other names, or of another file. */
static int again(struct mpr_live *l, enum mpr_group by, const struct mpr_progress *progress,
                 struct mpr_error *error)
{
    struct mpr_reader old = l->reader;
    if (start(l, by, error) != 0) {
        l->reader = old;
        return -1;
    }
    mpr_reader_close(&old);
    forget(l);
    return mpr_reader_read(&l->reader, l->path, progress, error);
}

/* What AUTO stands for is known once something was read, and stays that. */
static int choose(struct mpr_live *l, const struct mpr_progress *progress, struct mpr_error *error)
{
    if (l->chosen || l->options.by != MPR_GROUP_AUTO || !l->reader.replay.now) return 0;
    l->choice = mpr_choose(&l->reader);
    l->chosen = true;
    const bool known = l->choice.by == MPR_GROUP_AUTO || l->choice.by == MPR_GROUP_RANGE;
    return known ? 0 : again(l, l->choice.by, progress, error);
}

int mpr_live_read(struct mpr_live *l, const struct mpr_progress *progress, struct mpr_error *error)
{
    const int more = mpr_log_more(l->reader.log, error);
    if (more < 0) return -1;
    if (more == MPR_LOG_REPLACED) return again(l, l->choice.by, progress, error);
    if (mpr_reader_read(&l->reader, l->path, progress, error) != 0) return -1;
    return choose(l, progress, error);
}

/* ---- the past */

static const struct past *base_of(const struct mpr_live *l, uint64_t now)
{
    for (size_t i = 0; i < l->pasts; i++)
        if (now - l->past[i].time <= SPAN_NS + APART_NS) return &l->past[i];
    return NULL;
}

static void remember_heap(struct past *p, const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_held *held = mpr_held_heap(r, heap);
    p->heap[heap] = r->books.heap[heap].bytes;
    for (uint32_t i = 0; i < p->cells; i++)
        if (r->books.cell[i].heap == heap) p->cell[i] = held[i].now;
    free(held);
}

static void remember(struct mpr_live *l)
{
    const struct mpr_books *books = &l->reader.replay.books;
    const uint64_t now = l->look.now_ns;
    if (l->pasts && now - l->past[l->pasts - 1].time < APART_NS) return;
    if (l->pasts == PASTS) {
        free(l->past[0].cell);
        memmove(&l->past[0], &l->past[1], (PASTS - 1) * sizeof *l->past);
        l->pasts--;
    }
    struct past *p = &l->past[l->pasts++];
    *p = (struct past){ .time = now,
                        .cell = mpr_alloc(books->cells, sizeof *p->cell),
                        .cells = books->cells };
    for (int i = 0; i < MPR_HEAPS; i++)
        if (books->heap[i].used) remember_heap(p, &l->reader.replay, (uint8_t)i);
}

/* ---- who owns */

static struct mpr_path path_of_cell(struct mpr_live *l, uint32_t cell)
{
    MPR_REACH(l->of_cell, cell, l->cells);
    struct mpr_path *path = &l->of_cell[cell];
    if (!path->frame)
        *path = mpr_label_path(&l->names, &l->reader, &l->reader.replay.books.cell[cell]);
    return *path;
}

static struct mpr_path path_of_node(struct mpr_live *l, uint32_t node)
{
    MPR_REACH(l->of_node, node, l->nodes);
    struct mpr_path *path = &l->of_node[node];
    if (!path->frame) *path = mpr_label_node(&l->names, &l->reader, node);
    return *path;
}

static int by_bytes(const void *left, const void *right)
{
    const int order = mpr_row_by(left, right, MPR_ORDER_BYTES);
    return order ? order : mpr_row_by_path(left, right);
}

static void fill_rows(struct mpr_live *l, uint8_t heap, const struct mpr_held *held)
{
    const struct mpr_replay *r = &l->reader.replay;
    struct mpr_live_look *look = &l->look;
    const bool weighs = heap == MPF_HEAP_PYTHON || mpr_replay_weighs(r, heap);
    look->row = mpr_arena_alloc(&l->arena, r->books.cells * sizeof *look->row);
    for (uint32_t i = 0; i < r->books.cells; i++) {
        if (r->books.cell[i].heap != heap || !held[i].now) continue;
        look->row[look->rows++] =
            (struct mpr_row){ .path = path_of_cell(l, i),
                              .bytes = held[i].now,
                              .blocks = held[i].now_blocks,
                              .estimated =
                                  (weighs && held[i].estimated) ||
                                  mpr_totals_is(&r->totals, &r->books, &r->books.cell[i]) };
    }
    qsort(look->row, look->rows, sizeof *look->row, by_bytes);
}

static void fill_growth(struct mpr_live *l, uint8_t heap, const struct mpr_held *held,
                        const struct past *base)
{
    const struct mpr_replay *r = &l->reader.replay;
    struct mpr_growth_builder b;
    if (!base || base->time == l->look.now_ns) return;
    mpr_growth_begin(&b, &l->arena, r->books.cells);
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const uint64_t before = i < base->cells ? base->cell[i] : 0;
        if (r->books.cell[i].heap != heap || before == held[i].now) continue;
        mpr_growth_add(&b, path_of_cell(l, i), before, held[i].now, held[i].estimated);
    }
    l->look.growth = (struct mpr_growth){ .valid = true,
                                          .time = base->time,
                                          .before = base->heap[heap],
                                          .after = r->books.heap[heap].bytes };
    mpr_growth_end(&b, &l->look.growth);
}

/* ---- heaps */

static uint64_t a_second(uint64_t count, uint64_t ns)
{
    return ns ? (uint64_t)((double)count * (double)SECOND_NS / (double)ns) : 0;
}

static int by_live(const void *left, const void *right)
{
    const struct mpr_live_heap *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

static struct mpr_live_heap heap_of(struct mpr_live *l, uint8_t code, const struct past *base,
                                    uint64_t passed_ns)
{
    const struct mpr_heap *h = &l->reader.replay.books.heap[code];
    const bool first = l->events == UINT64_MAX;
    return (struct mpr_live_heap){
        .heap = code,
        .inside = mpr_heap_around(code),
        .bytes = h->bytes,
        .blocks = h->blocks,
        .peak_bytes = h->peak_bytes,
        .peak_time = h->peak_time,
        .allocations =
            first ? MPF_UNKNOWN : a_second(h->allocations - l->allocations[code], passed_ns),
        .grew = base ? mpr_minus(mpr_amount(h->bytes), mpr_amount(base->heap[code])) : 0,
        .estimated = code == MPF_HEAP_PYTHON,
    };
}

static void add_up(struct mpr_live_look *look, uint8_t code, const struct mpr_live_heap *h)
{
    if (mpf_heap_is_host(code) && !h->inside) {
        look->host_bytes += h->bytes;
        look->host_grew = mpr_plus(look->host_grew, h->grew);
    }
    if (mpf_heap_is_gpu(code) && mpf_heap_code(code) == MPF_HEAP_DEVICE)
        look->gpu_bytes += h->bytes;
}

static void fill_heaps(struct mpr_live *l, const struct past *base, uint64_t passed_ns)
{
    const struct mpr_books *books = &l->reader.replay.books;
    struct mpr_live_look *look = &l->look;
    look->heap = mpr_arena_alloc(&l->arena, MPR_HEAPS * sizeof *look->heap);
    for (int i = 0; i < MPR_HEAPS; i++) {
        if (!books->heap[i].used) continue;
        look->heap[look->heaps] = heap_of(l, (uint8_t)i, base, passed_ns);
        add_up(look, (uint8_t)i, &look->heap[look->heaps++]);
        l->allocations[i] = books->heap[i].allocations;
    }
    qsort(look->heap, look->heaps, sizeof *look->heap, by_live);
}

/* The one that was asked for, or the largest one: PyTorch's blocks rather than their segments. */
static uint8_t heap_shown(const struct mpr_live *l)
{
    const struct mpr_books *books = &l->reader.replay.books;
    if (l->options.heap) return l->options.heap;
    uint8_t most = MPF_HEAP_HOST;
    for (int i = 0; i < MPR_HEAPS; i++)
        if (books->heap[i].bytes > books->heap[most].bytes && !mpr_heap_around((uint8_t)i) &&
            !mpr_label_is_nested((uint8_t)i))
            most = (uint8_t)i;
    if (!mpf_heap_is_gpu(most)) return most;
    const uint8_t torch = mpf_heap_gpu(MPF_HEAP_TORCH, mpf_heap_device(most));
    return books->heap[torch].bytes ? torch : most;
}

/* ---- devices */

static void fill_device(struct mpr_live *l, unsigned index, struct mpr_device *out)
{
    const struct mpr_replay *r = &l->reader.replay;
    struct mpr_picture picture = { 0 };
    *out =
        (struct mpr_device){ .index = index,
                             .name = mpr_arena_text(&l->arena, r->gpu.device[index].name),
                             .uuid = mpr_arena_text(&l->arena, r->gpu.device[index].uuid),
                             .off = mpr_arena_text(&l->arena, r->gpu.device[index].off),
                             .used_off = mpr_arena_text(&l->arena, r->gpu.device[index].used_off),
                             .shared = r->gpu.device[index].shared };
    mpr_picture_take(&picture, r, index, r->now);
    mpr_composition_account(&out->peak, &l->arena, &l->reader, &picture);
    mpr_picture_free(&picture);
}

static void fill_devices(struct mpr_live *l)
{
    struct mpr_live_look *look = &l->look;
    look->device = mpr_arena_alloc(&l->arena, MPF_GPUS * sizeof *look->device);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (mpr_gpu_is_there(&l->reader.replay, i))
            fill_device(l, i, &look->device[look->devices++]);
}

/* ---- ranges */

static void fill_step(struct mpr_live *l)
{
    const struct mpr_repeats *s = l->reader.repeats;
    const uint32_t outermost = mpr_repeats_outermost(s);
    struct mpr_live_step *step = &l->look.step;
    *step = (struct mpr_live_step){ .range = "", .open_ns = MPF_UNKNOWN };
    if (!outermost) return;
    const struct mpr_repeat *repeat = &s->repeat[outermost];
    step->range = mpr_repeats_name(s, &l->arena, outermost);
    step->instances = repeat->instances;
    for (size_t i = 0; i < s->follow.count; i++)
        if (s->follow.open[i].what == outermost)
            step->open_ns = mpr_less(l->look.now_ns, s->follow.open[i].begin_ns);
    const uint64_t ended = repeat->in_turn - (repeat->newest != 0); /* of those in a row */
    step->each_ns = repeat->in_turn && ended ? repeat->covered_ns / ended : 0;
}

static void fill_threads(struct mpr_live *l)
{
    const struct mpr_replay *r = &l->reader.replay;
    struct mpr_live_look *look = &l->look;
    look->thread = mpr_arena_alloc(&l->arena, THREADS * sizeof *look->thread);
    for (uint32_t i = 0; i < r->threads.count; i++) {
        const struct mpr_thread *t = r->threads.at[i];
        if (!t || t->ended || !t->node) continue;
        if (look->threads == THREADS) {
            look->more_threads++;
            continue;
        }
        look->thread[look->threads++] =
            (struct mpr_live_thread){ .name = mpr_label_thread(&l->arena, r, i),
                                      .path = path_of_node(l, t->node) };
    }
}

/* ---- a look */

static uint64_t passed(struct mpr_live *l)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t ns =
        (now.tv_sec - l->looked.tv_sec) * (int64_t)SECOND_NS + (now.tv_nsec - l->looked.tv_nsec);
    l->looked = now;
    return ns > 0 ? (uint64_t)ns : 0;
}

static void fill_owners(struct mpr_live *l, const struct past *base)
{
    const struct mpr_books *books = &l->reader.replay.books;
    const uint8_t shown = heap_shown(l);
    struct mpr_held *held = mpr_held_heap(&l->reader.replay, shown);
    l->look.shown = books->heap[shown].used ? shown : MPF_HEAP_NONE;
    l->look.whole = books->heap[shown].bytes;
    fill_rows(l, shown, held);
    fill_growth(l, shown, held, base);
    remember(l);
    free(held);
}

const struct mpr_live_look *mpr_live_look(struct mpr_live *l)
{
    const struct mpr_log_status *status = mpr_log_status(l->reader.log);
    const uint64_t ns = passed(l);
    const bool first = l->events == UINT64_MAX;
    struct mpr_live_look *look = &l->look;
    mpr_arena_free(&l->arena);
    l->arena = (struct mpr_arena){ 0 };
    *look = (struct mpr_live_look){
        .choice = l->choice,
        .now_ns = status->end_ns > status->last_ns ? status->end_ns : status->last_ns,
        .events_a_second = first ? MPF_UNKNOWN : a_second(status->events - l->events, ns)
    };
    mpr_reader_summary(&l->reader, l->path, &l->arena, &look->summary);
    look->summary.duration_ns = look->now_ns;
    if (mpr_live_runs(l)) /* what is to come is not missing */
        look->summary.incomplete =
            status->damaged || status->missing_frames || look->summary.lost_events;
    look->rss = mpr_reading_of(&l->reader.replay.samples.source[MPR_SOURCE_RSS].now);
    const struct past *base = base_of(l, look->now_ns);
    look->span_ns = base ? look->now_ns - base->time : 0;
    fill_heaps(l, base, ns);
    fill_owners(l, base);
    fill_devices(l);
    fill_step(l);
    fill_threads(l);
    l->events = status->events;
    return look;
}
