/* The live blocks, largest first: those of one path are a line. */
#include "naming.h"
#include "report_oom.h"
#include "report_rows.h"

enum { BLOCKS = 10 }; /* lines */

struct line {
    struct mpr_line l;
    uint64_t largest, age; /* of its blocks */
};

static struct mpr_value path(const void *row, const void *context)
{
    const struct mpr_line *l = &((const struct line *)row)->l;
    (void)context;
    struct mpr_value v = mpr_value_path(l->row.path);
    v.told = true;
    v.caller = l->caller;
    return v;
}

static const struct mpr_column columns[] = {
    { .title = "path", .type = MPR_PATH, .get = path },
    { .title = "bytes", .type = MPR_BYTES, MPR_FIELD(line, l.row.bytes) },
    { .title = "blocks", .type = MPR_COUNT, MPR_FIELD(line, l.row.blocks), .width = 8 },
    { .title = "largest", .type = MPR_BYTES, MPR_FIELD(line, largest), .spare = 1 },
    { .title = "oldest's age", .type = MPR_TIME, .lasting = true, MPR_FIELD(line, age) },
};

static const struct mpr_row *rows_of(struct mpr_document *doc, const struct mpr_oom_story *s)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, s->places * sizeof *row);
    for (size_t i = 0; i < s->places; i++) {
        const struct mpr_oom_place *p = &s->place[i];
        row[i] = (struct mpr_row){ .path = p->path, .bytes = p->bytes, .blocks = p->blocks };
    }
    return row;
}

static struct line line_of(const struct mpr_oom_story *s, const struct mpr_row *row,
                           const struct mpr_line *l)
{
    struct line line = { .l = *l };
    const struct mpr_row_link *link = l->link;
    do {
        const struct mpr_oom_place *p = &s->place[link->row - row];
        if (p->largest > line.largest) line.largest = p->largest;
        if (p->age > line.age) line.age = p->age;
        link = link->next;
    } while (link != l->link);
    return line;
}

void mpr_report_oom_blocks(struct mpr_document *doc, const struct mpr_oom_story *s,
                           enum mpr_group chosen)
{
    const enum mpr_group by = mpr_group_is_calls(chosen) ? chosen : MPR_GROUP_AUTO;
    size_t lines, live;
    const struct mpr_row *row = rows_of(doc, s);
    const struct mpr_line *line =
        mpr_naming_lines(&doc->arena, mpr_report_naming(doc), by, row, s->places, &lines, &live);
    struct line *shown = mpr_arena_alloc(&doc->arena, live * sizeof *shown);
    for (size_t i = 0; i < live; i++) shown[i] = line_of(s, row, &line[i]);
    mpr_doc_table(doc, &(struct mpr_table){ .title = "largest live blocks",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(shown, live),
                                            .top = BLOCKS,
                                            .by = by,
                                            .partial = true });
}
