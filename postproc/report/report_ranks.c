/* The ranks of a job compared: missing ones, the first failure, outliers with their causes, and the
 * spread of each measure. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "insights.h"
#include "report_ranks.h"
#include "reports.h"
#include "units.h"

/* ---- fields */

#define OF_RANK(member)    MPR_FIELD(mpr_rank, member)
#define OF_MEASURE(member) MPR_FIELD(shown_measure, member)
#define OF_CELL(member)    MPR_FIELD(cell, member)

MPR_VALUE(rank_number, mpr_rank, r, mpr_value_known(MPR_COUNT, r->number, UINT64_MAX))

#define PROCESS(function, ...) MPR_VALUE(function, mpr_rank, r, __VA_ARGS__)
PROCESS(rank_pid, mpr_value_known(MPR_COUNT, r->digest->process->pid, 0))
PROCESS(rank_program, mpr_value_known_text(r->digest->process->program, MPR_UNKNOWN))
PROCESS(rank_file, mpr_value_text(r->digest->process->file))
PROCESS(rank_ended, mpr_value_text(r->digest->process->ended))
PROCESS(rank_blocks, mpr_value_known_text(r->digest->process->host_blocks, MPR_ABSENT))
PROCESS(rank_duration, mpr_value_number(MPR_SPAN, r->digest->process->duration_ns))
PROCESS(rank_incomplete, mpr_value_flag(r->digest->process->incomplete))
PROCESS(rank_rss, mpr_value_known(MPR_BYTES, r->digest->process->rss_high, UINT64_MAX))

// clang-format off
static const struct mpr_column rank_columns[] = {
    { .key = "rank", .get = rank_number },
    { .key = "name", .type = MPR_TEXT, OF_RANK(name) },
    { .key = "host", .type = MPR_TEXT, OF_RANK(host), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "pid", .get = rank_pid },
    { .key = "program", .get = rank_program },
    { .key = "file", .get = rank_file },
    { .key = "ended", .get = rank_ended },
    { .key = "host_blocks", .get = rank_blocks },
    { .key = "start_realtime_ns", .type = MPR_COUNT, OF_RANK(start_ns),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "clock_ahead_ns", .type = MPR_SIGNED, OF_RANK(clock_ns) },
    { .key = "duration_ns", .get = rank_duration },
    { .key = "failed_realtime_ns", .type = MPR_COUNT, OF_RANK(failed_ns),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "incomplete", .get = rank_incomplete },
    { .key = "rss_high_bytes", .get = rank_rss },
};

#define OF_CLOCK(member) MPR_FIELD(mpr_ranks_clock, member)
static const char *const clock_sources[] = { [MPR_CLOCK_BY_COMM] = "communicator",
                                             [MPR_CLOCK_BY_RANGE] = "range" };
static const struct mpr_column clock_columns[] = {
    { .key = "host", .type = MPR_TEXT, OF_CLOCK(host) },
    { .key = "ahead_ns", .type = MPR_SIGNED, OF_CLOCK(ahead_ns) },
    { .key = "by", .type = MPR_WORD, OF_CLOCK(by), .words = clock_sources },
    { .key = "shifted", .type = MPR_FLAG, OF_CLOCK(shifted) },
};
// clang-format on

static void fields(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_objects(doc, "ranks", rank_columns, r->rank, r->ranks);
    mpr_doc_fact(doc, "missing_ranks", mpr_value_number(MPR_COUNT, r->missings));
    mpr_doc_fact(doc, "missing", mpr_value_known_text(r->missing, MPR_UNKNOWN));
    mpr_doc_fact(doc, "doubled_ranks", mpr_value_number(MPR_COUNT, r->doubles));
    mpr_doc_fact(doc, "belonging_processes", mpr_value_number(MPR_COUNT, r->belonging));
    mpr_doc_fact(doc, "executed_programs", mpr_value_number(MPR_COUNT, r->executed));
    mpr_doc_fact(doc, "processes_without_rank", mpr_value_number(MPR_COUNT, r->unranked));
    mpr_doc_objects(doc, "clocks", clock_columns, r->clock, r->clocks);
}

/* ---- the set of ranks */

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

/* "n01 pid 5, a.zst" */
static const char *place_of(struct mpr_document *doc, const struct mpr_digest *d)
{
    return mpr_arena_format(&doc->arena, "%s pid %" PRIu64 ", %s", d->process->host,
                            d->process->pid, d->process->file);
}

