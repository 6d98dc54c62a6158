#include "diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "breakdown.h"
#include "graphs.h"
#include "insights.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "reader.h"

/* ---- runs */

void mpr_diff_init(struct mpr_diff *diff, const struct mpr_peaks_options *options)
{
    *diff = (struct mpr_diff){ .base = 0 };
    mpr_peaks_init(&diff->peaks, options);
}

void mpr_diff_free(struct mpr_diff *diff)
{
    for (size_t i = 0; i < diff->peaks.logs; i++) mpr_graphs_free(&diff->graphs[i]);
    free(diff->graphs);
    free(diff->retained);
    free(diff->account);
    mpr_peaks_free(&diff->peaks);
}

static void watch_retained(void *arg, struct mpr_reader *reader)
{
    struct mpr_diff *diff = arg;
    mpr_retained_watch(&diff->retained[diff->peaks.logs], &reader->replay);
}

/* Unless the user chose a heap, a diff also has the graphs of each run. */
static void fill_graphs(void *arg, const struct mpr_reader *reader,
                        const struct mpr_projection *projection)
{
    struct mpr_diff *diff = arg;
    const size_t run = diff->peaks.logs - 1;
    (void)projection;
    MPR_REACH(diff->graphs, run, diff->graph_room);
    if (!diff->peaks.options.heap) mpr_graphs_fill(&diff->graphs[run], reader);
}

/* The grouping that AUTO chooses for the first run is used for all runs. */
int mpr_diff_add(struct mpr_diff *diff, bool base, const char *path, struct mpr_instant at,
                 const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_peaks_observer observer = { watch_retained, fill_graphs, diff };
    const size_t run = diff->peaks.logs;
    diff->peaks.options.at = at;
    MPR_REACH(diff->retained, run, diff->retained_room);
    diff->retained[run] = (struct mpr_retained_samples){ .taken = 0 };
    if (mpr_peaks_add_observed(&diff->peaks, path, &observer, progress, error) != 0) return -1;
    const struct mpr_log_peaks *log = &diff->peaks.log[run];
    mpr_retained_end(&diff->retained[run], log->summary.duration_ns,
                     mpr_insights_died(&log->summary));
    diff->base += base;
    diff->names_differ |= log->choice.by != diff->peaks.log[0].choice.by;
    diff->peaks.options.by = diff->peaks.log[0].choice.by;
    return 0;
}

/* ---- devices: matched by UUID, otherwise by name, otherwise by number */

/* The numbers of a run's devices in the diff, by the run's own number. */
struct mpr_diff_devices {
    unsigned number[MPF_GPUS];
};

/* Returns how similar two devices are: 4 for the same UUID, 3 for the same name and number, 2
 * for the same name, 1 for the same number, 0 otherwise. */
static int similarity(const struct mpr_device *a, const struct mpr_device *b)
{
    const bool number = a->index == b->index;
    if (*a->uuid && strcmp(a->uuid, b->uuid) == 0) return 4;
    if (*a->name && strcmp(a->name, b->name) == 0) return 2 + number;
    return number;
}

static void add_note(struct mpr_diff *diff, const char *text)
{
    const char **note = mpr_arena_alloc(&diff->peaks.arena, (diff->notes + 1) * sizeof *note);
    if (diff->notes) memcpy(note, diff->note, diff->notes * sizeof *note);
    note[diff->notes++] = text;
    diff->note = note;
}

/* Notes a device whose match is not obvious. */
static void note_match(struct mpr_diff *diff, const struct mpr_log_peaks *log,
                       const struct mpr_device *a, const struct mpr_device *b, int alike)
{
    struct mpr_arena *arena = &diff->peaks.arena;
    if (a->index != b->index)
        add_note(diff, mpr_arena_format(
                           arena, "gpu%u is gpu%u of %s: %s", a->index, b->index, log->summary.path,
                           alike == 4 ? "it has the same UUID" : "it has the same name"));
    else if (*a->name && *b->name && alike == 1)
        add_note(diff, mpr_arena_format(
                           arena, "gpu%u is %s in %s and %s in %s: matched by its number", a->index,
                           a->name, diff->peaks.log[0].summary.path, b->name, log->summary.path));
}

