/* Why ranks differ: outliers, which share a line if they have the same reason, and stages, which
 * are groups of ranks with similar peaks that communicators define. Also the first lines of a
 * job's summary. */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "insights.h"
#include "ranks.h"
#include "reports.h"
#include "units.h"

/* ---- causes */

enum { CAUSES = 3 }; /* causes in a sentence */

static const struct mpr_column cause_columns[] = {
    { .key = "path", .type = MPR_TEXT, MPR_FIELD(mpr_ranks_cause, path) },
    { .key = "caller",
      .type = MPR_TEXT,
      MPR_FIELD(mpr_ranks_cause, caller),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_ranks_cause, bytes) },
    { .key = "median_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_ranks_cause, reference) },
    { .key = "change_bytes", .type = MPR_CHANGE, MPR_FIELD(mpr_ranks_cause, change), .sums = true },
    { .key = "estimated",
      .type = MPR_FLAG,
      MPR_FIELD(mpr_ranks_cause, estimated),
      .unless = MPR_ABSENT_AT_0 },
};

static void cause_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct mpr_ranks_outlier *o)
{
    mpr_doc_fact(doc, "causes_of", mpr_value_text(r->measure[o->cause_measure].name));
    mpr_doc_rows(doc, cause_columns, o->cause, o->causes, .key = "causes", .only = MPR_IN_JSON);
    mpr_doc_rows(doc, cause_columns, o->part, o->parts, .key = "account", .only = MPR_IN_JSON);
}

static const char *change(struct mpr_document *doc, int64_t bytes, bool estimated)
{
    struct mpr_number n;
    return mpr_arena_format(&doc->arena, "%s%s", estimated ? "~" : "", mpr_units_change(&n, bytes));
}

static void say_cause(struct mpr_document *doc, const struct mpr_ranks_cause *c)
{
    mpr_doc_add_plain(doc, "%s", mpr_frame_with_caller(&doc->arena, c->path, c->caller));
}

/* Says the largest causes in the direction of the change, how many others there are, and a cause
 * that opposes the change by more than a twentieth of it. If one cause explains the change up to
 * a twentieth, says only that. */
static void say_causes(struct mpr_document *doc, const struct mpr_ranks_cause *c, size_t count,
                       int64_t whole)
{
    const int64_t little = llabs(whole) / 20;
    size_t same = 0;
    while (same < count && (c[same].change > 0) == (whole > 0)) same++;
    if (!same) return;
    if (llabs(mpr_signed_sub(c->change, whole)) <= little) {
        mpr_doc_add_plain(doc, "%sall of it ", c->estimated ? "about " : "");
        say_cause(doc, c);
        return;
    }
    for (size_t i = 0; i < same && i < CAUSES; i++) {
        mpr_doc_add_plain(doc, "%s%s ", i ? "; " : "", change(doc, c[i].change, c[i].estimated));
        say_cause(doc, &c[i]);
    }
    if (same > CAUSES) mpr_doc_add_plain(doc, "; %s more", mpr_doc_count(doc, same - CAUSES));
    const struct mpr_ranks_cause *last = &c[count - 1];
    if (same == count || llabs(last->change) <= little) return;
    mpr_doc_add_plain(doc, ", but %s ", change(doc, last->change, last->estimated));
    say_cause(doc, last);
}

static void say_why(struct mpr_document *doc, const struct mpr_ranks *r,
                    const struct mpr_ranks_outlier *o)
{
    const uint64_t *value = r->measure[o->cause_measure].value;
    if (o->causes) mpr_doc_add_plain(doc, ": ");
    say_causes(doc, o->cause, o->causes,
               mpr_signed_difference(value[o->reference], value[o->rank]));
    if (o->cause_measure == o->measure && o->parts && (o->part[0].change > 0) == (o->change > 0))
        mpr_doc_add_plain(doc, "; in the device's account: %s %s", o->part[0].path,
                          change(doc, o->part[0].change, false));
}

/* ---- outliers */

static void outlier_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                           const struct mpr_ranks_outlier *o)
{
    const struct mpr_rank *rank = &r->rank[o->rank];
    const struct mpr_ranks_measure *m = &r->measure[o->measure];
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "rank", mpr_value_known(MPR_COUNT, rank->number, UINT64_MAX));
    mpr_doc_fact(doc, "name", mpr_value_text(rank->name));
    mpr_doc_fact(doc, "host", mpr_value_known_text(rank->host, MPR_UNKNOWN));
    mpr_doc_fact(doc, "heap", mpr_value_text(m->name));
    mpr_doc_fact(doc, "peak_bytes", mpr_value_number(MPR_BYTES, m->value[o->rank]));
    mpr_doc_fact(doc, "median_bytes", mpr_value_number(MPR_BYTES, m->value[o->reference]));
    mpr_doc_fact(doc, "change_bytes", mpr_value_amount(MPR_CHANGE, o->change));
    mpr_doc_fact(doc, "median_rank", mpr_value_text(r->rank[o->reference].name));
    if (m->estimated) mpr_doc_fact(doc, "estimated", mpr_value_flag(true));
    cause_fields(doc, r, o);
    mpr_doc_close(doc);
}

