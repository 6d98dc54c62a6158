/* The ranks of a job side by side: missing ones, the first failure, outliers with their causes,
 * the spread of each measure, then nodes, communicators, and bytes over time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "ranks.h"
#include "reports.h"
#include "units.h"

/* ---- fields */

#define OF_RANK(member)    MPR_FIELD(mpr_rank, member)
#define OF_MEASURE(member) MPR_FIELD(mpr_ranks_measure, member)
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

/* ---- the set of ranks */

static void heading(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_add(doc, MPR_STRONG, "%s",
                mpr_doc_counted(doc, r->ranks, r->numbered ? "rank" : "process",
                                r->numbered ? "ranks" : "processes"));
    mpr_doc_add_plain(doc, " on %s", mpr_doc_counted(doc, r->nodes, "node", "nodes"));
    if (r->belonging)
        mpr_doc_add_plain(doc, "; %s of their other processes omitted",
                          mpr_doc_count(doc, r->belonging));
    if (r->executed)
        mpr_doc_add_plain(doc, "; %s of other programs that they executed omitted",
                          mpr_doc_counted(doc, r->executed, "log", "logs"));
    if (r->unranked)
        mpr_doc_add_plain(doc, "; %s without a rank omitted", mpr_doc_count(doc, r->unranked));
    mpr_doc_end_wrapped(doc, 2);
}

/* "n01 pid 5, a.zst" */
static const char *process_words(struct mpr_document *doc, const struct mpr_digest *d)
{
    return mpr_arena_format(&doc->arena, "%s pid %" PRIu64 ", %s", d->process->host,
                            d->process->pid, d->process->file);
}

static void missing_and_doubled(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { DOUBLES = 4 };
    if (r->missings) {
        mpr_doc_add(doc, MPR_WARN, "missing: %s %s", r->missings == 1 ? "rank" : "ranks",
                    r->missing);
        mpr_doc_end_wrapped(doc, 2);
    }
    for (size_t i = 0; i < r->duplicates && i < DOUBLES; i++) {
        const struct mpr_ranks_duplicate *d = &r->duplicate[i];
        mpr_doc_add(doc, MPR_WARN, "two logs of %s", d->name);
        mpr_doc_add_plain(doc, ": %s is compared, %s is not", process_words(doc, d->chosen),
                          process_words(doc, d->other));
        mpr_doc_end_wrapped(doc, 2);
    }
    if (r->duplicates > DOUBLES)
        mpr_doc_line(doc, "and two logs of %s more", mpr_doc_count(doc, r->duplicates - DOUBLES));
}

/* Counts incomplete logs, and with @with_blocks logs without some host blocks. The printed
 * setting is that of the first of these. */
static void lacking_logs(struct mpr_document *doc, const struct mpr_ranks *r, bool with_blocks)
{
    const char *setting = "";
    size_t incomplete = 0, lacking = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest_process *p = r->rank[i].digest->process;
        incomplete += p->incomplete;
        lacking += *p->host_blocks != 0;
        if (!*setting) setting = p->host_blocks;
    }
    if (incomplete) {
        mpr_doc_add(doc, MPR_WARN, "%s incomplete",
                    mpr_doc_counted(doc, incomplete, "log is", "logs are"));
        mpr_doc_end(doc);
    }
    if (lacking && with_blocks)
        mpr_doc_line(doc, "%s some malloc blocks (MEMPROF_HOST=%s)",
                     mpr_doc_counted(doc, lacking, "log lacks", "logs lack"), setting);
}

