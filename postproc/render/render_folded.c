/* Collapsed stacks for flamegraph.pl and similar tools.  A line is "frame;frame;frame bytes",
 * outermost frame first, with whole names.  In a comparison it is "frame;frame base new".
 *
 * A frame must not have a ";", which separates frames, or end with a blank and a number. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "document.h"
#include "render.h"
#include "timeline.h"
#include "utf8.h"

/* ---- lines */

struct line {
    FILE *out;
    size_t frames; /* written so far */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the blank before the number at the end of a name ("step 12"), or NULL.  Tools would read
 * such a number at the end of a line as bytes. */
static const char *blank_before_number(const char *name)
{
    const char *end = name + strlen(name), *at;
    while (end > name && end[-1] == ' ') end--;
    for (at = end; at > name && (is_digit(at[-1]) || at[-1] == '.');) at--;
    return at > name && at[-1] == ' ' && is_digit(*at) ? at - 1 : NULL;
}

static void frame(struct line *line, const char *name)
{
    const char *const blank = blank_before_number(name);
    char before = 0;
    if (line->frames++) fputc(';', line->out);
    while (*name) {
        const char *const from = name;
        uint32_t code;
        const bool whole = mpr_utf8_next(&name, &code);
        if (code == ';') code = ':';
        if (!whole) fputs("\xef\xbf\xbd", line->out);
        else if (from == blank) fputc('_', line->out);
        else if (mpr_utf8_unsafe(code) ||
                 mpr_utf8_begins_ci_command(before, code, *name == ';' ? ':' : *name))
            fputc('?', line->out);
        else if (code == ':') fputc(':', line->out);
        else fwrite(from, 1, (size_t)(name - from), line->out);
        before = name[-1];
    }
}

static void frames(struct line *line, struct mpr_path path)
{
    if (!path.depth) frame(line, mpr_group_empty_path(MPR_GROUP_RANGE));
    for (size_t i = 0; i < path.depth; i++) frame(line, path.frame[i]->text);
}

/* ---- documents */

static const struct mpr_column *column(const struct mpr_table *t, const char *key)
{
    for (size_t i = 0; key && i < t->columns; i++)
        if (t->column[i].key && strcmp(t->column[i].key, key) == 0) return &t->column[i];
    return NULL;
}

/* Returns a cell's number, or 0 for a negative one: some parts of a device, which are measured
 * around calls, may be negative. */
static uint64_t number(const struct mpr_table *t, const struct mpr_column *c, const void *row)
{
    if (!c) return 0;
    const struct mpr_value v = mpr_table_cell(t, c, row);
    if (v.state != MPR_KNOWN) return 0;
    return v.type == MPR_SIGNED && v.amount < 0 ? 0 : v.number;
}

/* Writes the frames above the path of a row. */
static struct line begin(FILE *out, const struct mpr_table *t, const void *row)
{
    struct line line = { .out = out };
    const struct mpr_column *in = column(t, t->folded.in);
    if (t->folded.of) frame(&line, t->folded.of);
    if (in) frame(&line, mpr_table_cell(t, in, row).text);
    return line;
}

/* @before: the bytes in the baseline */
static void end(FILE *out, const struct mpr_table *t, uint64_t bytes, uint64_t before)
{
    if (t->folded.before) fprintf(out, " %" PRIu64, before);
    fprintf(out, " %" PRIu64 "\n", bytes);
}

/* Writes the stacks.  Those that --top omits become one line, so that the sum stays the same. */
static void table(FILE *out, const struct mpr_table *t, size_t top)
{
    const struct mpr_column *const now = column(t, t->folded.bytes),
                                   *const base = column(t, t->folded.before), *path = t->column;
    const void *first_omitted = NULL;
    size_t written = 0, omitted = 0;
    uint64_t omitted_bytes = 0, omitted_before = 0;
    while (path < t->column + t->columns && !(path->type == MPR_PATH && path->key)) path++;
    if (path == t->column + t->columns) return;
    for (size_t i = 0; i < t->rows; i++) {
        const void *row = mpr_table_row(t, i, MPR_IN_CSV);
        const uint64_t bytes = number(t, now, row), before = number(t, base, row);
        const struct mpr_value v = mpr_table_cell(t, path, row);
        if ((!bytes && !before) || v.state != MPR_KNOWN) continue;
        if (top && written == top) {
            if (!omitted++) first_omitted = row;
            omitted_bytes += bytes;
            omitted_before += before;
            continue;
        }
        struct line line = begin(out, t, row);
        frames(&line, v.path);
        end(out, t, bytes, before);
        written++;
    }
    if (!omitted) return;
    const struct line line = begin(out, t, first_omitted);
    fprintf(out, "%s(%zu smaller stacks)", line.frames ? ";" : "", omitted);
    end(out, t, omitted_bytes, omitted_before);
}

static void report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next)
        if (i->kind == MPR_TABLE && i->table->folded.bytes) table(out, i->table, style->top);
}

/* ---- timelines: each heap in its largest span */

static void heap(FILE *out, const struct mpr_heap_timeline *h)
{
    uint64_t *bytes = mpr_alloc(h->bands, sizeof *bytes);
    size_t largest = 0;
    for (size_t i = 1; i < h->spans; i++)
        if (h->span[i].max > h->span[largest].max) largest = i;
    for (size_t i = 0; h->spans && i < h->span[largest].end; i++)
        bytes[h->change[i].band] = h->change[i].bytes;
    for (size_t i = 0; i < h->bands; i++) {
        struct line line = { .out = out };
        if (!bytes[i]) continue;
        frame(&line, mpr_heap_name(h->heap));
        if (h->band[i].kind == MPR_BAND_OTHER) frame(&line, "everything else");
        else frames(&line, h->band[i].path);
        fprintf(out, " %" PRIu64 "\n", bytes[i]);
    }
    free(bytes);
}

static void timeline(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    (void)style;
    for (size_t i = 0; i < t->heaps; i++) heap(out, &t->heap[i]);
}

const struct mpr_renderer mpr_render_folded = { report, timeline };
