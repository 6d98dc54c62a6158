#include "top.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "amount.h"
#include "cell_totals.h"
#include "device.h"
#include "error.h"
#include "gpu.h"
#include "growth.h"
#include "heap_names.h"
#include "labels.h"
#include "mpf/sample.h"
#include "reader.h"
#include "repeats.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPAN_NS   (60 * SECOND_NS)
/* Earlier looks that are kept: enough for the span, which may be too long by the time between two
 */
enum { PASTS = 8, THREADS = 4 };
#define APART_NS (SPAN_NS / (PASTS - 2))

/* The bytes at an earlier look. */
struct past {
    uint64_t time;
    uint64_t heap[MPR_HEAPS];
    uint64_t *cell;
    uint32_t cells;
};

/* A process that is followed. */
struct mpr_live {
    struct mpr_live_options options;
    const char *path; /* of its struct mpr_top_log */
    struct mpr_reader reader;
    struct mpr_choice choice;
    bool chosen;
    struct mpr_arena names;
    struct mpr_path *of_cell, *of_node; /* in `names`, as long as the process is followed */
    uint32_t cells, nodes;
    struct past past[PASTS]; /* oldest first */
    size_t pasts;
    struct timespec looked;
    uint64_t events, allocations[MPR_HEAPS]; /* at the last look; events: UINT64_MAX before it */
    struct mpr_arena arena;                  /* of the look */
    struct mpr_live_look look;
};

/* ---- reading */