/* Gives each of the run's devices a different number: that of the most similar device of the
 * first run, or its own number, or an unused one. If all numbers are used in the first run, it
 * takes one whose device the run does not have. */
static void match_devices(struct mpr_diff *diff, size_t run)
{
    const struct mpr_log_peaks *base = &diff->peaks.log[0], *log = &diff->peaks.log[run];
    unsigned *number = diff->devices[run].number;
    bool taken[MPF_GPUS] = { false }, of_base[MPF_GPUS] = { false }; /* by number */
    bool matched[MPF_GPUS] = { false };                              /* by own number */
    for (unsigned i = 0; i < MPF_GPUS; i++) number[i] = i;
    if (!run) return;
    for (int least = 4; least > 0; least--)
        for (size_t i = 0; i < log->devices; i++)
            for (size_t k = 0; k < base->devices; k++) {
                const struct mpr_device *a = &base->device[k], *b = &log->device[i];
                const int alike = similarity(a, b);
                if (matched[b->index] || taken[a->index] || alike < least) continue;
                matched[b->index] = taken[a->index] = true;
                number[b->index] = a->index;
                note_match(diff, log, a, b, alike);
            }
    for (size_t k = 0; k < base->devices; k++) of_base[base->device[k].index] = true;
    for (size_t i = 0; i < log->devices; i++) {
        const unsigned own = log->device[i].index;
        unsigned unused = own;
        if (matched[own]) continue;
        for (unsigned k = 0; (taken[unused] || of_base[unused]) && k < MPF_GPUS; k++)
            unused = (own + k) % MPF_GPUS;
        for (unsigned k = 0; taken[unused]; k++) unused = k;
        taken[unused] = true;
        number[own] = unused;
        if (unused != own)
            add_note(diff, mpr_arena_format(&diff->peaks.arena,
                                            "gpu%u is gpu%u of %s: %s has no such one", unused, own,
                                            log->summary.path, base->summary.path));
    }
}

uint8_t mpr_diff_own_heap(const struct mpr_diff *diff, size_t run, uint8_t heap)
{
    const struct mpr_log_peaks *log = &diff->peaks.log[run];
    if (!mpf_heap_is_gpu(heap)) return heap;
    for (size_t i = 0; i < log->devices; i++) {
        const unsigned own = log->device[i].index;
        if (diff->devices[run].number[own] == mpf_heap_device(heap))
            return mpf_heap_gpu(mpf_heap_code(heap), own);
    }
    return heap;
}

/* ---- accounts */

/* Returns the account with room for @max rows of the run. */
static struct mpr_diff_account *account_of(struct mpr_diff *diff, enum mpr_diff_subject subject,
                                           uint8_t number, enum mpr_group by, size_t run,
                                           size_t max)
{
    struct mpr_arena *arena = &diff->peaks.arena;
    struct mpr_diff_account *a = diff->account;
    while (a < diff->account + diff->accounts && (a->subject != subject || a->number != number))
        a++;
    if (a == diff->account + diff->accounts) {
        MPR_GROW(diff->account, diff->accounts, diff->cap);
        a = &diff->account[diff->accounts++];
        *a = (struct mpr_diff_account){ .subject = subject, .number = number, .by = by };
        a->run = mpr_arena_alloc(arena, diff->peaks.logs * sizeof *a->run);
        a->name = subject == MPR_DIFF_HEAP ? mpr_heap_name(number)
                  : subject == MPR_DIFF_GRAPHS
                      ? "CUDA graphs"
                      : mpr_arena_format(arena, "gpu%u%s", number,
                                         subject == MPR_DIFF_COMMS ? " NCCL" : "");
    }
    a->run[run].entry = mpr_arena_alloc(arena, max * sizeof *a->run[run].entry);
    return a;
}

static void add(struct mpr_diff_run *r, struct mpr_path path, int64_t bytes, bool estimated,
                double variance)
{
    r->entry[r->entries++] = (struct mpr_diff_entry){ path, bytes, estimated, variance };
    r->total = mpr_signed_add(r->total, bytes);
}