static void heading(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_add(doc, MPR_STRONG, "%s %s%s", mpr_doc_count(doc, r->ranks),
                r->numbered ? "rank" : "process",
                r->numbered     ? plural(r->ranks)
                : r->ranks == 1 ? ""
                                : "es");
    mpr_doc_add_plain(doc, " on %s node%s", mpr_doc_count(doc, r->nodes), plural(r->nodes));
    if (r->belonging)
        mpr_doc_add_plain(doc, "; %s of their other processes left out",
                          mpr_doc_count(doc, r->belonging));
    if (r->executed)
        mpr_doc_add_plain(doc, "; %s log%s of what they executed before or after left out",
                          mpr_doc_count(doc, r->executed), plural(r->executed));
    if (r->unranked)
        mpr_doc_add_plain(doc, "; %s without a rank left out", mpr_doc_count(doc, r->unranked));
    mpr_doc_end_wrapped(doc, 2);
}

static void missing_and_doubled(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { DOUBLES = 4 };
    if (r->missings) {
        mpr_doc_add(doc, MPR_WARN, "missing: %s %s", r->missings == 1 ? "rank" : "ranks",
                    r->missing);
        mpr_doc_end_wrapped(doc, 2);
    }
    for (size_t i = 0; i < r->doubles && i < DOUBLES; i++) {
        const struct mpr_ranks_doubled *d = &r->doubled[i];
        mpr_doc_add(doc, MPR_WARN, "%s is there twice", d->name);
        mpr_doc_add_plain(doc, ": %s is compared, %s is not", place_of(doc, d->taken),
                          place_of(doc, d->left));
        mpr_doc_end_wrapped(doc, 2);
    }
    if (r->doubles > DOUBLES)
        mpr_doc_line(doc, "and %s more are there twice", mpr_doc_count(doc, r->doubles - DOUBLES));
}

static void incomplete(struct mpr_document *doc, const struct mpr_ranks *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->ranks; i++) count += r->rank[i].digest->process->incomplete;
    if (!count) return;
    mpr_doc_add(doc, MPR_WARN, "%s log%s incomplete", mpr_doc_count(doc, count),
                count == 1 ? " is" : "s are");
    mpr_doc_end(doc);
}

/* Quotes the setting of the first log without some blocks; other logs may have fewer. */
static void blocks(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const char *which = "";
    size_t count = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const char *own = r->rank[i].digest->process->host_blocks;
        if (!*which) which = own;
        count += *own != 0;
    }
    if (count)
        mpr_doc_line(doc, "%s log%s some malloc blocks (MEMPROF_HOST=%s)",
                     mpr_doc_count(doc, count), count == 1 ? " lacks" : "s lack", which);
}

static void clocks(struct mpr_document *doc, const struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->clocks; i++) {
        const struct mpr_ranks_clock *c = &r->clock[i];
        struct mpr_number n;
        if (!c->shifted) continue;
        mpr_doc_add_plain(doc, "clocks: %s is about %s %s %s, by %s: its times are put right",
                          c->host, mpr_units_span(&n, (uint64_t)llabs(c->ahead_ns)),
                          c->ahead_ns > 0 ? "ahead of" : "behind", r->rank[0].host,
                          c->by == MPR_CLOCK_BY_RANGE ? "the first range that they have in common"
                                                      : "when they made a communicator");
        mpr_doc_end_wrapped(doc, 2);
    }
}

/* ---- the first failure */

static const struct mpr_column failed_columns[] = {
    { .key = "rank", .get = rank_number },
    { .key = "name", .type = MPR_TEXT, OF_RANK(name) },
    { .key = "host", .type = MPR_TEXT, OF_RANK(host), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "failed_realtime_ns", .type = MPR_COUNT, OF_RANK(failed_ns) },
};

/* Returns the first out-of-memory failure that the rank did not survive, or NULL if the digest has
 * no room for it or the rank was killed for host memory. */
static const struct mpr_digest_oom *first_oom(const struct mpr_digest *d)
{
    for (size_t i = 0; i < d->ooms; i++)
        if (!d->oom[i].got_over && d->oom[i].time_ns == d->process->failed_ns) return &d->oom[i];
    return NULL;
}

static void first_to_fail(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const struct mpr_rank *first = &r->rank[r->failed[0]];
    const struct mpr_digest_oom *o = first_oom(first->digest);
    mpr_doc_add(doc, MPR_WARN, "first to fail: %s", first->name);
    mpr_doc_add_plain(doc, " on %s", first->host);
    if (r->heat_width && first->failed_ns >= r->heat_from)
        mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, first->failed_ns - r->heat_from));
    if (o)
        mpr_doc_add_plain(doc, ": asked %s of %s, in %s", mpr_doc_size(doc, o->asked_bytes),
                          mpr_heap_name(o->heap), o->path);
    else
        mpr_doc_add_plain(doc, ": %s",
                          first->digest->process->ooms_hard ? "out of device memory"
                                                            : "killed for host memory");
    if (r->failures > 1)
        mpr_doc_add_plain(doc, "; then %s more", mpr_doc_count(doc, r->failures - 1));
    mpr_doc_end_wrapped(doc, 2);
}