struct outlier_group {
    const struct mpr_ranks_outlier *first; /* with the largest difference */
    size_t ranks;
    int64_t smallest; /* change */
};

static bool has_same_reason(const struct mpr_ranks_outlier *a, const struct mpr_ranks_outlier *b)
{
    return a->measure == b->measure && a->cause_measure == b->cause_measure &&
           (a->change > 0) == (b->change > 0) &&
           strcmp(a->causes ? a->cause->alike : "", b->causes ? b->cause->alike : "") == 0 &&
           llabs(b->change) >= llabs(a->change) / 2;
}

/* Returns the groups in the order of their first outliers. *group: the group of each outlier. */
static struct outlier_group *group_outliers(struct mpr_document *doc, const struct mpr_ranks *r,
                                            size_t **group, size_t *count)
{
    struct outlier_group *all = mpr_arena_alloc(&doc->arena, r->outliers * sizeof *all);
    *group = mpr_arena_alloc(&doc->arena, r->outliers * sizeof **group);
    *count = 0;
    for (size_t i = 0; i < r->outliers; i++) {
        const struct mpr_ranks_outlier *o = &r->outlier[i];
        size_t k = 0;
        while (k < *count && !has_same_reason(all[k].first, o)) k++;
        if (k == *count) all[(*count)++] = (struct outlier_group){ .first = o };
        (*group)[i] = k;
        all[k].ranks++;
        all[k].smallest = o->change;
    }
    return all;
}

/* Returns the ranks of a group: "ranks {0..7}", "rank 3" or "3 processes". */
static const char *group_words(struct mpr_document *doc, const struct mpr_ranks *r,
                               const size_t *group, size_t which)
{
    size_t *rank = mpr_arena_alloc(&doc->arena, r->outliers * sizeof *rank), ranks = 0;
    bool numbered = true;
    for (size_t i = 0; i < r->outliers; i++) {
        if (group[i] != which) continue;
        rank[ranks++] = r->outlier[i].rank;
        numbered &= r->rank[r->outlier[i].rank].number != UINT64_MAX;
    }
    qsort(rank, ranks, sizeof *rank, mpr_compare_numbers);
    if (ranks > 1 && !numbered) return mpr_arena_format(&doc->arena, "%zu processes", ranks);
    return mpr_arena_format(&doc->arena, "%s%s", ranks > 1 ? "ranks " : "",
                            mpr_ranks_set(r, &doc->arena, rank, ranks));
}

static void outlier_line(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct outlier_group *a, const char *ranks)
{
    const struct mpr_ranks_outlier *o = a->first;
    const bool about = r->measure[o->measure].estimated;
    mpr_doc_add(doc, MPR_STRONG, "  %s", ranks);
    if (a->ranks == 1) mpr_doc_add_plain(doc, " (%s)", r->rank[o->rank].host);
    mpr_doc_add_plain(doc, "  %s", r->measure[o->measure].name);
    mpr_doc_add(doc, MPR_STRONG, " %s", change(doc, o->change, about));
    if (a->ranks > 1 && a->smallest != o->change)
        mpr_doc_add_plain(doc, " to %s", change(doc, a->smallest, about));
    say_why(doc, r, o);
    mpr_doc_end_wrapped(doc, 4);
}

/* Adds "rank 5 holds 1.50 GiB more of gpuN/torch than rank 1: ..." */
static void pair_line(struct mpr_document *doc, const struct mpr_ranks *r,
                      const struct mpr_ranks_outlier *o)
{
    const struct mpr_ranks_measure *m = &r->measure[o->cause_measure];
    mpr_doc_add(doc, MPR_STRONG, "%s", r->rank[o->rank].name);
    mpr_doc_add_plain(doc, " holds %s%s more of %s than %s", m->estimated ? "~" : "",
                      mpr_doc_size(doc, m->value[o->rank] - m->value[o->reference]), m->name,
                      r->rank[o->reference].name);
    say_why(doc, r, o);
    mpr_doc_end_wrapped(doc, 2);
}