static void add_heap(struct mpr_diff *diff, size_t run, const struct mpr_heap_peak *h)
{
    uint8_t heap = h->heap;
    if (mpf_heap_is_gpu(heap))
        heap = mpf_heap_gpu(mpf_heap_code(heap), diff->devices[run].number[mpf_heap_device(heap)]);
    struct mpr_diff_account *a =
        account_of(diff, MPR_DIFF_HEAP, heap, diff->peaks.log[run].choice.by, run, h->rows);
    a->inside = h->inside;
    a->total.estimated |= h->is_approximate;
    for (size_t i = 0; i < h->rows; i++) {
        const struct mpr_row *row = &h->row[i];
        const double variance = mpr_variance_value(&row->variance);
        add(&a->run[run], row->path, mpr_saturating_signed(row->bytes), row->estimated, variance);
        if (h->estimated) a->run[run].variance += variance;
    }
}

/* Adds the device's account and its communicators. A communicator's id differs between runs, so
 * its name is its size and its first use. */
static void add_device(struct mpr_diff *diff, size_t run, const struct mpr_device *d)
{
    const struct mpr_device_state *s = &d->peak;
    const uint8_t number = (uint8_t)diff->devices[run].number[d->index];
    struct mpr_arena *arena = &diff->peaks.arena;
    struct mpr_diff_account *a = NULL;
    if (s->parts) a = account_of(diff, MPR_DIFF_DEVICE, number, MPR_GROUP_HEAP, run, s->parts);
    for (size_t i = 0; i < s->parts; i++)
        add(&a->run[run], mpr_frame_labels(arena, &s->part[i].name, 1), s->part[i].bytes, false, 0);
    if (s->comms) a = account_of(diff, MPR_DIFF_COMMS, number, MPR_GROUP_HEAP, run, s->comms);
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        const char *name =
            c->ranks == MPF_UNKNOWN
                ? "a communicator"
                : mpr_arena_format(arena, "communicator of %" PRIu64 " ranks", c->ranks);
        if (*c->first_use) name = mpr_arena_format(arena, "%s, first %s", name, c->first_use);
        add(&a->run[run], mpr_frame_labels(arena, &name, 1), mpr_saturating_signed(c->bytes), false,
            0);
    }
}

static void add_run(struct mpr_diff *diff, size_t run)
{
    const struct mpr_log_peaks *log = &diff->peaks.log[run];
    const struct mpr_graphs *g = &diff->graphs[run];
    struct mpr_diff_account *a = NULL;
    for (size_t i = 0; i < log->heaps; i++) add_heap(diff, run, &log->heap[i]);
    for (size_t i = 0; !diff->peaks.options.heap && i < log->devices; i++)
        add_device(diff, run, &log->device[i]);
    if (g->rows) a = account_of(diff, MPR_DIFF_GRAPHS, 0, MPR_GROUP_RANGE, run, g->rows);
    for (size_t i = 0; i < g->rows; i++)
        add(&a->run[run], g->row[i].path, g->row[i].bytes.all, false, 0);
}

/* ---- sides */

static size_t median_run(const struct mpr_diff_account *a, size_t from, size_t to)
{
    const size_t runs = to - from;
    for (size_t i = from; i < to; i++) {
        size_t before = 0; /* runs with smaller totals, and earlier runs with equal totals */
        for (size_t k = from; k < to; k++)
            before +=
                a->run[k].total < a->run[i].total || (k < i && a->run[k].total == a->run[i].total);
        if (before == (runs - 1) / 2) return i;
    }
    return from;
}

static struct mpr_spread spread(const int64_t *bytes, size_t runs, int64_t is)
{
    struct mpr_spread s = { is, is, is };
    for (size_t i = 0; i < runs; i++) {
        if (bytes[i] < s.min) s.min = bytes[i];
        if (bytes[i] > s.max) s.max = bytes[i];
    }
    return s;
}

