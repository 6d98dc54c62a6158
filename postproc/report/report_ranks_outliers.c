/* Why ranks differ: outliers, for people one line for all with the same reason, and stages, which
 * are groups of ranks with similar peaks that communicators define. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "numbered_lines.h"
#include "report_ranks.h"
#include "units.h"

/* ---- causes */

enum { CAUSES = 3 }; /* in a sentence */

static const struct mpr_column cause_columns[] = {
    { .key = "path", .type = MPR_TEXT, MPR_FIELD(mpr_ranks_cause, path) },
    { .key = "caller",
      .type = MPR_TEXT,
      MPR_FIELD(mpr_ranks_cause, caller),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_ranks_cause, here) },
    { .key = "median_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_ranks_cause, median) },
    { .key = "change_bytes", .type = MPR_CHANGE, MPR_FIELD(mpr_ranks_cause, change), .sums = true },
    { .key = "estimated",
      .type = MPR_FLAG,
      MPR_FIELD(mpr_ranks_cause, estimated),
      .unless = MPR_ABSENT_AT_0 },
};

static void causes(struct mpr_document *doc, const char *key, const struct mpr_ranks_cause *cause,
                   size_t count)
{
    mpr_doc_table(doc, &(struct mpr_table){ .key = key,
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(cause_columns),
                                            MPR_ROWS(cause, count) });
}

static void cause_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct mpr_ranks_outlier *o)
{
    mpr_doc_fact(doc, "causes_of", mpr_value_text(r->measure[o->lines_of].name));
    causes(doc, "causes", o->cause, o->causes);
    causes(doc, "account", o->part, o->parts);
}

static const char *change(struct mpr_document *doc, int64_t bytes, bool estimated)
{
    struct mpr_number n;
    return mpr_arena_format(&doc->arena, "%s%s", estimated ? "~" : "", mpr_units_change(&n, bytes));
}

static void say_cause(struct mpr_document *doc, const struct mpr_ranks_cause *c)
{
    mpr_doc_add_plain(doc, "%s", c->path);
    if (*c->caller) mpr_doc_add_plain(doc, " <- %s", c->caller);
}

/* Returns true if the cause explains the change, except for a twentieth that always differs. */
static bool is_all(const struct mpr_ranks_cause *c, int64_t whole)
{
    return llabs(mpr_signed_sub(c->change, whole)) <= llabs(whole) / 20;
}

/* Says which cause opposes the change by more than a twentieth. */
static void say_against(struct mpr_document *doc, const struct mpr_ranks_cause *c, int64_t whole)
{
    if ((c->change > 0) == (whole > 0) || llabs(c->change) <= llabs(whole) / 20) return;
    mpr_doc_add_plain(doc, "; against it %s ", change(doc, c->change, c->estimated));
    say_cause(doc, c);
}

/* Says the first three causes in the direction of the change, and the number of others. */
static void say_causes(struct mpr_document *doc, const struct mpr_ranks_cause *c, size_t count,
                       int64_t whole)
{
    size_t same = 0;
    while (same < count && (c[same].change > 0) == (whole > 0)) same++;
    if (!same) return;
    if (is_all(&c[0], whole)) {
        mpr_doc_add_plain(doc, "%sall of it ", c[0].estimated ? "about " : "");
        say_cause(doc, &c[0]);
        return;
    }
    for (size_t i = 0; i < same && i < CAUSES; i++) {
        mpr_doc_add_plain(doc, "%s%s ", i ? "; " : "", change(doc, c[i].change, c[i].estimated));
        say_cause(doc, &c[i]);
    }
    if (same > CAUSES) mpr_doc_add_plain(doc, "; %s more", mpr_doc_count(doc, same - CAUSES));
    say_against(doc, &c[count - 1], whole);
}