static void failures(struct mpr_document *doc, const struct mpr_ranks *r)
{
    struct mpr_rank *row = mpr_arena_alloc(&doc->arena, r->failures * sizeof *row);
    for (size_t i = 0; i < r->failures; i++) row[i] = r->rank[r->failed[i]];
    mpr_doc_objects(doc, "failed", failed_columns, row, r->failures);
    if (r->failures) first_to_fail(doc, r);
}

/* Counts the endings of processes, unless all ended in the same way. */
static void endings(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { WORDS = 6 };
    const char *word[WORDS];
    size_t count[WORDS] = { 0 }, words = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const char *ended = r->rank[i].digest->process->ended;
        size_t k = 0;
        while (k < words && strcmp(word[k], ended) != 0) k++;
        if (k == WORDS) return;
        if (k == words) word[words++] = ended;
        count[k]++;
    }
    if (words < 2) return;
    mpr_doc_add_plain(doc, "ended:");
    for (size_t k = 0; k < words; k++)
        mpr_doc_add_plain(doc, "%s %s by %s", k ? "," : "", mpr_doc_count(doc, count[k]), word[k]);
    mpr_doc_end_wrapped(doc, 2);
}

/* ---- spread */

struct shown_measure {
    const char *of, *name, *min_rank, *max_rank;
    uint64_t median, min, max, apart;
    bool estimated;
};

