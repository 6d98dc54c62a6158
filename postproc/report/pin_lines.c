/* Several paths pin the same free bytes, so a line's are those of the segments that any of its
 * paths lies in, each once: no sum. */
#include "pin_lines.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "naming.h"
#include "report_rows.h"

enum { PATH = 38 }; /* columns of text */

/* in: no list of its own. */
struct pin_line {
    struct mpr_segment_pin sum;
    const char *caller, *note;
};

/* ---- lines */

static int by_address(const void *left, const void *right)
{
    const struct mpr_pinned *a = left, *b = right;
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

/* The segments of some pins, each once. */
static void count_segments(struct mpr_segment_pin *sum, struct mpr_pinned *in, size_t count)
{
    qsort(in, count, sizeof *in, by_address);
    sum->segments = sum->free = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && in[i].segment == in[i - 1].segment) continue;
        sum->segments++;
        sum->free += in[i].free;
    }
}

static void add(struct mpr_segment_pin *sum, const struct mpr_segment_pin *p)
{
    sum->blocks += p->blocks;
    sum->bytes += p->bytes;
    if (p->oldest_time < sum->oldest_time) sum->oldest_time = p->oldest_time;
}

static struct pin_line line_of(struct mpr_document *doc, const struct mpr_line *l,
                               const struct mpr_row *first, const struct mpr_segment_pin *pin)
{
    const struct mpr_row_link *link = l->link;
    struct pin_line line = { .sum = pin[link->row - first],
                             .caller = l->caller,
                             .note = mpr_report_siblings(doc, l->sibling_least, l->sibling_most) };
    size_t count = 0, at = 0;
    line.sum.path = l->row.path;
    if (l->rows == 1) return line;
    do count += pin[link->row - first].segments;
    while ((link = link->next) != l->link);
    struct mpr_pinned *in = mpr_alloc(count, sizeof *in);
    do {
        const struct mpr_segment_pin *p = &pin[link->row - first];
        if (link != l->link) add(&line.sum, p);
        for (size_t i = 0; i < p->segments; i++) in[at++] = p->in[i];
    } while ((link = link->next) != l->link);
    count_segments(&line.sum, in, count);
    free(in);
    return line;
}

static int by_free(const void *left, const void *right)
{
    const struct pin_line *a = left, *b = right;
    if (a->sum.free != b->sum.free) return a->sum.free > b->sum.free ? -1 : 1;
    return a->sum.bytes > b->sum.bytes ? -1 : a->sum.bytes < b->sum.bytes;
}

static struct mpr_row row_of(const struct mpr_segment_pin *p)
{
    return (struct mpr_row){ .path = p->path, .bytes = p->free, .blocks = p->blocks };
}

static struct pin_line *lines_of(struct mpr_document *doc, const struct mpr_segments_device *d,
                                 size_t *lines)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, d->pins * sizeof *row);
    struct pin_line *out = mpr_arena_alloc(&doc->arena, d->pins * sizeof *out);
    for (size_t i = 0; i < d->pins; i++) row[i] = row_of(&d->pin[i]);
    struct mpr_line *line =
        mpr_naming_merge(&doc->arena, naming, MPR_GROUP_AUTO, row, d->pins, lines);
    *lines = mpr_naming_fold(&doc->arena, naming, MPR_GROUP_AUTO, line, *lines);
    for (size_t i = 0; i < *lines; i++) out[i] = line_of(doc, &line[i], row, d->pin);
    if (*lines) qsort(out, *lines, sizeof *out, by_free);
    return out;
}

/* ---- the table */

static struct mpr_value path(const void *row, const void *context)
{
    const struct pin_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_path(l->sum.path);
    v.told = true;
    v.caller = l->caller;
    return v;
}

static struct mpr_value age(const void *row, const void *context)
{
    const struct pin_line *l = row;
    const uint64_t *time = context;
    return mpr_value_number(MPR_TIME, mpr_less(*time, l->sum.oldest_time));
}

#define OF(member) MPR_FIELD(pin_line, sum.member)

static const struct mpr_column columns[] = {
    { .title = "path", .type = MPR_PATH, .get = path, .width = PATH },
    { .title = "free", .type = MPR_BYTES, OF(free) },
    { .title = "segments", .type = MPR_COUNT, OF(segments), .spare = 4 },
    { .title = "blocks", .type = MPR_COUNT, OF(blocks), .spare = 2 },
    { .title = "bytes", .type = MPR_BYTES, OF(bytes), .spare = 1 },
    { .title = "oldest's age", .type = MPR_TIME, .lasting = true, .get = age, .spare = 3 },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(pin_line, note) },
};

void mpr_report_pin_lines(struct mpr_document *doc, const struct mpr_segments_device *device)
{
    size_t lines;
    const struct pin_line *line = lines_of(doc, device, &lines);
    mpr_doc_table(doc, &(struct mpr_table){ .title = "what pins the split free memory",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(line, lines),
                                            .context = &device->time });
}