static int start(struct mpr_live *l, enum mpr_group by, struct mpr_error *error)
{
    if (mpr_reader_follow(&l->reader, l->path, by, error) != 0) return -1;
    l->reader.repeats = mpr_repeats_watch(&l->reader.replay);
    return 0;
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

static void close_log(struct mpr_live *l)
{
    if (!l) return;
    forget(l);
    mpr_reader_close(&l->reader);
    mpr_arena_free(&l->arena);
    free(l);
}

/* Returns true if the log may still grow. */
static bool is_running(const struct mpr_live *l)
{
    return mpr_log_status(l->reader.log)->process.life != MPR_LIFE_ENDED;
}

/* Reads the log from its beginning: by other names, or because the file was replaced. */
static int restart(struct mpr_live *l, enum mpr_group by, const struct mpr_progress *progress,
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

/* Reads the events since the last look.  The grouping for AUTO is decided after the first events.
 * Returns -1 with *error filled if the log cannot be read on. */
static int read_on(struct mpr_live *l, const struct mpr_progress *progress, struct mpr_error *error)
{
    const int more = mpr_log_more(l->reader.log, error);
    if (more < 0) return -1;
    if (more == MPR_LOG_REPLACED) return restart(l, l->choice.by, progress, error);
    if (mpr_reader_read(&l->reader, l->path, progress, error) != 0) return -1;
    if (l->chosen || l->options.by != MPR_GROUP_AUTO || !l->reader.replay.now) return 0;
    l->choice = mpr_choose(&l->reader);
    l->chosen = true;
    if (l->choice.by == MPR_GROUP_AUTO || l->choice.by == MPR_GROUP_RANGE) return 0;
    return restart(l, l->choice.by, progress, error);
}

/* ---- earlier looks */

static void remember(struct mpr_live *l)
{
    const struct mpr_replay *r = &l->reader.replay;
    const struct mpr_accounts *accounts = &r->accounts;
    const uint64_t now = l->look.now_ns;
    if (l->pasts && now - l->past[l->pasts - 1].time < APART_NS) return;
    if (l->pasts == PASTS) {
        free(l->past[0].cell);
        memmove(&l->past[0], &l->past[1], (PASTS - 1) * sizeof *l->past);
        l->pasts--;
    }
    struct past *p = &l->past[l->pasts++];
    *p = (struct past){ .time = now,
                        .cell = mpr_alloc(accounts->cells, sizeof *p->cell),
                        .cells = accounts->cells };
    for (int heap = 0; heap < MPR_HEAPS; heap++) {
        if (!accounts->heap[heap].used) continue;
        struct mpr_cell_totals *held = mpr_cell_totals_heap(r, (uint8_t)heap);
        p->heap[heap] = accounts->heap[heap].bytes;
        for (uint32_t i = 0; i < p->cells; i++)
            if (accounts->cell[i].heap == heap) p->cell[i] = held[i].end_bytes;
        free(held);
    }
}

/* ---- owners */

static struct mpr_path path_of_cell(struct mpr_live *l, uint32_t cell)
{
    MPR_REACH(l->of_cell, cell, l->cells);
    struct mpr_path *path = &l->of_cell[cell];
    if (!path->frame)
        *path = mpr_label_path(&l->names, &l->reader, &l->reader.replay.accounts.cell[cell]);
    return *path;
}

MPR_COMPARE(by_bytes, struct mpr_row, mpr_row_by(a, b, MPR_ORDER_BYTES) ?: mpr_row_by_path(a, b))

/* Returns the requested heap, or the largest one: PyTorch's blocks rather than their segments. */
static uint8_t heap_shown(const struct mpr_live *l)
{
    const struct mpr_accounts *accounts = &l->reader.replay.accounts;
    uint8_t largest = MPF_HEAP_HOST;
    if (l->options.heap) return l->options.heap;
    for (int i = 0; i < MPR_HEAPS; i++)
        if (accounts->heap[i].bytes > accounts->heap[largest].bytes &&
            !mpr_heap_around((uint8_t)i) && !mpr_label_is_nested((uint8_t)i))
            largest = (uint8_t)i;
    if (!mpf_heap_is_gpu(largest)) return largest;
    const uint8_t torch = mpf_heap_gpu(MPF_HEAP_TORCH, mpf_heap_device(largest));
    return accounts->heap[torch].bytes ? torch : largest;
}

static void fill_owners(struct mpr_live *l, const struct past *base)
{
    const struct mpr_replay *r = &l->reader.replay;
    const struct mpr_accounts *accounts = &r->accounts;
    const uint8_t shown = heap_shown(l);
    const bool weighs = shown == MPF_HEAP_PYTHON || mpr_replay_extrapolates(r, shown);
    struct mpr_cell_totals *held = mpr_cell_totals_heap(r, shown);
    struct mpr_live_look *look = &l->look;
    look->shown = accounts->heap[shown].used ? shown : MPF_HEAP_NONE;
    look->whole = accounts->heap[shown].bytes;
    look->row = mpr_arena_alloc(&l->arena, accounts->cells * sizeof *look->row);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        if (cell->heap != shown || !held[i].end_bytes) continue;
        look->row[look->rows++] =
            (struct mpr_row){ .path = path_of_cell(l, i),
                              .bytes = held[i].end_bytes,
                              .blocks = held[i].end_blocks,
                              .estimated = (weighs && held[i].estimated) ||
                                           mpr_counted_totals_is(&r->totals, accounts, cell) };
    }
    qsort(look->row, look->rows, sizeof *look->row, by_bytes);
    if (base && base->time != look->now_ns) {
        struct mpr_growth *growth = &look->growth;
        *growth = (struct mpr_growth){
            .valid = true, .time = base->time, .before = base->heap[shown], .after = look->whole
        };
        growth->row = mpr_arena_alloc(&l->arena, accounts->cells * sizeof *growth->row);
        for (uint32_t i = 0; i < accounts->cells; i++) {
            const uint64_t before = i < base->cells ? base->cell[i] : 0;
            if (accounts->cell[i].heap == shown && before != held[i].end_bytes)
                mpr_growth_add(growth, path_of_cell(l, i), before, held[i].end_bytes,
                               held[i].estimated);
        }
        mpr_growth_end(growth);
    }
    free(held);
}

/* ---- heaps and devices */

static uint64_t a_second(uint64_t count, uint64_t ns)
{
    return ns ? (uint64_t)((double)count * (double)SECOND_NS / (double)ns) : 0;
}

MPR_COMPARE(by_live_bytes, struct mpr_live_heap,
            mpr_compare(b->bytes, a->bytes) ?: mpr_heap_by_name(a->heap, b->heap))

/* @passed_ns: real time since the last look. */
static void fill_heaps(struct mpr_live *l, const struct past *base, uint64_t passed_ns)
{
    const bool first = l->events == UINT64_MAX;
    struct mpr_live_look *look = &l->look;
    look->heap = mpr_arena_alloc(&l->arena, MPR_HEAPS * sizeof *look->heap);
    for (int i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &l->reader.replay.accounts.heap[i];
        const uint8_t code = (uint8_t)i;
        if (!h->used) continue;
        struct mpr_live_heap *heap = &look->heap[look->heaps++];
        *heap = (struct mpr_live_heap){
            .heap = code,
            .inside = mpr_heap_around(code),
            .bytes = h->bytes,
            .blocks = h->blocks,
            .peak_bytes = h->peak_bytes,
            .peak_time = h->peak_time,
            .allocations =
                first ? MPF_UNKNOWN : a_second(h->allocations - l->allocations[i], passed_ns),
            .grew = base ? mpr_signed_sub(mpr_saturating_signed(h->bytes),
                                          mpr_saturating_signed(base->heap[i]))
                         : 0,
            .estimated = code == MPF_HEAP_PYTHON ||
                         (code == MPF_HEAP_HOST && l->reader.replay.options.host_sums_estimated),
        };
        l->allocations[i] = h->allocations;
        if (mpf_heap_is_host(code) && !heap->inside) {
            look->host_bytes += heap->bytes;
            look->host_grew = mpr_signed_add(look->host_grew, heap->grew);
        }
        if (mpf_heap_is_gpu(code) && mpr_heap_is_device(code)) look->gpu_bytes += heap->bytes;
    }
    qsort(look->heap, look->heaps, sizeof *look->heap, by_live_bytes);
}

static void fill_devices(struct mpr_live *l)
{
    const struct mpr_replay *r = &l->reader.replay;
    struct mpr_live_look *look = &l->look;
    look->device = mpr_arena_alloc(&l->arena, MPF_GPUS * sizeof *look->device);
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        struct mpr_device_snapshot now = { 0 };
        if (!mpr_gpu_is_known(r, i)) continue;
        struct mpr_device *out = &look->device[look->devices++];
        *out = mpr_device_named(&l->arena, r, i);
        mpr_device_snapshot_take(&now, r, i, r->now);
        mpr_device_fill_account(&out->peak, &l->arena, &l->reader, &now);
        mpr_device_snapshot_free(&now);
    }
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
        if (s->follow.open[i].range == outermost)
            step->open_ns = mpr_saturating_sub(l->look.now_ns, s->follow.open[i].begin_ns);
    const uint64_t ended = repeat->sequential - (repeat->newest != 0); /* consecutive instances */
    step->each_ns = repeat->sequential && ended ? repeat->covered_ns / ended : 0;
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
        MPR_REACH(l->of_node, t->node, l->nodes);
        struct mpr_path *path = &l->of_node[t->node];
        if (!path->frame) *path = mpr_label_node(&l->names, &l->reader, t->node);
        look->thread[look->threads++] =
            (struct mpr_live_thread){ .name = mpr_label_thread(&l->arena, r, i), .path = *path };
    }
}