// clang-format off
static const struct mpr_column measure_columns[] = {
    { .key = "of", .type = MPR_WORD, OF_MEASURE(of) },
    { .key = "name", .title = "", .type = MPR_TEXT, OF_MEASURE(name), .width = 24 },
    { .key = "median_bytes", .title = "median", .type = MPR_BYTES, OF_MEASURE(median),
      .estimate = true },
    { .key = "least_bytes", .title = "least", .type = MPR_BYTES, OF_MEASURE(min), .spare = 3,
      .estimate = true },
    { .key = "least_rank", .title = "of", .type = MPR_TEXT, OF_MEASURE(min_rank), .width = 9,
      .spare = 1 },
    { .key = "most_bytes", .title = "most", .type = MPR_BYTES, OF_MEASURE(max), .estimate = true },
    { .key = "most_rank", .title = "of", .type = MPR_TEXT, OF_MEASURE(max_rank), .width = 9,
      .spare = 2 },
    { .key = "apart", .title = "apart", .type = MPR_COUNT, OF_MEASURE(apart), .width = 7 },
    { .key = "estimated", .type = MPR_FLAG, OF_MEASURE(estimated), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static struct shown_measure measure_of(const struct mpr_ranks *r, const struct mpr_ranks_measure *m)
{
    return (struct shown_measure){ m->part ? "part" : "heap",
                                   m->name,
                                   r->rank[m->least_rank].name,
                                   r->rank[m->most_rank].name,
                                   m->median,
                                   m->least,
                                   m->most,
                                   m->aparts,
                                   m->estimated };
}

static bool is_estimated(const void *row) { return ((const struct shown_measure *)row)->estimated; }

static void spread(struct mpr_document *doc, const struct mpr_ranks *r)
{
    struct shown_measure *row = mpr_arena_alloc(&doc->arena, r->measures * sizeof *row);
    size_t heaps = 0;
    for (size_t i = 0; i < r->measures; i++) {
        row[i] = measure_of(r, &r->measure[i]);
        heaps += !r->measure[i].part;
    }
    mpr_doc_objects(doc, "measures", measure_columns, row, r->measures);
    mpr_doc_table(doc, &(struct mpr_table){ .title = "peak of each heap",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(measure_columns),
                                            MPR_ROWS(row, heaps),
                                            .estimated = is_estimated });
    if (heaps == r->measures) return;
    mpr_doc_table(doc, &(struct mpr_table){ .title = "of the devices, at their peaks",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(measure_columns),
                                            MPR_ROWS(row + heaps, r->measures - heaps) });
}

/* ---- CSV: a row for each rank and measure */

struct cell {
    const char *name, *host, *of, *measure, *stage, *cause;
    uint64_t rank, pid, value, median;
    int64_t change, cause_change;
    bool apart, estimated;
};

// clang-format off
static const struct mpr_column cell_columns[] = {
    { .key = "rank", .type = MPR_COUNT, OF_CELL(rank), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "name", .type = MPR_TEXT, OF_CELL(name) },
    { .key = "host", .type = MPR_TEXT, OF_CELL(host) },
    { .key = "pid", .type = MPR_COUNT, OF_CELL(pid) },
    { .key = "of", .type = MPR_TEXT, OF_CELL(of) },
    { .key = "measure", .type = MPR_TEXT, OF_CELL(measure) },
    { .key = "bytes", .type = MPR_BYTES, OF_CELL(value) },
    { .key = "median_bytes", .type = MPR_BYTES, OF_CELL(median) },
    { .key = "change_bytes", .type = MPR_CHANGE, OF_CELL(change) },
    { .key = "apart", .type = MPR_FLAG, OF_CELL(apart) },
    { .key = "cause", .type = MPR_TEXT, OF_CELL(cause), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "cause_change_bytes", .type = MPR_CHANGE, OF_CELL(cause_change) },
    { .key = "estimated", .type = MPR_FLAG, OF_CELL(estimated) },
    { .key = "stage", .type = MPR_TEXT, OF_CELL(stage), .unless = MPR_UNKNOWN_AT_0 },
};
// clang-format on

static struct cell cell_of(const struct mpr_ranks *r, size_t rank, size_t measure)
{
    const struct mpr_rank *of = &r->rank[rank];
    const struct mpr_ranks_measure *m = &r->measure[measure];
    return (struct cell){ .name = of->name,
                          .host = of->host,
                          .of = m->part ? "part" : "heap",
                          .measure = m->name,
                          .rank = of->number,
                          .pid = of->digest->process->pid,
                          .estimated = m->estimated,
                          .value = m->value[rank],
                          .stage = "",
                          .median = m->value[m->usual[rank]],
                          .change =
                              mpr_signed_difference(m->value[m->usual[rank]], m->value[rank]) };
}

static void stages(struct cell *cell, const struct mpr_ranks *r, size_t measure)
{
    const struct mpr_ranks_measure *m = &r->measure[measure];
    for (size_t i = 0; m->split && i < m->split->classes; i++)
        for (size_t k = 0; k < m->stage[i].ranks; k++)
            cell[m->stage[i].rank[k] * r->measures + measure].stage = m->stage[i].members;
}

static void cells(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const size_t count = r->ranks * r->measures;
    struct cell *cell = mpr_arena_alloc(&doc->arena, count * sizeof *cell);
    for (size_t i = 0; i < count; i++) cell[i] = cell_of(r, i / r->measures, i % r->measures);
    for (size_t m = 0; m < r->measures; m++) {
        stages(cell, r, m);
        for (size_t i = 0; i < r->measure[m].aparts; i++)
            cell[r->measure[m].apart[i] * r->measures + m].apart = true;
    }
    for (size_t i = 0; i < r->outliers; i++) {
        const struct mpr_ranks_outlier *o = &r->outlier[i];
        if (!o->causes) continue;
        cell[o->rank * r->measures + o->measure].cause = o->cause[0].path;
        cell[o->rank * r->measures + o->measure].cause_change = o->cause[0].change;
    }
    mpr_doc_table(doc, &(struct mpr_table){
                           .only = MPR_IN_CSV, MPR_COLUMNS(cell_columns), MPR_ROWS(cell, count) });
    mpr_doc_csv(doc, cell_columns);
}

/* ---- the first lines of a summary */

/* Returns true if all ranks have at least nine tenths of the largest value. */
static bool is_common(const struct mpr_ranks_measure *m)
{
    enum { LEAST_BYTES = 64 << 20 };
    static const char *const nobodys[] = { "recorded_processes", "other_processes", "unknown" };
    if (m->part && strncmp(m->part, "torch_", 6) == 0) return false; /* it is in a heap */
    for (size_t i = 0; m->part && i < sizeof nobodys / sizeof *nobodys; i++)
        if (strcmp(m->part, nobodys[i]) == 0) return false;
    return !m->inside && m->median >= LEAST_BYTES && m->least >= m->most / 10 * 9;
}

/* Returns the largest finding of its kind if each rank has one, or NULL. */
static const struct mpr_digest_finding *common_finding(const struct mpr_ranks *r, const char *kind)
{
    const struct mpr_digest_finding *largest = NULL;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        size_t k = 0;
        while (k < d->findings && strcmp(d->finding[k].finding, kind) != 0) k++;
        if (k == d->findings) return NULL;
        if (!largest || d->finding[k].saves_at_most_bytes > largest->saves_at_most_bytes)
            largest = &d->finding[k];
    }
    return largest;
}

/* One line for all that the ranks have in common: bytes, and findings. */
static void common(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { SHOWN = 4, FINDINGS = 2 };
    const struct mpr_digest *first = r->rank[0].digest;
    size_t shown = 0, findings = 0;
    for (size_t i = 0; i < r->measures && shown < SHOWN; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (!is_common(m)) continue;
        mpr_doc_add_plain(doc, "%s %s of %s", shown++ ? "," : "each rank holds about",
                          mpr_doc_size(doc, m->median), m->name);
    }
    for (size_t i = 0; i < first->findings && findings < FINDINGS; i++) {
        const struct mpr_digest_finding *f = common_finding(r, first->finding[i].finding);
        if (!f) continue;
        mpr_doc_add_plain(doc, "%s%s %s (%s)", shown && !findings ? "; " : "",
                          findings ? "," : "each rank has the finding", f->finding,
                          mpr_doc_size(doc, f->saves_at_most_bytes));
        findings++;
    }
    if (shown || findings) mpr_doc_end_wrapped(doc, 2);
}

/* Returns the largest peak of a heap in the rank. */
static uint64_t largest_peak(const struct mpr_rank *rank)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < rank->digest->heaps; i++)
        if (rank->digest->heap[i].peak_bytes > peak) peak = rank->digest->heap[i].peak_bytes;
    return peak;
}