void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *r, bool brief)
{
    const size_t lines = brief ? 2 : 10;
    size_t count, *group;
    const struct outlier_group *all = group_outliers(doc, r, &group, &count);
    bool staged = false;
    for (size_t i = 0; i < r->measures; i++) staged |= r->measure[i].split && !r->measure[i].part;
    mpr_doc_list(doc, "outliers");
    for (size_t i = 0; i < r->outliers; i++) outlier_fields(doc, r, &r->outlier[i]);
    mpr_doc_close(doc);
    if (r->pair) {
        mpr_doc_list(doc, "pair");
        outlier_fields(doc, r, r->pair);
        mpr_doc_close(doc);
    }
    if (!brief) mpr_doc_gap(doc);
    if (r->pair) pair_line(doc, r, r->pair); /* a job of two ranks has no outliers */
    else if (count)
        mpr_doc_line(doc, "outliers, more than 5 %% from the median%s%s:",
                     staged ? " of their stage" : "", brief ? "" : ", largest difference first");
    else if (!brief)
        mpr_doc_line(doc, "%s",
                     r->ranks < 3 ? "too few ranks to name an outlier"
                     : staged     ? "no rank is an outlier in its stage"
                                  : "no rank is an outlier");
    for (size_t i = 0; i < count && i < lines; i++)
        outlier_line(doc, r, &all[i], group_words(doc, r, group, i));
    if (count > lines)
        mpr_doc_line(doc, "  and %s more for other reasons", mpr_doc_count(doc, count - lines));
}

/* ---- stages */

static const struct mpr_column axis_columns[] = {
    { .key = "ranks", .type = MPR_COUNT, MPR_FIELD(mpr_ranks_group, size) },
    { .key = "first_use",
      .type = MPR_TEXT,
      MPR_FIELD(mpr_ranks_group, first_use),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "members", .type = MPR_TEXT, MPR_FIELD(mpr_ranks_group, members) },
};

static void stage_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct mpr_ranks_stage *s)
{
    const struct mpr_ranks_outlier *o = &s->differs;
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "members", mpr_value_text(s->members));
    mpr_doc_fact(doc, "ranks", mpr_value_number(MPR_COUNT, s->values.ranks));
    mpr_doc_fact(doc, "median_bytes", mpr_value_number(MPR_BYTES, s->values.median));
    mpr_doc_fact(doc, "least_bytes", mpr_value_number(MPR_BYTES, s->values.min));
    mpr_doc_fact(doc, "most_bytes", mpr_value_number(MPR_BYTES, s->values.max));
    mpr_doc_fact(doc, "apart", mpr_value_number(MPR_COUNT, s->outliers));
    mpr_doc_fact(doc, "change_bytes", mpr_value_amount(MPR_CHANGE, o->change));
    mpr_doc_fact(doc, "median_rank", mpr_value_text(r->rank[o->rank].name));
    cause_fields(doc, r, o);
    mpr_doc_close(doc);
}

static void split_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct mpr_ranks_measure *m)
{
    static const char *const by[] = { [MPR_RANKS_BY_GROUP] = "group",
                                      [MPR_RANKS_BY_PLACE] = "place",
                                      [MPR_RANKS_BY_JOINED] = "joined" };
    struct mpr_ranks_group *axis = mpr_arena_alloc(&doc->arena, 2 * sizeof *axis);
    axis[0] = *m->split->axis->first;
    if (m->split->other) axis[1] = *m->split->other->first;
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_text(m->name));
    mpr_doc_fact(doc, "by", mpr_value_text(by[m->split->by]));
    mpr_doc_objects(doc, "groups", axis_columns, axis, m->split->other ? 2 : 1);
    mpr_doc_fact(doc, "within_bytes", mpr_value_number(MPR_BYTES, m->within));
    if (m->estimated) mpr_doc_fact(doc, "estimated", mpr_value_flag(true));
    mpr_doc_list(doc, "stages");
    for (size_t i = 0; i < m->split->classes; i++) stage_fields(doc, r, &m->stage[i]);
    mpr_doc_close(doc);
    mpr_doc_close(doc);
}

/* Adds "groups of 4 ranks, first ncclSend ({0,8,16,24} and 7 more)". */
static void say_axis(struct mpr_document *doc, const struct mpr_ranks_axis *a)
{
    mpr_doc_add_plain(doc, "groups of %s ranks", mpr_doc_count(doc, a->first->size));
    if (*a->first->first_use) mpr_doc_add_plain(doc, ", first %s", a->first->first_use);
    mpr_doc_add_plain(doc, " (%s and %s more)", a->first->members,
                      mpr_doc_count(doc, a->groups - 1));
}

static void say_split(struct mpr_document *doc, const struct mpr_ranks_measure *m)
{
    static const char *const each[] = { [MPR_RANKS_BY_GROUP] = "one of the ",
                                        [MPR_RANKS_BY_PLACE] = "one place in the ",
                                        [MPR_RANKS_BY_JOINED] = "joined by the " };
    const struct mpr_ranks_split *s = m->split;
    mpr_doc_add(doc, MPR_STRONG, "%s by stage", m->name);
    mpr_doc_add_plain(doc, ": each is %s", each[s->by]);
    say_axis(doc, s->axis);
    if (s->other) {
        mpr_doc_add_plain(doc, " and the ");
        say_axis(doc, s->other);
    }
    mpr_doc_add_plain(doc, "; ranks of one stage differ by at most %s%s", m->estimated ? "~" : "",
                      mpr_doc_size(doc, m->within));
    if (m->outliers)
        mpr_doc_add_plain(doc, ", except the %s above", mpr_doc_count(doc, m->outliers));
    mpr_doc_end_wrapped(doc, 2);
}