/* ---- a look at a process */

static const struct mpr_live_look *look_at(struct mpr_live *l)
{
    const struct mpr_log_status *status = mpr_log_status(l->reader.log);
    const struct timespec then = l->looked;
    clock_gettime(CLOCK_MONOTONIC, &l->looked);
    const int64_t passed =
        (l->looked.tv_sec - then.tv_sec) * (int64_t)SECOND_NS + (l->looked.tv_nsec - then.tv_nsec);
    const uint64_t ns = passed > 0 ? (uint64_t)passed : 0;
    struct mpr_live_look *look = &l->look;
    mpr_arena_free(&l->arena);
    l->arena = (struct mpr_arena){ 0 };
    *look = (struct mpr_live_look){
        .choice = l->choice,
        .now_ns = status->end_ns > status->last_ns ? status->end_ns : status->last_ns,
        .events_a_second =
            l->events == UINT64_MAX ? MPF_UNKNOWN : a_second(status->events - l->events, ns)
    };
    mpr_reader_summary(&l->reader, l->path, &l->arena, &look->summary);
    look->summary.duration_ns = look->now_ns;
    if (is_running(l)) /* the events to come are not missing */
        look->summary.incomplete =
            status->damaged || status->missing_frames || look->summary.lost_events;
    look->rss = mpr_reading_of(&l->reader.replay.samples.source[MPR_SOURCE_RSS].now);
    const struct past *base = NULL;
    for (size_t i = l->pasts; i-- > 0 && look->now_ns - l->past[i].time <= SPAN_NS + APART_NS;)
        base = &l->past[i];
    look->span_ns = base ? look->now_ns - base->time : 0;
    fill_heaps(l, base, ns);
    fill_owners(l, base);
    remember(l);
    fill_devices(l);
    fill_step(l);
    fill_threads(l);
    l->events = status->events;
    return look;
}