/* Returns a row with the bytes of both sides. @bytes: by run. */
static struct mpr_diff_row row_of(const struct mpr_diff *diff, const struct mpr_diff_account *a,
                                  const int64_t *bytes)
{
    const int64_t base = bytes[a->base_run], now = bytes[a->now_run];
    return (struct mpr_diff_row){
        .base = spread(bytes, diff->base, base),
        .now = spread(bytes + diff->base, diff->peaks.logs - diff->base, now),
        .change = mpr_signed_sub(now, base),
    };
}

/* A change is noise if the spreads of the sides overlap, or if it is at most twice its standard
 * error. The change of two single runs without samples is never noise. */
static enum mpr_diff_kind kind_of(const struct mpr_diff *diff, const struct mpr_diff_row *r,
                                  double variance)
{
    const double errors = 2, change = (double)r->change;
    if ((diff->peaks.logs > 2 && r->base.min <= r->now.max && r->now.min <= r->base.max) ||
        (variance > 0 && change * change <= errors * errors * variance))
        return MPR_DIFF_NOISE;
    return r->change > 0 ? MPR_DIFF_GREW : MPR_DIFF_SHRANK;
}

/* ---- rows: pairs of calls as lines, by kind of change */

/* Pairs the account's rows of all runs. Lines with different callers are different, so the
 * caller is the last frame of a pair's path. */
static void pair_runs(struct mpr_arena *arena, const struct mpr_diff *diff,
                      struct mpr_diff_account *a, const struct mpr_naming *naming)
{
    struct mpr_pairs pairs;
    mpr_pairs_begin(&pairs, arena, diff->peaks.logs, diff->base);
    for (size_t run = 0; run < diff->peaks.logs; run++) {
        const bool is_shown = run == a->base_run || run == a->now_run;
        mpr_pairs_run(&pairs, run, mpr_summary_program(&diff->peaks.log[run].summary));
        for (size_t i = 0; i < a->run[run].entries; i++) {
            const struct mpr_diff_entry *e = &a->run[run].entry[i];
            const struct mpr_row row = { .path = e->path };
            const struct mpr_line line = mpr_naming_line(arena, naming, a->by, &row);
            const size_t depth = line.row.path.depth;
            const struct mpr_frame **frame = mpr_arena_alloc(arena, (depth + 1) * sizeof *frame);
            if (depth) memcpy(frame, line.row.path.frame, depth * sizeof *frame);
            frame[depth] = *line.caller ? mpr_frame_named(arena, MPR_FRAME_LABEL, line.caller)
                                        : &mpr_frame_none;
            mpr_pairs_add(&pairs, (struct mpr_path){ frame, depth + 1 }, e->bytes, e->estimated,
                          is_shown ? e->variance : 0);
        }
    }
    mpr_pairs_join(&pairs);
    a->pairs = pairs.pairs;
    a->pair = mpr_arena_alloc(arena, pairs.pairs * sizeof *a->pair);
    if (pairs.pairs) memcpy(a->pair, pairs.pair, pairs.pairs * sizeof *a->pair);
    mpr_pairs_free(&pairs);
}

static struct mpr_line line_of(struct mpr_arena *arena, const struct mpr_call_pair *pair,
                               size_t runs)
{
    const struct mpr_path path = { pair->path.frame, pair->path.depth - 1 };
    struct mpr_line line = mpr_line_of(&(struct mpr_row){
        .path = path, .estimated = pair->estimated, .variance.own = pair->variance });
    line.caller = path.frame[path.depth]->text;
    line.runs = runs;
    line.of_run = mpr_arena_alloc(arena, runs * sizeof *line.of_run);
    memcpy(line.of_run, pair->bytes, runs * sizeof *line.of_run);
    return line;
}

/* Returns true if the line has a call without a name. In another build the same address is
 * another call. */
static bool has_address(const struct mpr_line *line)
{
    for (size_t i = 0; i < line->row.path.depth; i++)
        if (line->row.path.frame[i]->kind == MPR_FRAME_ADDRESS) return true;
    return false;
}

static bool is_one_sided(const struct mpr_diff_row *r)
{
    return (!r->base.min && !r->base.max) != (!r->now.min && !r->now.max);
}

