/* Timelines for a terminal: a chart of each heap's bytes over time, and a table of its bands at the
 * peak, each with a chart of one line. */
#include <string.h>

#include "naming.h"
#include "reports.h"
#include "text.h"
#include "timeline.h"
#include "units.h"

/* Columns of a chart, of a band's chart and of a path, if there is room; lines of a chart and of a
 * table; columns before a chart. */
enum { COLUMNS = 72, BAND_CHART = 32, PATH = 46, ROWS = 10, BANDS = 12, MARGIN = 12 };

static const char *const eighth[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

/* A chart of a heap, in `count` columns of `width` ns from `from` on: the largest total of each
 * column, and the span that has it. */
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

static void raise_columns(struct columns *c, size_t column, uint64_t total, size_t span)
{
    if (total <= c->total[column]) return;
    c->total[column] = total;
    c->span[column] = span;
    if (total <= c->peak) return;
    c->peak = total;
    c->peak_column = column;
}

/* Fills the columns.  The level of a span lasts until the next span begins, so all columns between
 * them show it. */
static void make_columns(struct columns *c, struct mpr_arena *arena, const struct mpr_timeline *t,
                         const struct mpr_heap_timeline *h, size_t count)
{
    const uint64_t end =
        t->options.to < t->summary.duration_ns ? t->options.to : t->summary.duration_ns;
    const uint64_t length = end > t->options.from ? end - t->options.from : 1;
    *c = (struct columns){ .count = count, .from = t->options.from, .width = length / count + 1 };
    c->total = mpr_arena_alloc(arena, count * sizeof *c->total);
    c->span = mpr_arena_alloc(arena, count * sizeof *c->span);
    for (size_t i = 0; i < h->spans; i++) {
        const struct mpr_span *span = &h->span[i];
        const size_t first = column_of(c, span->time),
                     next = i + 1 < h->spans ? column_of(c, h->span[i + 1].start) : c->count;
        raise_columns(c, first, span->max, i);
        for (size_t k = first + 1; k < next; k++) raise_columns(c, k, span->max, i);
    }
}

/* ---- charts */

/* Returns how many eighths of a cell are filled in row `row` from the bottom, if the value `whole`
 * fills `rows` rows. */
static unsigned filled_eighths(uint64_t value, uint64_t whole, unsigned row, unsigned rows)
{
    const double eighths = whole ? (double)value / (double)whole * rows * 8 - row * 8.0 : 0;
    if (eighths >= 8) return 8;
    if (eighths < 1) return value && !row && eighths > 0 ? 1 : 0;
    return (unsigned)eighths;
}

static void peak_label(FILE *out, const struct columns *c, const struct mpr_style *style)
{
    struct mpr_number size;
    const bool is_left = c->peak_column > c->count / 2;
    const int at = (int)c->peak_column + (is_left ? 0 : 1);
    mpr_units_size(&size, c->peak);
    mpr_text_tone(out, style, MPR_STRONG);
    if (is_left) fprintf(out, "%*s%*s ▼\n", MARGIN + 2, "", at - 1, size.text);
    else fprintf(out, "%*s▼ %s\n", MARGIN + 1 + at, "", size.text);
    mpr_text_tone(out, style, MPR_PLAIN);
}

static void chart(FILE *out, const struct columns *c)
{
    struct mpr_number size;
    for (unsigned row = ROWS; row-- > 0;) {
        const bool labelled = row == ROWS - 1 || row == ROWS / 2 - 1;
        const uint64_t level = row == ROWS - 1 ? c->peak : c->peak / 2;
        fprintf(out, "%*s %s", MARGIN, labelled ? mpr_units_size(&size, level) : "",
                labelled ? "┤" : "│");
        size_t end = c->count;
        while (end && !filled_eighths(c->total[end - 1], c->peak, row, ROWS)) end--;
        for (size_t i = 0; i < end; i++)
            fputs(eighth[filled_eighths(c->total[i], c->peak, row, ROWS)], out);
        fputc('\n', out);
    }
}

static void axis(FILE *out, const struct columns *c, const struct mpr_summary *summary,
                 const struct mpr_style *style)
{
    const size_t tick[] = { 0, c->count / 2, c->count - 1 };
    const int half = (int)c->count / 2 - 6, width[] = { -half, -half, 12 };
    fprintf(out, "%*s └", MARGIN, "0 B");
    for (size_t i = 0; i < c->count; i++) fputs(i == tick[1] || i == tick[2] ? "┴" : "─", out);
    fprintf(out, "\n%*s", MARGIN + 2, "");
    for (size_t i = 0; i < sizeof tick / sizeof *tick; i++) {
        const uint64_t at = c->from + (i == 1 ? c->width * c->count / 2 : c->width * tick[i]);
        struct mpr_number n;
        mpr_units_clock(&n, style->clock ? summary->process.start_ns : 0, at, 1000000);
        fprintf(out, "%*s", width[i], n.text);
    }
    fputc('\n', out);
}

/* ---- bands */

struct band_line {
    struct mpr_line line;
    const char *chart;
};

MPR_VALUE_IN(path, band_line, l, mpr_heap_timeline, h,
             mpr_value_shortened(l->line.row.path, l->line.caller))
MPR_VALUE_IN(bytes, band_line, l, mpr_heap_timeline, h,
             (struct mpr_value){ .type = MPR_BYTES,
                                 .number = l->line.row.bytes,
                                 .about = h->inside,
                                 .at_least = l->line.row.at_least })

/* Returns the bands as rows with their bytes at the peak, which are merged to lines as in other
 * reports. */
static struct mpr_row *rows_of(struct mpr_arena *arena, const struct mpr_heap_timeline *h,
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

/* Returns the bytes of the first `lines` lines over time: those of line i in column k are
 * bytes[k * lines + i]. */
static uint64_t *bytes_of(struct mpr_arena *arena, const struct mpr_heap_timeline *h,
                          const struct columns *c, const struct mpr_row *row,
                          const struct mpr_line *line, size_t lines)
{
    uint64_t *bytes = mpr_arena_alloc(arena, c->count * lines * sizeof *bytes);
    uint64_t *now = mpr_arena_alloc(arena, lines * sizeof *now),
             *band = mpr_arena_alloc(arena, h->bands * sizeof *band);
    size_t *line_of = mpr_arena_alloc(arena, h->bands * sizeof *line_of); /* by band: line + 1 */
    for (size_t i = 0; i < lines; i++) {
        const struct mpr_row_link *link = line[i].link;
        do line_of[link->row - row] = i + 1;
        while ((link = link->next) != line[i].link);
    }
    for (size_t i = 0, at = 0; lines && i < h->spans; i++) {
        for (; at < h->span[i].end; at++) {
            const struct mpr_band_change *change = &h->change[at];
            const size_t of = line_of[change->band];
            if (of) now[of - 1] += change->bytes - band[change->band];
            band[change->band] = change->bytes;
        }
        for (size_t k = 0; k < c->count; k++)
            if (c->total[k] && c->span[k] == i) memcpy(&bytes[k * lines], now, lines * sizeof *now);
    }
    return bytes;
}

/* Returns the chart of a line's bytes, without blanks at the end. */
static const char *band_chart(struct mpr_arena *arena, const uint64_t *bytes, size_t lines,
                              size_t line, size_t count)
{
    uint64_t max = 0;
    char *text = mpr_arena_alloc(arena, count * strlen(eighth[8]) + 1), *end = text;
    for (size_t i = 0; i < count; i++)
        if (bytes[i * lines + line] > max) max = bytes[i * lines + line];
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, eighth[filled_eighths(bytes[i * lines + line], max, 0, 1)]);
    while (end > text && end[-1] == ' ') *--end = 0;
    return text;
}

static void band_table(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_timeline *h,
                       const struct mpr_style *style)
{
    enum { FIGURES = 25, PART = 3, MIN_CHART = 14 };
    static const struct mpr_naming as_they_are = { .unfold = true };
    const int room = (style->width - FIGURES) / PART;
    struct mpr_arena arena = { 0 };
    struct columns c;
    size_t lines, live;
    make_columns(&c, &arena, t, h,
                 !style->width || room > BAND_CHART ? BAND_CHART
                 : room > MIN_CHART                 ? (size_t)room
                                                    : MIN_CHART);
    const struct mpr_row *row = rows_of(&arena, h, &c);
    const struct mpr_line *line =
        mpr_naming_lines(&arena, style->naming ? style->naming : &as_they_are, t->choice.by, row,
                         h->bands, &lines, &live);
    const size_t top = style->top ? style->top : BANDS;
    const size_t drawn = lines < top ? lines : top;
    const uint64_t *over_time = bytes_of(&arena, h, &c, row, line, drawn);
    struct band_line *shown = mpr_arena_alloc(&arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++) {
        shown[i] = (struct band_line){ .line = line[i], .chart = "" };
        if (i < drawn) shown[i].chart = band_chart(&arena, over_time, drawn, i, c.count);
    }
    // clang-format off
    const struct mpr_column columns[] = {
        { .title = "path", .type = MPR_PATH, .get = path, .width = PATH },
        { .title = "at the peak", .type = MPR_BYTES, .get = bytes, .sums = true },
        { .title = "share", .type = MPR_SHARE, MPR_FIELD(band_line, line.row.bytes), .spare = 1 },
        { .title = "over time", .type = MPR_WORD, MPR_FIELD(band_line, chart),
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
    mpr_arena_free(&arena);
}

static void heading(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_timeline *h,
                    const struct mpr_style *style)
{
    struct mpr_document doc = { .clock = style->clock };
    const bool estimated =
        h->inside || (h->heap == MPF_HEAP_HOST && t->summary.recording.sums_estimated);
    mpr_doc_set_epoch(&doc, t->summary.process.start_ns);
    mpr_doc_gap(&doc);
    mpr_doc_add(&doc, MPR_STRONG, "%s", mpr_heap_name(h->heap));
    mpr_doc_add_plain(&doc, "  peak %s%s at %s, at the end %s%s",
                      h->is_approximate || h->inside ? "~" : "", mpr_doc_size(&doc, h->peak_bytes),
                      mpr_doc_time(&doc, h->peak_time), estimated ? "~" : "",
                      mpr_doc_size(&doc, h->end_bytes));
    mpr_report_inside(&doc, h->inside);
    mpr_doc_end(&doc);
    mpr_text_document(out, &doc, style);
    mpr_doc_free(&doc);
}

static void heap(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_timeline *h,
                 const struct mpr_style *style)
{
    enum { MIN_CHART = 4 };
    const int room = style->width - MARGIN - 2;
    struct mpr_arena arena = { 0 };
    struct columns c;
    heading(out, t, h, style);
    make_columns(&c, &arena, t, h,
                 !style->width || room > COLUMNS ? COLUMNS
                 : room > MIN_CHART              ? (size_t)room
                                                 : MIN_CHART);
    peak_label(out, &c, style);
    chart(out, &c);
    axis(out, &c, &t->summary, style);
    mpr_arena_free(&arena);
    if (t->choice.by != MPR_GROUP_HEAP) band_table(out, t, h, style);
}

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    static const char *const note[] = {
        "call stacks are sampled: bands count only the sampled blocks and are lower bounds; peaks "
        "estimates the totals",
        "host/heap is sampled: bands count only the sampled blocks and are lower bounds; peaks estimates "
        "the totals"
    };
    const bool host = t->summary.recording.blocks == MPR_RECORDED_SAMPLE;
    struct mpr_document notes = { 0 };
    bool bounds = false;
    mpr_text_log(out, &t->summary, &t->choice, style);
    for (size_t i = 0; i < t->heaps; i++)
        for (size_t k = 0; k < t->heap[i].bands; k++) bounds |= t->heap[i].band[k].at_least;
    if (bounds) mpr_report_notes(&notes, &note[host], 1);
    mpr_text_document(out, &notes, style);
    mpr_doc_free(&notes);
    for (size_t i = 0; i < t->heaps; i++) heap(out, t, &t->heap[i], style);
    if (!t->heaps) fputs("\nno allocations were recorded\n", out);
}