static void clocks(struct mpr_document *doc, const struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->clocks; i++) {
        const struct mpr_ranks_clock *c = &r->clock[i];
        struct mpr_number n;
        if (!c->shifted) continue;
        mpr_doc_add_plain(doc,
                          "clocks: %s is about %s %s %s, judging by %s; its times are corrected",
                          c->host, mpr_units_span(&n, (uint64_t)llabs(c->ahead_ns)),
                          c->ahead_ns > 0 ? "ahead of" : "behind", r->rank[0].host,
                          c->by == MPR_CLOCK_BY_RANGE ? "the first range of both"
                                                      : "the creation of a communicator");
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

/* Says why the first rank failed. Its digest may not have the event, because the number of
 * events in it is limited. */
static void first_to_fail(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const struct mpr_rank *first = &r->rank[r->failed[0]];
    const struct mpr_digest *d = first->digest;
    const struct mpr_digest_oom *o = NULL;
    for (size_t i = 0; i < d->ooms && !o; i++)
        if (!d->oom[i].got_over && d->oom[i].time_ns == d->process->failed_ns) o = &d->oom[i];
    mpr_doc_add(doc, MPR_WARN, "first to fail: %s", first->name);
    mpr_doc_add_plain(doc, " on %s", first->host);
    if (r->heat_width && first->failed_ns >= r->heat_from)
        mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, first->failed_ns - r->heat_from));
    if (o)
        mpr_doc_add_plain(doc, ": asked %s of %s, in %s", mpr_doc_size(doc, o->asked_bytes),
                          mpr_heap_name(o->heap), o->path);
    else
        mpr_doc_add_plain(
            doc, ": %s", d->process->ooms_hard ? "out of device memory" : "killed for host memory");
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

/* Counts the kinds of endings, unless all processes ended in the same way. */
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

void mpr_report_ranks_processes(struct mpr_document *doc, const struct mpr_ranks *r, bool brief)
{
    heading(doc, r);
    missing_and_doubled(doc, r);
    lacking_logs(doc, r, !brief);
    if (!brief) clocks(doc, r);
    failures(doc, r);
    endings(doc, r);
}

/* ---- spread */

#define MEASURE(function, ...)                                                                     \
    MPR_VALUE_IN(function, mpr_ranks_measure, m, mpr_ranks, r, __VA_ARGS__)
MEASURE(measure_of, mpr_value_text(m->part ? "part" : "heap"))
MEASURE(least_rank, mpr_value_text(r->rank[m->all.min_rank].name))
MEASURE(most_rank, mpr_value_text(r->rank[m->all.max_rank].name))