/* Returns the lines that changed. First those that one side has, which may be grouped with those
 * of the other side: step 8 with step 9. A line's bytes are its change, by which lines are
 * sorted and grouped. */
static size_t lines_of(struct mpr_arena *arena, const struct mpr_diff *diff,
                       const struct mpr_diff_account *a, const struct mpr_naming *naming,
                       struct mpr_line *line)
{
    struct mpr_line *other = mpr_alloc(a->pairs, sizeof *other);
    size_t lines = 0, others = 0, changed = 0;
    for (size_t i = 0; i < a->pairs; i++) {
        const struct mpr_line of = line_of(arena, &a->pair[i], diff->peaks.logs);
        const struct mpr_diff_row row = row_of(diff, a, of.of_run);
        if (is_one_sided(&row) && !has_address(&of)) line[lines++] = of;
        else other[others++] = of;
    }
    lines = mpr_naming_group_sides(arena, naming, a->by, line, lines, diff->base);
    if (others) memcpy(line + lines, other, others * sizeof *line);
    free(other);
    for (size_t i = 0; i < lines + others; i++) {
        const int64_t change =
            mpr_signed_sub(line[i].of_run[a->now_run], line[i].of_run[a->base_run]);
        line[i].row.bytes = (uint64_t)llabs(change);
        if (change) line[changed++] = line[i];
    }
    return changed;
}

/* Returns the variance of a line that a sampled run does not have: one more sample would have
 * counted for the mean. */
static double variance_of_missing(const struct mpr_diff *diff, const struct mpr_diff_account *a,
                                  const struct mpr_line *line, size_t run)
{
    const struct mpr_recording *r = &diff->peaks.log[run].summary.recording;
    const double mean = (double)r->blocks_mean;
    const bool sampled = r->blocks == MPR_RECORDED_SAMPLE && a->subject == MPR_DIFF_HEAP &&
                         a->number == MPF_HEAP_HOST;
    return sampled && !line->of_run[run] ? mean * mean : 0;
}

static enum mpr_diff_kind kind_of_line(const struct mpr_diff *diff,
                                       const struct mpr_diff_account *a,
                                       const struct mpr_line *line)
{
    const struct mpr_diff_row row = row_of(diff, a, line->of_run);
    if (is_one_sided(&row) && has_address(line)) return MPR_DIFF_UNMATCHED;
    return kind_of(diff, &row,
                   mpr_variance_value(&line->row.variance) +
                       variance_of_missing(diff, a, line, a->base_run) +
                       variance_of_missing(diff, a, line, a->now_run));
}

/* Fills the rows of one kind. Calls without names cannot be paired, so they are one row. */
static size_t rows_of(struct mpr_arena *arena, const struct mpr_diff *diff,
                      const struct mpr_diff_account *a, const struct mpr_naming *naming,
                      const struct mpr_line *all, size_t count, enum mpr_diff_kind kind,
                      struct mpr_diff_row *row)
{
    static const char *const unmatched[] = { "calls without names that one side has" };
    struct mpr_line *line = mpr_alloc(count, sizeof *line);
    size_t lines = 0;
    for (size_t i = 0; i < count; i++)
        if (kind_of_line(diff, a, &all[i]) == kind) line[lines++] = all[i];
    mpr_lines_sort(line, lines, MPR_ORDER_BYTES);
    if (kind != MPR_DIFF_UNMATCHED) lines = mpr_naming_group(arena, naming, a->by, line, lines);
    else if (lines) {
        for (size_t i = 1; i < lines; i++) mpr_line_add(line, &line[i]);
        line->row.path = mpr_frame_labels(arena, unmatched, 1);
        line->caller = "";
        lines = 1;
    }
    for (size_t i = 0; i < lines; i++) {
        row[i] = row_of(diff, a, line[i].of_run);
        row[i].kind = kind;
        row[i].path = line[i].row.path;
        row[i].caller = line[i].caller;
        row[i].sibling_least = line[i].sibling_least;
        row[i].sibling_most = line[i].sibling_most;
        row[i].estimated = line[i].row.estimated;
        row[i].variance = mpr_variance_value(&line[i].row.variance);
    }
    free(line);
    return lines;
}