static void say_why(struct mpr_document *doc, const struct mpr_ranks *r,
                    const struct mpr_ranks_outlier *o)
{
    const struct mpr_ranks_measure *lines = &r->measure[o->lines_of], *m = &r->measure[o->measure];
    const int64_t whole = mpr_signed_difference(lines->value[o->usual], lines->value[o->rank]);
    if (o->causes) mpr_doc_add_plain(doc, ": ");
    say_causes(doc, o->cause, o->causes, whole);
    if (lines != m) return;
    if (o->parts && (o->part[0].change > 0) == (o->change > 0))
        mpr_doc_add_plain(doc, "; of the account %s %s", o->part[0].path,
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
    mpr_doc_fact(doc, "peak_bytes", mpr_value_number(MPR_BYTES, o->value));
    mpr_doc_fact(doc, "median_bytes", mpr_value_number(MPR_BYTES, m->value[o->usual]));
    mpr_doc_fact(doc, "change_bytes", mpr_value_amount(MPR_CHANGE, o->change));
    mpr_doc_fact(doc, "median_rank", mpr_value_text(r->rank[o->usual].name));
    if (m->estimated) mpr_doc_fact(doc, "estimated", mpr_value_flag(true));
    cause_fields(doc, r, o);
    mpr_doc_close(doc);
}

/* Outliers with the same reason. */
struct alike {
    const struct mpr_ranks_outlier *first; /* the farthest of them */
    size_t *rank;
    size_t ranks;
    int64_t smallest; /* change */
};

static const char *reason(const struct mpr_ranks_outlier *o)
{
    return o->causes ? o->cause[0].alike : "";
}

static bool is_alike(const struct mpr_ranks_outlier *a, const struct mpr_ranks_outlier *b)
{
    return a->measure == b->measure && a->lines_of == b->lines_of &&
           (a->change > 0) == (b->change > 0) && strcmp(reason(a), reason(b)) == 0 &&
           llabs(b->change) >= llabs(a->change) / 2;
}

/* Returns the groups in the order of their first outliers. */
static struct alike *gather(struct mpr_document *doc, const struct mpr_ranks *r, size_t *count)
{
    struct alike *all = mpr_arena_alloc(&doc->arena, r->outliers * sizeof *all);
    size_t *group = mpr_arena_alloc(&doc->arena, r->outliers * sizeof *group),
           *rank = mpr_arena_alloc(&doc->arena, r->outliers * sizeof *rank);
    *count = 0;
    for (size_t i = 0; i < r->outliers; i++) {
        const struct mpr_ranks_outlier *o = &r->outlier[i];
        size_t k = 0;
        while (k < *count && !is_alike(all[k].first, o)) k++;
        if (k == *count) all[(*count)++] = (struct alike){ .first = o };
        group[i] = k;
        all[k].ranks++;
        all[k].smallest = o->change;
    }
    for (size_t k = 0; k < *count; rank += all[k++].ranks) all[k].rank = rank;
    for (size_t k = 0; k < *count; k++) all[k].ranks = 0;
    for (size_t i = 0; i < r->outliers; i++) {
        struct alike *a = &all[group[i]];
        a->rank[a->ranks++] = r->outlier[i].rank;
    }
    for (size_t k = 0; k < *count; k++)
        qsort(all[k].rank, all[k].ranks, sizeof *all[k].rank, mpr_compare_numbers);
    return all;
}

/* ---- lines */

/* "ranks {0..7}", "rank 3", "3 processes" */
static const char *set_of(struct mpr_document *doc, const struct mpr_ranks *r, const size_t *rank,
                          size_t count)
{
    if (count == 1) return r->rank[rank[0]].name;
    uint64_t *number = mpr_alloc(count, sizeof *number);
    bool numbered = true;
    for (size_t i = 0; i < count; i++) {
        number[i] = r->rank[rank[i]].number;
        numbered &= number[i] != UINT64_MAX;
    }
    const char *set = numbered ? mpr_arena_format(&doc->arena, "ranks %s",
                                                  mpr_number_set(&doc->arena, number, count))
                               : mpr_arena_format(&doc->arena, "%zu processes", count);
    free(number);
    return set;
}

static void outlier_line(struct mpr_document *doc, const struct mpr_ranks *r, const struct alike *a)
{
    const struct mpr_ranks_outlier *o = a->first;
    const bool about = r->measure[o->measure].estimated;
    mpr_doc_add(doc, MPR_STRONG, "  %s", set_of(doc, r, a->rank, a->ranks));
    if (a->ranks == 1) mpr_doc_add_plain(doc, " (%s)", r->rank[o->rank].host);
    mpr_doc_add_plain(doc, "  %s", r->measure[o->measure].name);
    mpr_doc_add(doc, MPR_STRONG, " %s", change(doc, o->change, about));
    if (a->ranks > 1 && a->smallest != o->change)
        mpr_doc_add_plain(doc, " to %s", change(doc, a->smallest, about));
    say_why(doc, r, o);
    mpr_doc_end_wrapped(doc, 4);
}

/* "rank 5 holds 1.50 GiB more of gpuN/torch than rank 1: ..." */
static void pair_line(struct mpr_document *doc, const struct mpr_ranks *r,
                      const struct mpr_ranks_outlier *o)
{
    const struct mpr_ranks_measure *m = &r->measure[o->lines_of];
    mpr_doc_add(doc, MPR_STRONG, "%s", r->rank[o->rank].name);
    mpr_doc_add_plain(doc, " holds %s%s more of %s than %s", m->estimated ? "~" : "",
                      mpr_doc_size(doc, m->value[o->rank] - m->value[o->usual]), m->name,
                      r->rank[o->usual].name);
    say_why(doc, r, o);
    mpr_doc_end_wrapped(doc, 2);
}

static void fields(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_list(doc, "outliers");
    for (size_t i = 0; i < r->outliers; i++) outlier_fields(doc, r, &r->outlier[i]);
    mpr_doc_close(doc);
    if (!r->pair) return;
    mpr_doc_list(doc, "pair");
    outlier_fields(doc, r, r->pair);
    mpr_doc_close(doc);
}

static bool has_stages(const struct mpr_ranks *r)
{
    bool staged = false;
    for (size_t i = 0; i < r->measures; i++) staged |= r->measure[i].split && !r->measure[i].part;
    return staged;
}

void mpr_report_ranks_differences(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { LINES = 2 };
    size_t count;
    const struct alike *all = gather(doc, r, &count);
    fields(doc, r);
    if (r->pair) pair_line(doc, r, r->pair);
    if (!count) return;
    mpr_doc_line(doc, "more than 5 %% from the median%s:", has_stages(r) ? " of their stage" : "");
    for (size_t i = 0; i < count && i < LINES; i++) outlier_line(doc, r, &all[i]);
    if (count > LINES)
        mpr_doc_line(doc, "  and %s more for other reasons", mpr_doc_count(doc, count - LINES));
}

void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *r)
{
    enum { LINES = 10 };
    size_t count;
    const struct alike *all = gather(doc, r, &count);
    const bool staged = has_stages(r);
    fields(doc, r);
    mpr_doc_gap(doc);
    if (r->pair) {
        pair_line(doc, r, r->pair);
        return;
    }
    if (!count) {
        mpr_doc_line(doc, "%s",
                     r->ranks < 3 ? "too few ranks to name an outlier"
                     : staged     ? "no rank is an outlier in its stage"
                                  : "no rank is an outlier");
        return;
    }
    mpr_doc_line(doc, "more than 5 %% from the median%s, the farthest first:",
                 staged ? " of their stage" : "");
    for (size_t i = 0; i < count && i < LINES; i++) outlier_line(doc, r, &all[i]);
    if (count > LINES)
        mpr_doc_line(doc, "  and %s more for other reasons", mpr_doc_count(doc, count - LINES));
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

static void axes(struct mpr_document *doc, const struct mpr_ranks_split *s)
{
    struct mpr_ranks_group *row = mpr_arena_alloc(&doc->arena, 2 * sizeof *row);
    row[0] = *s->axis->first;
    if (s->other) row[1] = *s->other->first;
    mpr_doc_objects(doc, "groups", axis_columns, row, s->other ? 2 : 1);
}

static void stage_fields(struct mpr_document *doc, const struct mpr_ranks *r,
                         const struct mpr_ranks_stage *s)
{
    const struct mpr_ranks_outlier *o = s->differs;
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "members", mpr_value_text(s->members));
    mpr_doc_fact(doc, "ranks", mpr_value_number(MPR_COUNT, s->ranks));
    mpr_doc_fact(doc, "median_bytes", mpr_value_number(MPR_BYTES, s->median));
    mpr_doc_fact(doc, "least_bytes", mpr_value_number(MPR_BYTES, s->least));
    mpr_doc_fact(doc, "most_bytes", mpr_value_number(MPR_BYTES, s->most));
    mpr_doc_fact(doc, "apart", mpr_value_number(MPR_COUNT, s->apart));
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
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_text(m->name));
    mpr_doc_fact(doc, "by", mpr_value_text(by[m->split->by]));
    axes(doc, m->split);
    mpr_doc_fact(doc, "within_bytes", mpr_value_number(MPR_BYTES, m->within));
    if (m->estimated) mpr_doc_fact(doc, "estimated", mpr_value_flag(true));
    mpr_doc_list(doc, "stages");
    for (size_t i = 0; i < m->split->classes; i++) stage_fields(doc, r, &m->stage[i]);
    mpr_doc_close(doc);
    mpr_doc_close(doc);
}