/* Returns why the summary is about this rank; "" if an option chose it. */
static const char *reason(const struct mpr_ranks *r, size_t rank)
{
    if (r->failures) return r->failed[0] == rank ? ", which failed first" : "";
    for (size_t i = 0; i < r->ranks; i++)
        if (largest_peak(&r->rank[i]) > largest_peak(&r->rank[rank])) return "";
    return ", which has the largest peak";
}

/* Says which rank the rest of the summary is about, and why. */
static void shown_rank(struct mpr_document *doc, const struct mpr_ranks *r, const char *rank)
{
    for (size_t i = 0; i < r->ranks; i++) {
        if (strcmp(r->rank[i].digest->process->rank, rank) != 0) continue;
        mpr_doc_add_plain(doc, "look at ");
        mpr_doc_add(doc, MPR_STRONG, "%s", r->rank[i].name);
        mpr_doc_add_plain(doc, "%s:", reason(r, i));
        mpr_doc_end(doc);
        mpr_doc_gap(doc);
        return;
    }
}

/* Memory on another rank's GPU explains a difference between the two. */
static void foreign(struct mpr_document *doc, const struct mpr_insights *in)
{
    for (size_t i = 0; i < in->findings; i++) {
        if (in->finding[i].kind != MPR_FINDING_FOREIGN_GPU) continue;
        mpr_doc_add_plain(doc, "%s", mpr_finding_text(&doc->arena, &in->finding[i]).what);
        mpr_doc_end_wrapped(doc, 2);
    }
}

void mpr_report_job(struct mpr_document *doc, const struct mpr_ranks *r,
                    const struct mpr_insights *in)
{
    mpr_doc_open(doc, "job");
    mpr_doc_set_epoch(doc, r->heat_width ? r->heat_from : 0);
    mpr_doc_fact(doc, "ranks", mpr_value_number(MPR_COUNT, r->ranks));
    mpr_doc_fact(doc, "nodes", mpr_value_number(MPR_COUNT, r->nodes));
    mpr_doc_fact(doc, "missing", mpr_value_known_text(r->missing, MPR_UNKNOWN));
    heading(doc, r);
    missing_and_doubled(doc, r);
    incomplete(doc, r);
    failures(doc, r);
    endings(doc, r);
    foreign(doc, in);
    mpr_report_ranks_differences(doc, r);
    common(doc, r);
    shown_rank(doc, r, in->peaks.log[0].summary.process.rank);
    mpr_doc_close(doc);
}

/* ---- all */

void mpr_report_ranks(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_report_schema(doc, "memprof.ranks/1");
    mpr_doc_set_epoch(doc, r->heat_width ? r->heat_from : 0);
    fields(doc, r);
    heading(doc, r);
    missing_and_doubled(doc, r);
    incomplete(doc, r);
    blocks(doc, r);
    clocks(doc, r);
    failures(doc, r);
    endings(doc, r);
    mpr_report_ranks_outliers(doc, r);
    mpr_report_ranks_stages(doc, r);
    spread(doc, r);
    mpr_report_ranks_groups(doc, r);
    mpr_report_ranks_heat(doc, r);
    cells(doc, r);
}
