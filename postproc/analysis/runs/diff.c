#include "diff.h"

#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "diff_runs.h"
#include "graphs.h"
#include "mpf/sample.h"

static const double ERRORS = 2; /* standard errors */

static void begin_run(void *arg, struct mpr_reader *reader)
{
    (void)arg;
    (void)reader;
}

static void end_run(void *arg, const struct mpr_reader *reader)
{
    struct mpr_diff *diff = arg;
    const size_t run = diff->peaks.logs - 1;
    MPR_REACH(diff->graphs, run, diff->graph_room);
    if (!diff->peaks.options.heap) mpr_graphs_fill(&diff->graphs[run], reader);
}

void mpr_diff_init(struct mpr_diff *diff, const struct mpr_peaks_options *options)
{
    *diff = (struct mpr_diff){ .guest = { begin_run, end_run, diff } };
    mpr_peaks_init(&diff->peaks, options);
    diff->peaks.options.guest = &diff->guest;
}

void mpr_diff_free(struct mpr_diff *diff)
{
    for (size_t i = 0; i < diff->peaks.logs; i++) mpr_graphs_free(&diff->graphs[i]);
    free(diff->graphs);
    free(diff->account);
    mpr_peaks_free(&diff->peaks);
}

/* ---- runs */

/* The first run says what AUTO stands for. */
static void choose(struct mpr_diff *diff)
{
    const enum mpr_group first = diff->peaks.log[0].choice.by,
                         by = diff->peaks.log[diff->peaks.logs - 1].choice.by;
    diff->names_differ |= by != first;
    diff->peaks.options.by = first;
}

int mpr_diff_add(struct mpr_diff *diff, bool base, const char *path, struct mpr_instant at,
                 const struct mpr_progress *progress, struct mpr_error *error)
{
    diff->peaks.options.at = at;
    if (mpr_peaks_add(&diff->peaks, path, progress, error) != 0) return -1;
    diff->base += base;
    choose(diff);
    return 0;
}

/* ---- accounts */

static const char *name_of(struct mpr_arena *arena, enum mpr_diff_of of, uint8_t which)
{
    switch (of) {
    case MPR_DIFF_HEAP: return mpr_heap_name(which);
    case MPR_DIFF_GRAPHS: return "CUDA graphs";
    default: return mpr_arena_format(arena, of == MPR_DIFF_COMMS ? "gpu%u NCCL" : "gpu%u", which);
    }
}

static struct mpr_diff_account *account_of(struct mpr_diff *diff, enum mpr_diff_of of,
                                           uint8_t which, enum mpr_group by)
{
    for (size_t i = 0; i < diff->accounts; i++)
        if (diff->account[i].of == of && diff->account[i].which == which) return &diff->account[i];
    MPR_GROW(diff->account, diff->accounts, diff->cap);
    struct mpr_diff_account *a = &diff->account[diff->accounts++];
    *a = (struct mpr_diff_account){
        .of = of, .which = which, .name = name_of(&diff->peaks.arena, of, which), .by = by
    };
    a->run = mpr_arena_alloc(&diff->peaks.arena, diff->peaks.logs * sizeof *a->run);
    return a;
}

static struct mpr_diff_run *begin(struct mpr_diff *diff, enum mpr_diff_of of, uint8_t which,
                                  enum mpr_group by, size_t run, size_t most)
{
    struct mpr_diff_run *r = &account_of(diff, of, which, by)->run[run];
    r->entry = mpr_arena_alloc(&diff->peaks.arena, most * sizeof *r->entry);
    return r;
}

static void add(struct mpr_diff_run *r, struct mpr_path path, int64_t bytes, bool estimated,
                double variance)
{
    r->entry[r->entries++] = (struct mpr_diff_entry){ path, bytes, estimated, variance };
    r->total = mpr_plus(r->total, bytes);
}

static void add_heap(struct mpr_diff *diff, size_t run, const struct mpr_heap_peak *h)
{
    const uint8_t heap = mpr_diff_heap(diff, run, h->heap);
    const enum mpr_group by = diff->peaks.log[run].choice.by;
    struct mpr_diff_run *r = begin(diff, MPR_DIFF_HEAP, heap, by, run, h->rows);
    struct mpr_diff_account *a = account_of(diff, MPR_DIFF_HEAP, heap, by);
    a->inside = h->inside;
    a->is_about |= h->is_about;
    for (size_t i = 0; i < h->rows; i++) {
        const struct mpr_row *row = &h->row[i];
        add(r, row->path, mpr_amount(row->bytes), row->estimated, row->variance);
        if (h->estimated) r->variance += row->variance;
    }
}

static void add_device(struct mpr_diff *diff, size_t run, const struct mpr_device *d)
{
    const struct mpr_device_state *s = &d->peak;
    if (!s->parts) return;
    struct mpr_diff_run *r =
        begin(diff, MPR_DIFF_DEVICE, (uint8_t)diff->devices[run].number[d->index], MPR_GROUP_HEAP,
              run, s->parts);
    for (size_t i = 0; i < s->parts; i++)
        add(r, mpr_frame_labels(&diff->peaks.arena, &s->part[i].name, 1), s->part[i].bytes, false,
            0);
}

