#include "report_growth.h"

#include "amount.h"

enum { ROWS = 10 };

#define OF(member) MPR_FIELD(mpr_growth_row, member)

static struct mpr_value part(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return r->key ? mpr_value_text(r->key) : mpr_value_absent;
}

static struct mpr_value path(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return r->key ? mpr_value_absent : mpr_value_path(r->path, r->depth);
}

static struct mpr_value name(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return r->key ? mpr_value_path(&r->name, 1) : mpr_value_path(r->path, r->depth);
}

static struct mpr_value change(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return mpr_value_amount(MPR_CHANGE, mpr_minus(r->after, r->before));
}

// clang-format off
static const struct mpr_column columns[] = {
    { .key = "part", .get = part },
    { .key = "path", .type = MPR_PATH, .get = path },
    { .title = "what", .type = MPR_PATH, .get = name },
    { .key = "before_bytes", .title = "before", .type = MPR_SIGNED, OF(before), .sums = true },
    { .key = "after_bytes", .title = "after", .type = MPR_SIGNED, OF(after), .width = 10,
      .lead = " -> ", .sums = true },
    { .title = "change", .type = MPR_CHANGE, .get = change, .width = 13, .sums = true },
};
// clang-format on

static const struct mpr_column whole_columns[] = {
    { .key = "time_ns", .type = MPR_TIME, MPR_FIELD(mpr_growth, time), .unless = MPR_ABSENT_AT_0 },
    { .key = "before_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_growth, before) },
    { .key = "after_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_growth, after) },
};

void mpr_report_growth(struct mpr_document *doc, const char *key, const struct mpr_growth *g)
{
    if (!g->valid) {
        mpr_doc_fact(doc, key, mpr_value_unknown);
        return;
    }
    mpr_doc_open(doc, key);
    mpr_doc_facts(doc, whole_columns, g);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "changes",
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(g->row, g->rows),
                                            .omitted = "" });
    mpr_doc_close(doc);
}

void mpr_report_growth_rows(struct mpr_document *doc, const char *whole, const struct mpr_growth *g)
{
    struct mpr_growth_row *all = mpr_arena_alloc(&doc->arena, sizeof *all);
    *all = (struct mpr_growth_row){
        .key = whole, .name = whole, .before = mpr_amount(g->before), .after = mpr_amount(g->after)
    };
    if (whole)
        mpr_doc_table(doc, &(struct mpr_table){
                               .only = MPR_FOR_PEOPLE, MPR_COLUMNS(columns), MPR_ROWS(all, 1) });
    mpr_doc_table(doc, &(struct mpr_table){ .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(g->row, g->rows),
                                            .top = ROWS });
}
