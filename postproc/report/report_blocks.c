/* The live blocks of a failure for people, one line for each path. */
#include "report_oom.h"
#include "report_rows.h"

#define OF(member) MPR_FIELD(mpr_oom_place, member)

// clang-format off
static const struct mpr_column columns[] = {
    { .title = "path", MPR_PATH_FIELD(mpr_oom_place, path) },
    { .title = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .title = "blocks", .type = MPR_COUNT, OF(blocks), .width = 8 },
    { .title = "largest", .type = MPR_BYTES, OF(largest), .merge = MPR_MERGE_MAX, .spare = 1 },
    { .title = "oldest's age", .type = MPR_TIME, OF(age), .lasting = true, .merge = MPR_MERGE_MAX },
};
// clang-format on

static struct mpr_row row_of(const void *row)
{
    const struct mpr_oom_place *p = row;
    return (struct mpr_row){ .path = p->path, .bytes = p->bytes, .blocks = p->blocks };
}

void mpr_report_oom_blocks(struct mpr_document *doc, const struct mpr_oom_story *s,
                           enum mpr_group chosen)
{
    enum { BLOCKS = 10 };
    mpr_doc_table(doc,
                  &(struct mpr_table){ .title = "largest live blocks",
                                       .only = MPR_FOR_PEOPLE,
                                       MPR_COLUMNS(columns),
                                       MPR_ROWS(s->place, s->places),
                                       .top = BLOCKS,
                                       .by = mpr_group_is_calls(chosen) ? chosen : MPR_GROUP_AUTO,
                                       .partial = true,
                                       .lines = { .merged = true, .row_of = row_of } });
}