struct mpr_diff_row *mpr_diff_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                   const struct mpr_diff_account *a,
                                   const struct mpr_naming *naming, size_t *rows)
{
    struct mpr_line *line = mpr_alloc(a->pairs, sizeof *line);
    const size_t lines = lines_of(arena, diff, a, naming, line);
    struct mpr_diff_row *row = mpr_arena_alloc(arena, lines * sizeof *row);
    *rows = 0;
    for (enum mpr_diff_kind kind = MPR_DIFF_GREW; kind <= MPR_DIFF_UNMATCHED; kind++)
        *rows += rows_of(arena, diff, a, naming, line, lines, kind, row + *rows);
    free(line);
    return row;
}

struct mpr_diff_row *mpr_diff_role_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                        const struct mpr_naming *naming,
                                        const struct mpr_role_share *const *share, size_t *rows)
{
    const struct mpr_naming whole = { .user_frames = naming->user_frames, .unfold = true };
    struct mpr_diff_account a = { .subject = MPR_DIFF_HEAP,
                                  .by = MPR_GROUP_AUTO,
                                  .now_run = diff->base };
    a.run = mpr_arena_alloc(arena, diff->peaks.logs * sizeof *a.run);
    for (size_t run = 0; run < diff->peaks.logs; run++) {
        const struct mpr_role_share *side = share[run >= diff->base];
        if (!side) continue;
        a.run[run].entry = mpr_arena_alloc(arena, side->rows * sizeof *a.run[run].entry);
        for (size_t i = 0; i < side->rows; i++)
            add(&a.run[run], side->row[i].path, mpr_saturating_signed(side->row[i].bytes), false,
                0);
    }
    pair_runs(arena, diff, &a, &whole);
    return mpr_diff_rows(arena, diff, &a, naming, rows);
}

/* ---- comparison */

static void compare(struct mpr_diff *diff, struct mpr_diff_account *a,
                    const struct mpr_naming *naming)
{
    const size_t runs = diff->peaks.logs;
    int64_t *total = mpr_alloc(runs, sizeof *total);
    for (size_t i = 0; i < runs; i++) total[i] = a->run[i].total;
    a->base_run = median_run(a, 0, diff->base);
    a->now_run = median_run(a, diff->base, runs);
    const bool estimated = a->total.estimated || a->inside;
    a->total = row_of(diff, a, total);
    a->total.variance = a->run[a->base_run].variance + a->run[a->now_run].variance;
    a->total.kind = kind_of(diff, &a->total, a->total.variance);
    a->total.estimated = estimated;
    pair_runs(&diff->peaks.arena, diff, a, naming);
    a->row = mpr_diff_rows(&diff->peaks.arena, diff, a, naming, &a->rows);
    free(total);
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_diff_account *a = left, *b = right;
    const struct mpr_diff_row *s = &a->total, *t = &b->total;
    const int64_t x = s->base.bytes > s->now.bytes ? s->base.bytes : s->now.bytes,
                  y = t->base.bytes > t->now.bytes ? t->base.bytes : t->now.bytes;
    const int order = mpr_compare(a->subject, b->subject) ?: mpr_compare_signed(y, x);
    if (order) return order;
    return a->subject == MPR_DIFF_HEAP ? mpr_heap_by_name(a->number, b->number)
                                       : a->number - b->number;
}

void mpr_diff_finish(struct mpr_diff *diff, struct mpr_user_frames *user_frames)
{
    const struct mpr_naming naming = { .user_frames = user_frames, .unfold = true };
    diff->devices = mpr_arena_alloc(&diff->peaks.arena, diff->peaks.logs * sizeof *diff->devices);
    for (size_t i = 0; i < diff->peaks.logs; i++) match_devices(diff, i);
    for (size_t i = 0; i < diff->peaks.logs; i++) add_run(diff, i);
    for (size_t i = 0; i < diff->accounts; i++) compare(diff, &diff->account[i], &naming);
    if (diff->accounts) qsort(diff->account, diff->accounts, sizeof *diff->account, by_size);
}