static void stages(struct mpr_document *doc, const struct mpr_ranks *r,
                   const struct mpr_ranks_measure *m)
{
    enum { LINES = 8 };
    mpr_doc_gap(doc);
    say_split(doc, m);
    for (size_t i = 0; i < m->split->classes && i < LINES; i++) {
        const struct mpr_ranks_stage *s = &m->stage[i];
        mpr_doc_add(doc, MPR_STRONG, "  %s%s", s->values.ranks > 1 ? "ranks " : "", s->members);
        mpr_doc_add_plain(doc, "  %s%s", m->estimated ? "~" : "",
                          mpr_doc_size(doc, s->values.median));
        if (s->differs.change) {
            mpr_doc_add(doc, MPR_STRONG, "  %s", change(doc, s->differs.change, m->estimated));
            say_why(doc, r, &s->differs);
        }
        mpr_doc_end_wrapped(doc, 4);
    }
    if (m->split->classes > LINES)
        mpr_doc_line(doc, "  and %s more", mpr_doc_count(doc, m->split->classes - LINES));
}

/* Adds the stages of each heap. People do not see those of a device if PyTorch's blocks on it
 * have stages with the same differences. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_list(doc, "stages");
    for (size_t i = 0; i < r->measures; i++)
        if (r->measure[i].split && !r->measure[i].part) split_fields(doc, r, &r->measure[i]);
    mpr_doc_close(doc);
    for (size_t i = 0; i < r->measures; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (m->split && !m->part && !m->inside && m->stage[0].differs.cause_measure == i)
            stages(doc, r, m);
    }
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
    return !m->inside && m->all.median >= LEAST_BYTES && m->all.min >= m->all.max / 10 * 9;
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
static void common_line(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { SHOWN = 4, FINDINGS = 2 };
    const struct mpr_digest *first = r->rank[0].digest;
    size_t shown = 0, findings = 0;
    for (size_t i = 0; i < r->measures && shown < SHOWN; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (!is_common(m)) continue;
        mpr_doc_add_plain(doc, "%s %s of %s", shown++ ? "," : "each rank holds about",
                          mpr_doc_size(doc, m->all.median), m->name);
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

/* Says which rank the rest of the summary is about, and why unless an option chose it. */
static void shown_rank(struct mpr_document *doc, const struct mpr_ranks *r, const char *rank)
{
    size_t at = 0;
    bool largest = true;
    while (at < r->ranks && strcmp(r->rank[at].digest->process->rank, rank) != 0) at++;
    if (at == r->ranks) return;
    for (size_t i = 0; i < r->ranks; i++) largest &= r->rank[i].peak <= r->rank[at].peak;
    mpr_doc_add_plain(doc, "look at ");
    mpr_doc_add(doc, MPR_STRONG, "%s", r->rank[at].name);
    mpr_doc_add_plain(doc, "%s:",
                      r->failures ? r->failed[0] == at ? ", which failed first" : ""
                      : largest   ? ", which has the largest peak"
                                  : "");
    mpr_doc_end(doc);
    mpr_doc_gap(doc);
}

void mpr_report_job(struct mpr_document *doc, const struct mpr_ranks *r,
                    const struct mpr_insights *in)
{
    mpr_doc_open(doc, "job");
    mpr_doc_set_epoch(doc, r->heat_width ? r->heat_from : 0);
    mpr_doc_fact(doc, "ranks", mpr_value_number(MPR_COUNT, r->ranks));
    mpr_doc_fact(doc, "nodes", mpr_value_number(MPR_COUNT, r->nodes));
    mpr_doc_fact(doc, "missing", mpr_value_known_text(r->missing, MPR_UNKNOWN));
    mpr_report_ranks_processes(doc, r, true);
    for (size_t i = 0; i < in->findings; i++) {
        if (in->finding[i].kind != MPR_FINDING_FOREIGN_GPU) continue;
        /* Memory on another rank's GPU explains a difference between the two. */
        mpr_doc_add_plain(doc, "%s", mpr_finding_text(&doc->arena, &in->finding[i]).what);
        mpr_doc_end_wrapped(doc, 2);
    }
    mpr_report_ranks_outliers(doc, r, true);
    common_line(doc, r);
    shown_rank(doc, r, in->peaks.log[0].summary.process.rank);
    mpr_doc_close(doc);
}