/* A communicator has another number in each run: it is known by its size and first use. */
static void add_comms(struct mpr_diff *diff, size_t run, const struct mpr_device *d)
{
    const struct mpr_device_state *s = &d->peak;
    struct mpr_arena *arena = &diff->peaks.arena;
    if (!s->comms) return;
    struct mpr_diff_run *r =
        begin(diff, MPR_DIFF_COMMS, (uint8_t)diff->devices[run].number[d->index], MPR_GROUP_HEAP,
              run, s->comms);
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        const char *name =
            c->ranks == MPF_UNKNOWN
                ? "a communicator"
                : mpr_arena_format(arena, "communicator of %" PRIu64 " ranks", c->ranks);
        if (*c->first_use) name = mpr_arena_format(arena, "%s, first %s", name, c->first_use);
        add(r, mpr_frame_labels(arena, &name, 1), mpr_amount(c->bytes), false, 0);
    }
}

static void add_graphs(struct mpr_diff *diff, size_t run)
{
    const struct mpr_graphs *g = &diff->graphs[run];
    if (!g->rows) return;
    struct mpr_diff_run *r = begin(diff, MPR_DIFF_GRAPHS, 0, MPR_GROUP_RANGE, run, g->rows);
    for (size_t i = 0; i < g->rows; i++)
        add(r, g->row[i].path, mpr_graph_total(&g->row[i]), false, 0);
}

static void add_run(struct mpr_diff *diff, size_t run)
{
    const struct mpr_log_peaks *log = &diff->peaks.log[run];
    for (size_t i = 0; i < log->heaps; i++) add_heap(diff, run, &log->heap[i]);
    for (size_t i = 0; !diff->peaks.options.heap && i < log->devices; i++) {
        add_device(diff, run, &log->device[i]);
        add_comms(diff, run, &log->device[i]);
    }
    add_graphs(diff, run);
}

/* ---- sides */

struct total {
    int64_t bytes;
    size_t run;
};

static int by_total(const void *left, const void *right)
{
    const struct total *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return a->run < b->run ? -1 : 1;
}

static size_t median_run(const struct mpr_diff_account *a, size_t from, size_t to)
{
    struct total *total = mpr_alloc(to - from, sizeof *total);
    for (size_t i = from; i < to; i++) total[i - from] = (struct total){ a->run[i].total, i };
    qsort(total, to - from, sizeof *total, by_total);
    const size_t median = total[(to - from - 1) / 2].run;
    free(total);
    return median;
}

struct mpr_spread mpr_diff_spread(const int64_t *bytes, size_t runs, int64_t is)
{
    struct mpr_spread s = { is, is, is };
    for (size_t i = 0; i < runs; i++) {
        if (bytes[i] < s.least) s.least = bytes[i];
        if (bytes[i] > s.most) s.most = bytes[i];
    }
    return s;
}

bool mpr_diff_is_noise(const struct mpr_diff *diff, const struct mpr_spread *base,
                       const struct mpr_spread *now)
{
    return diff->peaks.logs > 2 && base->least <= now->most && now->least <= base->most;
}

bool mpr_diff_is_sampling(int64_t change, double variance)
{
    return variance > 0 && (double)change * (double)change <= ERRORS * ERRORS * variance;
}

static void compare(struct mpr_diff *diff, struct mpr_diff_account *a,
                    const struct mpr_naming *naming)
{
    const size_t base = diff->base, runs = diff->peaks.logs;
    int64_t *total = mpr_alloc(runs, sizeof *total);
    for (size_t i = 0; i < runs; i++) total[i] = a->run[i].total;
    a->base_run = median_run(a, 0, base);
    a->now_run = median_run(a, base, runs);
    a->base = mpr_diff_spread(total, base, total[a->base_run]);
    a->now = mpr_diff_spread(total + base, runs - base, total[a->now_run]);
    a->change = mpr_minus(a->now.is, a->base.is);
    a->variance = a->run[a->base_run].variance + a->run[a->now_run].variance;
    a->noise =
        mpr_diff_is_noise(diff, &a->base, &a->now) || mpr_diff_is_sampling(a->change, a->variance);
    a->row = mpr_diff_rows(&diff->peaks.arena, diff, a, naming, &a->rows);
    free(total);
}

static int64_t larger(const struct mpr_diff_account *a)
{
    return a->base.is > a->now.is ? a->base.is : a->now.is;
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_diff_account *a = left, *b = right;
    if (a->of != b->of) return a->of < b->of ? -1 : 1;
    if (larger(a) != larger(b)) return larger(a) > larger(b) ? -1 : 1;
    return a->of == MPR_DIFF_HEAP ? mpr_heap_by_name(a->which, b->which) : a->which - b->which;
}

void mpr_diff_finish(struct mpr_diff *diff, struct mpr_telling *telling)
{
    const struct mpr_naming naming = { .telling = telling, .unfold = true };
    diff->devices = mpr_arena_alloc(&diff->peaks.arena, diff->peaks.logs * sizeof *diff->devices);
    for (size_t i = 0; i < diff->peaks.logs; i++) mpr_diff_devices_match(diff, i);
    for (size_t i = 0; i < diff->peaks.logs; i++) add_run(diff, i);
    for (size_t i = 0; i < diff->accounts; i++) compare(diff, &diff->account[i], &naming);
    if (diff->accounts) qsort(diff->account, diff->accounts, sizeof *diff->account, by_size);
}