// clang-format off
static const struct mpr_column measure_columns[] = {
    { .key = "of", .get = measure_of },
    { .key = "name", .title = "", .type = MPR_TEXT, OF_MEASURE(name), .width = 24 },
    { .key = "median_bytes", .title = "median", .type = MPR_BYTES, OF_MEASURE(all.median),
      .estimate = true },
    { .key = "least_bytes", .title = "min", .type = MPR_BYTES, OF_MEASURE(all.min), .spare = 3,
      .estimate = true },
    { .key = "least_rank", .title = "rank", .type = MPR_TEXT, .get = least_rank, .width = 9,
      .spare = 1 },
    { .key = "most_bytes", .title = "max", .type = MPR_BYTES, OF_MEASURE(all.max), .estimate = true },
    { .key = "most_rank", .title = "rank", .type = MPR_TEXT, .get = most_rank, .width = 9,
      .spare = 2 },
    { .key = "apart", .title = "outliers", .type = MPR_COUNT, OF_MEASURE(outliers), .width = 9 },
    { .key = "estimated", .type = MPR_FLAG, OF_MEASURE(estimated), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static bool is_estimated(const void *row)
{
    return ((const struct mpr_ranks_measure *)row)->estimated;
}

static void spread(struct mpr_document *doc, const struct mpr_ranks *r)
{
    size_t heaps = 0;
    while (heaps < r->measures && !r->measure[heaps].part) heaps++;
    mpr_doc_rows(doc, measure_columns, r->measure, r->measures, .key = "measures",
                 .only = MPR_IN_JSON, .all = MPR_IN_JSON, .context = r);
    mpr_doc_rows(doc, measure_columns, r->measure, heaps, .title = "peak of each heap",
                 .only = MPR_FOR_PEOPLE, .context = r, .estimated = is_estimated);
    if (heaps < r->measures)
        mpr_doc_rows(doc, measure_columns, r->measure + heaps, r->measures - heaps,
                     .title = "parts of devices at peak", .only = MPR_FOR_PEOPLE, .context = r);
}

/* ---- nodes */

MPR_VALUE_IN(node_most_rank, mpr_ranks_node, n, mpr_ranks, r,
             mpr_value_text(r->rank[n->values.max_rank].name))
#define OF_NODE(member) MPR_FIELD(mpr_ranks_node, member)

// clang-format off
static const struct mpr_column node_columns[] = {
    { .key = "host", .title = "", .type = MPR_TEXT, OF_NODE(host), .width = 20 },
    { .key = "ranks", .title = "ranks", .type = MPR_COUNT, OF_NODE(values.ranks), .width = 7 },
    { .key = "median_bytes", .title = "median", .type = MPR_BYTES, OF_NODE(values.median),
      .estimate = true },
    { .key = "most_bytes", .title = "max", .type = MPR_BYTES, OF_NODE(values.max), .estimate = true },
    { .key = "most_rank", .title = "rank", .type = MPR_TEXT, .get = node_most_rank, .width = 9,
      .spare = 2 },
    { .key = "rss_sum_bytes", .title = "sum of RSS", .type = MPR_BYTES, OF_NODE(rss_sum),
      .unless = MPR_UNKNOWN_AT_MAX, .spare = 1 },
    { .key = "failed", .title = "failed", .type = MPR_COUNT, OF_NODE(failed), .width = 8 },
};
// clang-format on

static bool always(const void *row)
{
    (void)row;
    return true;
}

static void nodes(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const struct mpr_ranks_measure *m = &r->measure[r->shown];
    mpr_doc_rows(doc, node_columns, r->node, r->nodes, .key = "nodes",
                 .title = mpr_arena_format(&doc->arena, "%s by node", m->name),
                 .only = r->nodes > 1 ? 0 : MPR_IN_JSON, .all = MPR_IN_JSON, .context = r,
                 .estimated = m->estimated ? always : NULL);
}

/* ---- communicators */

#define OF_GROUP(member) MPR_FIELD(mpr_ranks_group, member)

// clang-format off
static const struct mpr_column group_columns[] = {
    { .key = "communicator", .type = MPR_TEXT, OF_GROUP(name) },
    { .key = "ranks", .type = MPR_COUNT, OF_GROUP(size), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "present", .type = MPR_COUNT, OF_GROUP(present) },
    { .key = "members", .type = MPR_TEXT, OF_GROUP(members) },
    { .key = "first_use", .type = MPR_TEXT, OF_GROUP(first_use), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "median_bytes", .type = MPR_BYTES, OF_GROUP(median) },
    { .key = "most_bytes", .type = MPR_BYTES, OF_GROUP(max) },
    { .key = "communicator_bytes", .type = MPR_BYTES, OF_GROUP(bytes) },
};
// clang-format on

/* Returns the name of communicators with the same size and first use. */
static const char *kind_words(struct mpr_document *doc, const struct mpr_ranks_kind *k)
{
    const char *size = k->size == UINT64_MAX
                           ? "ranks not known"
                           : mpr_arena_format(&doc->arena, "%s ranks", mpr_doc_count(doc, k->size));
    return *k->first_use ? mpr_arena_format(&doc->arena, "%s, first %s", size, k->first_use) : size;
}

MPR_VALUE(kind_name, mpr_ranks_kind, k, mpr_value_text(kind_words(doc, k)))
#define OF_KIND(member) MPR_FIELD(mpr_ranks_kind, member)

// clang-format off
static const struct mpr_column kind_columns[] = {
    { .key = "ranks", .title = "", .type = MPR_COUNT, OF_KIND(size), .unless = MPR_UNKNOWN_AT_MAX,
      MPR_SHOWN(MPR_TEXT, kind_name), .width = 32 },
    { .key = "first_use", .type = MPR_TEXT, OF_KIND(first_use), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "groups", .title = "groups", .type = MPR_COUNT, OF_KIND(groups), .width = 8 },
    { .key = "communicator_bytes", .title = "each", .type = MPR_BYTES, OF_KIND(bytes), .spare = 2 },
    { .key = "median_bytes", .title = "median", .type = MPR_BYTES, OF_KIND(median) },
};
// clang-format on

/* Says which groups are outliers among those of the same size and first use, such as a pipeline
 * stage that holds more. */
static void outlier_groups(struct mpr_document *doc, const struct mpr_ranks *r,
                           const struct mpr_ranks_kind *k)
{
    enum { SHOWN = 3 };
    if (!k->outliers) return;
    mpr_doc_add_plain(doc, "    %s of %s groups differ from the others by their median: ",
                      mpr_doc_count(doc, k->outliers), mpr_doc_count(doc, k->groups));
    for (size_t i = 0; i < k->outliers && i < SHOWN; i++) {
        const struct mpr_ranks_group *g = &r->group[k->outlier[i]];
        mpr_doc_add_plain(doc, "%s%s %s", i ? ", " : "", g->members, mpr_doc_size(doc, g->median));
    }
    if (k->outliers > SHOWN) mpr_doc_add_plain(doc, ", ...");
    mpr_doc_end_wrapped(doc, 4);
}

static void groups(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_objects(doc, "communicators", group_columns, r->group, r->groups);
    if (r->kinds)
        mpr_doc_rows(doc, kind_columns, r->kind, r->kinds, .key = "kinds", .all = MPR_IN_JSON,
                     .title = mpr_arena_format(&doc->arena, "%s by communicator",
                                               r->measure[r->shown].name));
    for (size_t i = 0; i < r->kinds; i++) outlier_groups(doc, r, &r->kind[i]);
}

/* ---- over time */

enum { ROWS = 32, LABEL = 9 };

MPR_VALUE_IN(heat_bytes, mpr_rank, rank, mpr_ranks, r,
             mpr_value_numbers(r->heat + (rank - r->rank) * MPR_RANKS_COLUMNS, MPR_RANKS_COLUMNS))

static const struct mpr_column heat_columns[] = {
    { .key = "name", .type = MPR_TEXT, OF_RANK(name) },
    { .key = "bytes", .type = MPR_NUMBERS, .get = heat_bytes },
};

/* Returns the largest value of consecutive ranks. */
static uint64_t most_of(const struct mpr_ranks *r, size_t from, size_t to, size_t column)
{
    uint64_t max = 0;
    for (size_t i = from; i < to; i++)
        if (r->heat[i * MPR_RANKS_COLUMNS + column] > max)
            max = r->heat[i * MPR_RANKS_COLUMNS + column];
    return max;
}

/* Returns "rank 3" or "32-63"; without the first word if that is too long for the column. */
static const char *label(struct mpr_document *doc, const struct mpr_ranks *r, size_t from,
                         size_t to)
{
    const char *first = r->rank[from].name, *last = r->rank[to - 1].name;
    const char *number = first + strcspn(first, " "), *end = last + strcspn(last, " ");
    if (to - from > 1) return mpr_arena_format(&doc->arena, "%s-%s", number + 1, end + 1);
    return strlen(first) > LABEL ? number + 1 : first;
}

static void heat_row(struct mpr_document *doc, const struct mpr_ranks *r, size_t from, size_t to)
{
    static const char *const eighth[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    size_t columns = MPR_RANKS_COLUMNS;
    while (columns && !most_of(r, from, to, columns - 1)) columns--;
    mpr_doc_add_plain(doc, "  %-*.*s ", LABEL, LABEL, label(doc, r, from, to));
    for (size_t i = 0; i < columns; i++) {
        const uint64_t bytes = most_of(r, from, to, i);
        const double filled = (double)bytes / (double)r->heat_max * 8;
        mpr_doc_add_plain(doc, "%s",
                          eighth[!bytes       ? 0
                                 : filled < 1 ? 1
                                 : filled > 8 ? 8
                                              : (int)filled]);
    }
    mpr_doc_end(doc);
}

static void heat(struct mpr_document *doc, const struct mpr_ranks *r)
{
    if (!r->heat_width) return;
    const struct mpr_ranks_measure *m = &r->measure[r->shown];
    const size_t each = (r->ranks + ROWS - 1) / ROWS;
    mpr_doc_open(doc, "heat");
    mpr_doc_fact(doc, "heap", mpr_value_text(m->name));
    mpr_doc_fact(doc, "from_realtime_ns", mpr_value_number(MPR_COUNT, r->heat_from));
    mpr_doc_fact(doc, "width_ns", mpr_value_number(MPR_SPAN, r->heat_width));
    mpr_doc_rows(doc, heat_columns, r->rank, r->ranks, .key = "ranks", .only = MPR_IN_JSON,
                 .all = MPR_IN_JSON, .context = r);
    mpr_doc_close(doc);
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "%s over %s from the first start; full height: %s%s", m->name,
                      mpr_doc_duration(doc, r->heat_width * MPR_RANKS_COLUMNS),
                      m->estimated ? "~" : "", mpr_doc_size(doc, r->heat_max));
    if (each > 1) mpr_doc_add_plain(doc, "; a row is the maximum of %zu ranks", each);
    mpr_doc_end_wrapped(doc, 2);
    for (size_t i = 0; i < r->ranks; i += each)
        heat_row(doc, r, i, i + each < r->ranks ? i + each : r->ranks);
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

static void cells(struct mpr_document *doc, const struct mpr_ranks *r)
{
    const size_t count = r->ranks * r->measures;
    struct cell *cell = mpr_arena_alloc(&doc->arena, count * sizeof *cell);
    for (size_t i = 0; i < count; i++) {
        const size_t rank = i / r->measures;
        const struct mpr_rank *of = &r->rank[rank];
        const struct mpr_ranks_measure *m = &r->measure[i % r->measures];
        const uint64_t usual = m->value[m->reference[rank]];
        cell[i] = (struct cell){ .name = of->name,
                                 .host = of->host,
                                 .of = m->part ? "part" : "heap",
                                 .measure = m->name,
                                 .rank = of->number,
                                 .pid = of->digest->process->pid,
                                 .estimated = m->estimated,
                                 .value = m->value[rank],
                                 .stage = "",
                                 .median = usual,
                                 .change = mpr_signed_difference(usual, m->value[rank]) };
    }
    for (size_t k = 0; k < r->measures; k++) {
        const struct mpr_ranks_measure *m = &r->measure[k];
        for (size_t i = 0; i < m->outliers; i++) cell[m->outlier[i] * r->measures + k].apart = true;
        for (size_t i = 0; m->split && i < m->split->classes; i++)
            for (size_t n = 0; n < m->stage[i].values.ranks; n++)
                cell[m->stage[i].values.rank[n] * r->measures + k].stage = m->stage[i].members;
    }
    for (size_t i = 0; i < r->outliers; i++) {
        const struct mpr_ranks_outlier *o = &r->outlier[i];
        if (!o->causes) continue;
        cell[o->rank * r->measures + o->measure].cause = o->cause[0].path;
        cell[o->rank * r->measures + o->measure].cause_change = o->cause[0].change;
    }
    mpr_doc_rows(doc, cell_columns, cell, count, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, cell_columns);
}

/* ---- all */

void mpr_report_ranks(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_report_schema(doc, "memprof.ranks/1");
    mpr_doc_set_epoch(doc, r->heat_width ? r->heat_from : 0);
    mpr_doc_objects(doc, "ranks", rank_columns, r->rank, r->ranks);
    mpr_doc_fact(doc, "missing_ranks", mpr_value_number(MPR_COUNT, r->missings));
    mpr_doc_fact(doc, "missing", mpr_value_known_text(r->missing, MPR_UNKNOWN));
    mpr_doc_fact(doc, "doubled_ranks", mpr_value_number(MPR_COUNT, r->duplicates));
    mpr_doc_fact(doc, "belonging_processes", mpr_value_number(MPR_COUNT, r->belonging));
    mpr_doc_fact(doc, "executed_programs", mpr_value_number(MPR_COUNT, r->executed));
    mpr_doc_fact(doc, "processes_without_rank", mpr_value_number(MPR_COUNT, r->unranked));
    mpr_doc_objects(doc, "clocks", clock_columns, r->clock, r->clocks);
    mpr_report_ranks_processes(doc, r, false);
    mpr_report_ranks_outliers(doc, r, false);
    mpr_report_ranks_stages(doc, r);
    spread(doc, r);
    if (r->measures) {
        nodes(doc, r);
        groups(doc, r);
    }
    heat(doc, r);
    cells(doc, r);
}
