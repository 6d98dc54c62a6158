/* No document: charts.
 *
 * The heap's bytes over time, then its bands at the peak as lines, each with its own course. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "naming.h"
#include "reports.h"
#include "text.h"
#include "text_document.h"
#include "timelines.h"
#include "units.h"

/* Columns of a chart and of a course, where there is room; lines of a chart and of a table; columns
 * before a chart. */
enum { COLUMNS = 72, SPARKS = 32, ROWS = 10, BANDS = 12, MARGIN = 12 };

static const char *const eighth[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

/* A heap drawn in `count` columns from `from` on: the largest total in each, and the bands' bytes
 * at it. */
struct columns {
    size_t count;
    uint64_t from, width, peak;
    uint64_t *total, *band;
    size_t bands, peak_column;
};

static size_t column_of(const struct columns *c, uint64_t time)
{
    const uint64_t at = time <= c->from ? 0 : (time - c->from) / c->width;
    return at < c->count ? (size_t)at : c->count - 1;
}

static void raise(struct columns *c, size_t column, uint64_t total, const uint64_t *vector)
{
    if (total <= c->total[column]) return;
    c->total[column] = total;
    memcpy(&c->band[column * c->bands], vector, c->bands * sizeof *vector);
    if (total <= c->peak) return;
    c->peak = total;
    c->peak_column = column;
}

/* A span's level lasts until the next one begins: columns in between show it. */
static void draw(struct columns *c, const struct mpr_heap_line *h)
{
    uint64_t *vector = mpr_alloc(h->bands, sizeof *vector);
    size_t at = 0;
    for (size_t i = 0; i < h->spans; i++) {
        const struct mpr_span *span = &h->span[i];
        for (; at < span->end; at++) vector[h->change[at].band] = h->change[at].bytes;
        const size_t first = column_of(c, span->time);
        const size_t end = i + 1 < h->spans ? column_of(c, h->span[i + 1].start) : c->count;
        raise(c, first, span->max, vector);
        for (size_t k = first + 1; k < end; k++) raise(c, k, span->max, vector);
    }
    free(vector);
}

static void make_columns(struct columns *c, const struct mpr_timeline *t,
                         const struct mpr_heap_line *h, size_t count)
{
    const uint64_t end =
        t->options.to < t->summary.duration_ns ? t->options.to : t->summary.duration_ns;
    const uint64_t length = end > t->options.from ? end - t->options.from : 1;
    *c = (struct columns){
        .count = count, .from = t->options.from, .width = length / count + 1, .bands = h->bands
    };
    c->total = mpr_alloc(count, sizeof *c->total);
    c->band = mpr_alloc(count * h->bands, sizeof *c->band);
    draw(c, h);
}

static void free_columns(struct columns *c)
{
    free(c->total);
    free(c->band);
}

/* Eighths of a cell that `value` fills of `whole`, when a cell is 1/rows of it and `row` lie below.
 */
static unsigned filled(uint64_t value, uint64_t whole, unsigned row, unsigned rows)
{
    const double eighths = whole ? (double)value / (double)whole * rows * 8 - row * 8.0 : 0;
    if (eighths >= 8) return 8;
    if (eighths < 1) return value && !row && eighths > 0 ? 1 : 0;
    return (unsigned)eighths;
}

static void flag(FILE *out, const struct columns *c, const struct mpr_style *style)
{
    struct mpr_number size;
    mpr_units_size(&size, c->peak);
    const bool left = c->peak_column > c->count / 2;
    const int at = (int)c->peak_column + (left ? 0 : 1);
    mpr_text_tone(out, style, MPR_STRONG);
    if (left) fprintf(out, "%*s%*s ▼\n", MARGIN + 2, "", at - 1, size.text);
    else fprintf(out, "%*s▼ %s\n", MARGIN + 1 + at, "", size.text);
    mpr_text_tone(out, style, MPR_PLAIN);
}

static void chart(FILE *out, const struct columns *c)
{
    struct mpr_number size;
    for (unsigned row = ROWS; row-- > 0;) {
        const bool label = row == ROWS - 1 || row == ROWS / 2 - 1;
        const uint64_t level = row == ROWS - 1 ? c->peak : c->peak / 2;
        fprintf(out, "%*s %s", MARGIN, label ? mpr_units_size(&size, level) : "",
                label ? "┤" : "│");
        size_t last = c->count;
        while (last && !filled(c->total[last - 1], c->peak, row, ROWS)) last--;
        for (size_t i = 0; i < last; i++)
            fputs(eighth[filled(c->total[i], c->peak, row, ROWS)], out);
        fputc('\n', out);
    }
}

static void axis(FILE *out, const struct columns *c, const struct mpr_summary *summary,
                 const struct mpr_style *style)
{
    struct mpr_number from, middle, to;
    fprintf(out, "%*s └", MARGIN, "0 B");
    for (size_t i = 0; i < c->count; i++)
        fputs(i == c->count / 2 || i == c->count - 1 ? "┴" : "─", out);
    mpr_text_time(&from, style, summary, c->from);
    mpr_text_time(&middle, style, summary, c->from + c->width * c->count / 2);
    mpr_text_time(&to, style, summary, c->from + c->width * (c->count - 1));
    const int half = (int)c->count / 2 - 6;
    fprintf(out, "\n%*s%-*s%-*s%12s\n", MARGIN + 2, "", half, from.text, half, middle.text,
            to.text);
}

/* ---- bands */

struct band_line {
    struct mpr_line line;
    const char *course;
};

static struct mpr_value path(const void *row, const void *context)
{
    const struct mpr_line *l = &((const struct band_line *)row)->line;
    (void)context;
    struct mpr_value v = mpr_value_path(l->row.path, l->row.depth);
    v.told = true;
    v.caller = l->caller;
    return v;
}

/* What has no band of its own is one of that name. */
static struct mpr_row *rows_of(struct mpr_arena *arena, const struct mpr_heap_line *h,
                               const struct columns *c)
{
    static const char *const other[] = { "everything else" };
    struct mpr_row *row = mpr_arena_alloc(arena, h->bands * sizeof *row);
    for (size_t i = 0; i < h->bands; i++) {
        const struct mpr_band *band = &h->band[i];
        const bool is_other = band->kind == MPR_BAND_OTHER;
        row[i] = (struct mpr_row){ .path = is_other ? other : band->path,
                                   .depth = is_other ? 1 : band->depth,
                                   .bytes = c->band[c->peak_column * c->bands + i],
                                   .own_peak = band->largest };
    }
    return row;
}

/* Of a line's bytes in a column. */
static uint64_t bytes_in(const struct columns *c, const struct mpr_row *row,
                         const struct mpr_line *line, size_t column)
{
    uint64_t bytes = 0;
    const struct mpr_row_link *link = line->link;
    do {
        bytes += c->band[column * c->bands + (size_t)(link->row - row)];
        link = link->next;
    } while (link != line->link);
    return bytes;
}

/* Blanks at its end are left out. */
static const char *course(struct mpr_arena *arena, const struct columns *c,
                          const struct mpr_row *row, const struct mpr_line *line)
{
    uint64_t most = 0;
    char *text = mpr_arena_alloc(arena, c->count * strlen(eighth[8]) + 1);
    for (size_t i = 0; i < c->count; i++) {
        const uint64_t bytes = bytes_in(c, row, line, i);
        if (bytes > most) most = bytes;
    }
    for (size_t i = 0; i < c->count; i++)
        strcat(text, eighth[filled(bytes_in(c, row, line, i), most, 0, 1)]);
    for (size_t end = strlen(text); end && text[end - 1] == ' '; end--) text[end - 1] = 0;
    return text;
}

/* Of what paths and figures leave of a line. */
static size_t sparks(const struct mpr_style *style)
{
    enum { FIGURES = 25, PART = 3, LEAST = 14 };
    const int room = (style->width - FIGURES) / PART;
    return !style->width || room > SPARKS ? SPARKS : room > LEAST ? (size_t)room : LEAST;
}

static void band_table(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                       const struct mpr_style *style)
{
    static const struct mpr_naming as_they_are = { .unfold = true };
    struct mpr_arena arena = { 0 };
    struct columns c;
    size_t lines, live;
    make_columns(&c, t, h, sparks(style));
    const struct mpr_row *row = rows_of(&arena, h, &c);
    const struct mpr_line *line =
        mpr_naming_lines(&arena, style->naming ? style->naming : &as_they_are, t->choice.by, row,
                         h->bands, &lines, &live);
    struct band_line *shown = mpr_arena_alloc(&arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++)
        shown[i] = (struct band_line){ line[i], course(&arena, &c, row, &line[i]) };
    // clang-format off
    const struct mpr_column columns[] = {
        { .title = "path", .type = MPR_PATH, .get = path },
        { .title = "at the peak", .type = MPR_BYTES, MPR_FIELD(band_line, line.row.bytes),
          .sums = true },
        { .title = "share", .type = MPR_SHARE, MPR_FIELD(band_line, line.row.bytes) },
        { .title = "its own course", .type = MPR_WORD, MPR_FIELD(band_line, course),
          .width = (int)c.count },
    };
    // clang-format on
    mpr_text_table(out,
                   &(struct mpr_table){
                       .title = mpr_arena_format(&arena, "by %s", mpr_group_word(t->choice.by)),
                       MPR_COLUMNS(columns),
                       MPR_ROWS(shown, lines),
                       .whole = c.peak,
                       .top = BANDS,
                       .by = t->choice.by },
                   style);
    free_columns(&c);
    mpr_arena_free(&arena);
}

static void heading(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                    const struct mpr_style *style)
{
    struct mpr_document doc = { .clock = style->clock };
    mpr_doc_began(&doc, t->summary.process.start_ns);
    mpr_doc_gap(&doc);
    mpr_doc_add(&doc, MPR_STRONG, "%s", h->name);
    mpr_doc_say(&doc, "  peak %s%s at %s, at the end %s%s", h->is_about || h->inside ? "~" : "",
                mpr_doc_size(&doc, h->peak_bytes), mpr_doc_time(&doc, h->peak_time),
                h->inside ? "~" : "", mpr_doc_size(&doc, h->end_bytes));
    mpr_report_inside(&doc, h->inside);
    mpr_doc_end(&doc);
    mpr_text_document(out, &doc, style);
    mpr_doc_free(&doc);
}

static size_t chart_columns(const struct mpr_style *style)
{
    const int room = style->width - MARGIN - 2;
    return !style->width || room > COLUMNS ? COLUMNS : room > 4 ? (size_t)room : 4;
}

static void heap(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                 const struct mpr_style *style)
{
    struct columns c;
    heading(out, t, h, style);
    make_columns(&c, t, h, chart_columns(style));
    flag(out, &c, style);
    chart(out, &c);
    axis(out, &c, &t->summary, style);
    free_columns(&c);
    if (t->choice.by != MPR_GROUP_HEAP) band_table(out, t, h, style);
}

static bool by_stacks(enum mpr_group by)
{
    return by == MPR_GROUP_STACK || by == MPR_GROUP_PYTHON || by == MPR_GROUP_LIBRARY;
}

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    mpr_text_log(out, &t->summary, &t->choice, style);
    static const char *const note[] = {
        "call stacks are sampled: bands hold the sampled blocks as they are, and are no estimates"
    };
    if (t->sampled && by_stacks(t->choice.by)) mpr_text_notes(out, note, 1, style);
    for (size_t i = 0; i < t->heaps; i++) heap(out, t, &t->heap[i], style);
    if (!t->heaps) fputs("\nno allocations were recorded\n", out);
}