/* "groups of 4 ranks, first ncclSend ({0,8,16,24} and 7 more)" */
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
    mpr_doc_add_plain(doc, "; within one ranks differ by at most %s%s", m->estimated ? "~" : "",
                      mpr_doc_size(doc, m->within));
    if (m->aparts) mpr_doc_add_plain(doc, ", but for the %s above", mpr_doc_count(doc, m->aparts));
    mpr_doc_end_wrapped(doc, 2);
}

static void stage_line(struct mpr_document *doc, const struct mpr_ranks *r,
                       const struct mpr_ranks_stage *s, bool about)
{
    struct mpr_number n;
    const struct mpr_ranks_outlier *o = s->differs;
    mpr_doc_add(doc, MPR_STRONG, "  %s%s", s->ranks > 1 ? "ranks " : "", s->members);
    mpr_doc_add_plain(doc, "  %s%s", about ? "~" : "", mpr_doc_size(doc, s->median));
    if (o->change) {
        mpr_doc_add(doc, MPR_STRONG, "  %s%s", about ? "~" : "", mpr_units_change(&n, o->change));
        say_why(doc, r, o);
    }
    mpr_doc_end_wrapped(doc, 4);
}

/* The stages of a device are not shown if those of PyTorch's blocks differ as much. */
static bool is_shown(const struct mpr_ranks *r, const struct mpr_ranks_measure *m)
{
    return m->split && !m->part && !m->inside && &r->measure[m->stage[0].differs->lines_of] == m;
}

static void stages(struct mpr_document *doc, const struct mpr_ranks *r,
                   const struct mpr_ranks_measure *m)
{
    enum { LINES = 8 };
    mpr_doc_gap(doc);
    say_split(doc, m);
    for (size_t i = 0; i < m->split->classes && i < LINES; i++)
        stage_line(doc, r, &m->stage[i], m->estimated);
    if (m->split->classes > LINES)
        mpr_doc_line(doc, "  and %s more", mpr_doc_count(doc, m->split->classes - LINES));
}

void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_list(doc, "stages");
    for (size_t i = 0; i < r->measures; i++)
        if (r->measure[i].split && !r->measure[i].part) split_fields(doc, r, &r->measure[i]);
    mpr_doc_close(doc);
    for (size_t i = 0; i < r->measures; i++)
        if (is_shown(r, &r->measure[i])) stages(doc, r, &r->measure[i]);
}