/* ---- all processes */

void mpr_top_free(struct mpr_top *top)
{
    for (size_t i = 0; i < top->logs; i++) {
        close_log(top->log[i].live);
        free(top->log[i].path);
    }
    free(top->log);
    mpr_arena_free(&top->arena);
}

int mpr_top_add(struct mpr_top *top, const char *path, bool even_ended, struct mpr_error *error)
{
    for (size_t i = 0; i < top->logs; i++)
        if (strcmp(top->log[i].path, path) == 0) return 0;
    struct mpr_live *live = mpr_alloc(1, sizeof *live);
    char *copy = mpr_text_copy(path);
    *live = (struct mpr_live){ .options = top->options,
                               .path = copy,
                               .choice = { .by = top->options.by, .source = "" },
                               .events = UINT64_MAX };
    if (start(live, top->options.by, error) != 0) {
        free(copy);
        free(live);
        return -1;
    }
    if (!even_ended && !is_running(live)) {
        close_log(live);
        live = NULL;
        top->gone++;
    }
    MPR_GROW(top->log, top->logs, top->cap);
    top->log[top->logs++] = (struct mpr_top_log){ .path = copy, .live = live, .kept = even_ended };
    return 0;
}

/* A process whose end was not seen by a look is not shown any more. */
static void look_at_log(struct mpr_top *top, struct mpr_top_log *log,
                        const struct mpr_progress *progress,
                        void (*failed)(const struct mpr_error *error))
{
    struct mpr_error error;
    if (!log->live) return;
    const bool ran = is_running(log->live), fails = read_on(log->live, progress, &error) != 0;
    if (fails) failed(&error);
    const bool gone = !fails && !log->kept && !is_running(log->live) && !(log->seen && ran);
    top->gone += gone;
    log->seen = true;
    if (fails || gone) {
        close_log(log->live);
        log->live = NULL;
    } else top->process[top->processes++] = look_at(log->live);
}

MPR_COMPARE(by_size, const struct mpr_live_look *,
            mpr_compare((*b)->host_bytes + (*b)->gpu_bytes, (*a)->host_bytes + (*a)->gpu_bytes)
                ?: strcmp((*a)->summary.path, (*b)->summary.path))

/* Chooses the process that is shown in full: the same one as before, wherever it is by now. */
static void choose_shown(struct mpr_top *top)
{
    top->shown = 0;
    for (size_t i = 0; top->in_full && i < top->processes; i++)
        if (strcmp(top->process[i]->summary.path, top->in_full) == 0) top->shown = i;
    if (top->next && top->processes) top->shown = (top->shown + 1) % top->processes;
    top->next = false;
    for (size_t i = 0; top->processes && i < top->logs; i++)
        if (strcmp(top->log[i].path, top->process[top->shown]->summary.path) == 0)
            top->in_full = top->log[i].path;
}

void mpr_top_look(struct mpr_top *top, const struct mpr_progress *progress,
                  void (*failed)(const struct mpr_error *error))
{
    mpr_arena_free(&top->arena);
    top->arena = (struct mpr_arena){ 0 };
    top->process = mpr_arena_alloc(&top->arena, top->logs * sizeof *top->process);
    top->processes = 0;
    for (size_t i = 0; i < top->logs; i++) look_at_log(top, &top->log[i], progress, failed);
    qsort(top->process, top->processes, sizeof *top->process, by_size);
    choose_shown(top);
}
