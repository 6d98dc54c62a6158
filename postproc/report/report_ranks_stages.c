/* Stages: ranks whose peaks are alike, as communicators tell them apart. */
#include <string.h>

#include "report_ranks.h"
#include "units.h"

enum { LINES = 8 };

/* ---- fields */

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
    mpr_doc_table(doc, &(struct mpr_table){ .key = "groups",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(axis_columns),
                                            MPR_ROWS(row, s->other ? 2 : 1) });
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
    mpr_report_ranks_causes(doc, r, o);
    mpr_doc_close(doc);
}

static void fields(struct mpr_document *doc, const struct mpr_ranks *r,
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

/* ---- for people */

/* "groups of 4 ranks, first ncclSend ({0,8,16,24} and 7 more)" */
static void say_axis(struct mpr_document *doc, const struct mpr_ranks_axis *a)
{
    mpr_doc_say(doc, "groups of %s ranks", mpr_doc_count(doc, a->first->size));
    if (*a->first->first_use) mpr_doc_say(doc, ", first %s", a->first->first_use);
    mpr_doc_say(doc, " (%s and %s more)", a->first->members, mpr_doc_count(doc, a->groups - 1));
}

static void say_split(struct mpr_document *doc, const struct mpr_ranks_measure *m)
{
    static const char *const each[] = { [MPR_RANKS_BY_GROUP] = "one of the ",
                                        [MPR_RANKS_BY_PLACE] = "one place in the ",
                                        [MPR_RANKS_BY_JOINED] = "joined by the " };
    const struct mpr_ranks_split *s = m->split;
    mpr_doc_add(doc, MPR_STRONG, "%s by stage", m->name);
    mpr_doc_say(doc, ": each is %s", each[s->by]);
    say_axis(doc, s->axis);
    if (s->other) {
        mpr_doc_say(doc, " and the ");
        say_axis(doc, s->other);
    }
    mpr_doc_say(doc, "; within one ranks differ by at most %s%s", m->estimated ? "~" : "",
                mpr_doc_size(doc, m->within));
    if (m->aparts) mpr_doc_say(doc, ", but for the %s above", mpr_doc_count(doc, m->aparts));
    mpr_doc_end_wrapped(doc, 2);
}

static void line(struct mpr_document *doc, const struct mpr_ranks *r,
                 const struct mpr_ranks_stage *s, bool about)
{
    struct mpr_number n;
    const struct mpr_ranks_outlier *o = s->differs;
    mpr_doc_add(doc, MPR_STRONG, "  %s%s", s->ranks > 1 ? "ranks " : "", s->members);
    mpr_doc_say(doc, "  %s%s", about ? "~" : "", mpr_doc_size(doc, s->median));
    if (o->change) {
        mpr_doc_add(doc, MPR_STRONG, "  %s%s", about ? "~" : "", mpr_units_change(&n, o->change));
        mpr_report_ranks_why(doc, r, o);
    }
    mpr_doc_end_wrapped(doc, 4);
}

/* A device's are told by PyTorch's blocks, where those differ by as much. */
static bool is_told(const struct mpr_ranks *r, const struct mpr_ranks_measure *m)
{
    return m->split && !m->part && !m->inside && &r->measure[m->stage[0].differs->lines_of] == m;
}

static void told(struct mpr_document *doc, const struct mpr_ranks *r,
                 const struct mpr_ranks_measure *m)
{
    mpr_doc_gap(doc);
    say_split(doc, m);
    for (size_t i = 0; i < m->split->classes && i < LINES; i++)
        line(doc, r, &m->stage[i], m->estimated);
    if (m->split->classes > LINES)
        mpr_doc_line(doc, "  and %s more", mpr_doc_count(doc, m->split->classes - LINES));
}

void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_list(doc, "stages");
    for (size_t i = 0; i < r->measures; i++)
        if (r->measure[i].split && !r->measure[i].part) fields(doc, r, &r->measure[i]);
    mpr_doc_close(doc);
    for (size_t i = 0; i < r->measures; i++)
        if (is_told(r, &r->measure[i])) told(doc, r, &r->measure[i]);
}
