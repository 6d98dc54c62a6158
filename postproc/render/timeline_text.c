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

/* Columns of a chart, of a course and of a path, where there is room; lines of a chart and of a
 * table; columns before a chart. */
enum { COLUMNS = 72, SPARKS = 32, PATH = 46, ROWS = 10, BANDS = 12, MARGIN = 12 };

static const char *const eighth[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

/* A heap drawn in `count` columns from `from` on: the largest total in each, and the span that has
 * it. */
struct columns {
    size_t count;
    uint64_t from, width, peak;
    uint64_t *total;
    size_t *span;
    size_t peak_column;
};

static size_t column_of(const struct columns *c, uint64_t time)
{
    const uint64_t at = time <= c->from ? 0 : (time - c->from) / c->width;
    return at < c->count ? (size_t)at : c->count - 1;
}

static void raise(struct columns *c, size_t column, uint64_t total, size_t span)
{
    if (total <= c->total[column]) return;
    c->total[column] = total;
    c->span[column] = span;
    if (total <= c->peak) return;
    c->peak = total;
    c->peak_column = column;
}

/* A span's level lasts until the next one begins: columns in between show it. */
static void draw(struct columns *c, const struct mpr_heap_line *h)
{
    for (size_t i = 0; i < h->spans; i++) {
        const struct mpr_span *span = &h->span[i];
        const size_t first = column_of(c, span->time);
        const size_t end = i + 1 < h->spans ? column_of(c, h->span[i + 1].start) : c->count;
        raise(c, first, span->max, i);
        for (size_t k = first + 1; k < end; k++) raise(c, k, span->max, i);
    }
}

static void make_columns(struct columns *c, const struct mpr_timeline *t,
                         const struct mpr_heap_line *h, size_t count)
{
    const uint64_t end =
        t->options.to < t->summary.duration_ns ? t->options.to : t->summary.duration_ns;
    const uint64_t length = end > t->options.from ? end - t->options.from : 1;
    *c = (struct columns){ .count = count, .from = t->options.from, .width = length / count + 1 };
    c->total = mpr_alloc(count, sizeof *c->total);
    c->span = mpr_alloc(count, sizeof *c->span);
    draw(c, h);
}

static void free_columns(struct columns *c)
{
    free(c->total);
    free(c->span);
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
    struct mpr_value v = mpr_value_path(l->row.path);
    v.told = true;
    v.caller = l->caller;
    return v;
}

static struct mpr_value bytes(const void *row, const void *context)
{
    const struct band_line *l = row;
    const struct mpr_heap_line *h = context;
    struct mpr_value v = mpr_value_number(MPR_BYTES, l->line.row.bytes);
    v.about = h->inside;
    v.at_least = l->line.row.at_least;
    return v;
}

/* The bands' bytes at the peak: the text has them all, so that they fold as in every report. */
static struct mpr_row *rows_of(struct mpr_arena *arena, const struct mpr_heap_line *h,
                               const struct columns *c)
{
    struct mpr_row *row = mpr_arena_alloc(arena, h->bands * sizeof *row);
    const size_t end = h->spans ? h->span[c->span[c->peak_column]].end : 0;
    for (size_t i = 0; i < h->bands; i++) {
        const struct mpr_band *band = &h->band[i];
        row[i] = (struct mpr_row){ .path = band->path,
                                   .own_peak = band->largest,
                                   .at_least = band->at_least };
    }
    for (size_t i = 0; i < end; i++) row[h->change[i].band].bytes = h->change[i].bytes;
    return row;
}

/* Bytes of lines over time: those of line i in column k are bytes[k * lines + i]. */
struct courses {
    struct mpr_arena *arena;
    const struct columns *columns;
    size_t lines, *line_of; /* by band: line + 1 */
    uint64_t *now, *band;   /* by line, by band */
    uint64_t *bytes;
};

static void number_bands(struct courses *f, const struct mpr_row *row, const struct mpr_line *line)
{
    for (size_t i = 0; i < f->lines; i++) {
        const struct mpr_row_link *link = line[i].link;
        do f->line_of[link->row - row] = i + 1;
        while ((link = link->next) != line[i].link);
    }
}

static void change(struct courses *f, const struct mpr_band_change *c)
{
    const size_t line = f->line_of[c->band];
    if (line) f->now[line - 1] += c->bytes - f->band[c->band];
    f->band[c->band] = c->bytes;
}

static void copy_where_shown(struct courses *f, size_t span)
{
    const struct columns *c = f->columns;
    for (size_t k = 0; k < c->count; k++)
        if (c->total[k] && c->span[k] == span)
            memcpy(&f->bytes[k * f->lines], f->now, f->lines * sizeof *f->now);
}

static struct courses courses_of(struct mpr_arena *arena, const struct mpr_heap_line *h,
                                 const struct columns *c, const struct mpr_row *row,
                                 const struct mpr_line *line, size_t lines)
{
    struct courses f = { .arena = arena, .columns = c, .lines = lines };
    f.line_of = mpr_arena_alloc(arena, h->bands * sizeof *f.line_of);
    f.band = mpr_arena_alloc(arena, h->bands * sizeof *f.band);
    f.now = mpr_arena_alloc(arena, lines * sizeof *f.now);
    f.bytes = mpr_arena_alloc(arena, c->count * lines * sizeof *f.bytes);
    number_bands(&f, row, line);
    for (size_t i = 0, at = 0; lines && i < h->spans; i++) {
        for (; at < h->span[i].end; at++) change(&f, &h->change[at]);
        copy_where_shown(&f, i);
    }
    return f;
}

/* Blanks at its end are left out. */
static const char *course(const struct courses *f, size_t line)
{
    const size_t count = f->columns->count;
    uint64_t most = 0;
    char *text = mpr_arena_alloc(f->arena, count * strlen(eighth[8]) + 1), *end = text;
    for (size_t i = 0; i < count; i++)
        if (f->bytes[i * f->lines + line] > most) most = f->bytes[i * f->lines + line];
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, eighth[filled(f->bytes[i * f->lines + line], most, 0, 1)]);
    while (end > text && end[-1] == ' ') *--end = 0;
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
    const size_t top = style->top ? style->top : BANDS;
    const struct courses courses = courses_of(&arena, h, &c, row, line, lines < top ? lines : top);
    struct band_line *shown = mpr_arena_alloc(&arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++)
        shown[i] = (struct band_line){ .line = line[i],
                                       .course = i < courses.lines ? course(&courses, i) : "" };
    // clang-format off
    const struct mpr_column columns[] = {
        { .title = "path", .type = MPR_PATH, .get = path, .width = PATH },
        { .title = "at the peak", .type = MPR_BYTES, .get = bytes, .sums = true },
        { .title = "share", .type = MPR_SHARE, MPR_FIELD(band_line, line.row.bytes), .spare = 1 },
        { .title = "its own course", .type = MPR_WORD, MPR_FIELD(band_line, course),
          .width = (int)c.count },
    };
    // clang-format on
    mpr_text_table(out,
                   &(struct mpr_table){
                       .title = mpr_arena_format(&arena, "by %s", mpr_group_word(t->choice.by)),
                       MPR_COLUMNS(columns),
                       MPR_ROWS(shown, lines),
                       .context = h,
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
    mpr_doc_add(&doc, MPR_STRONG, "%s", mpr_heap_name(h->heap));
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

static bool has_bounds(const struct mpr_timeline *t)
{
    for (size_t i = 0; i < t->heaps; i++)
        for (size_t k = 0; k < t->heap[i].bands; k++)
            if (t->heap[i].band[k].at_least) return true;
    return false;
}

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    mpr_text_log(out, &t->summary, &t->choice, style);
    static const char *const note[] = {
        "call stacks are sampled: bands hold the sampled blocks as they are, at least; peaks estimates",
        "host/heap is sampled: bands hold the sampled blocks as they are, at least; peaks estimates"
    };
    const bool host = t->summary.recording.blocks == MPR_RECORDED_SAMPLE;
    if (has_bounds(t)) mpr_text_notes(out, &note[host], 1, style);
    for (size_t i = 0; i < t->heaps; i++) heap(out, t, &t->heap[i], style);
    if (!t->heaps) fputs("\nno allocations were recorded\n", out);
}
