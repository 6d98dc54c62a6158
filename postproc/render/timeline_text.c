/* No document: charts.
 *
 * A chart in 96 columns: the heap's bytes over time, then each band at the peak with its own
 * course. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "text.h"
#include "timelines.h"
#include "units.h"

enum { COLUMNS = 72, ROWS = 10, SPARKS = 32, BANDS = 12, MARGIN = 12 };

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
    const bool left = c->peak_column > COLUMNS / 2;
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
    const int half = COLUMNS / 2 - 6;
    fprintf(out, "\n%*s%-*s%-*s%12s\n", MARGIN + 2, "", half, from.text, half, middle.text,
            to.text);
}

/* ---- bands */

static const uint64_t *order_of;
static int by_peak(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (order_of[a] != order_of[b]) return order_of[a] > order_of[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

static void band_line(FILE *out, const char *by, const struct mpr_band *band,
                      const struct columns *c, size_t index)
{
    const uint64_t bytes = c->band[c->peak_column * c->bands + index];
    struct mpr_number size, share;
    fputs("  ", out);
    if (band->kind == MPR_BAND_OTHER) fprintf(out, "%-*s", MPR_TEXT_PATH, "everything else");
    else mpr_text_row_path(out, by, band->path, band->depth, MPR_TEXT_PATH);
    fprintf(out, "%12s%9s  ", mpr_units_size(&size, bytes),
            mpr_units_share(&share, bytes, c->peak));
    for (size_t i = 0; i < c->count; i++)
        fputs(eighth[filled(c->band[i * c->bands + index], band->largest, 0, 1)], out);
    fputc('\n', out);
}

static void band_table(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                       const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : BANDS;
    struct columns c;
    size_t *order = mpr_alloc(h->bands, sizeof *order);
    make_columns(&c, t, h, SPARKS);
    for (size_t i = 0; i < h->bands; i++) order[i] = i;
    order_of = &c.band[c.peak_column * c.bands];
    qsort(order, h->bands, sizeof *order, by_peak);
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n  by %-*s%12s%9s  %s\n", MPR_TEXT_PATH - 3, mpr_group_word(t->choice.by),
            "at the peak", "share", "its own course");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < h->bands && i < top; i++)
        band_line(out, mpr_group_word(t->choice.by), &h->band[order[i]], &c, order[i]);
    if (top < h->bands) fprintf(out, "  (%zu more)\n", h->bands - top);
    free_columns(&c);
    free(order);
}

static void heap(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                 const struct mpr_style *style)
{
    struct columns c;
    struct mpr_number size, time;
    fputc('\n', out);
    mpr_text_tone(out, style, MPR_STRONG);
    fputs(h->name, out);
    mpr_text_tone(out, style, MPR_PLAIN);
    fprintf(out, "  peak %s at %s", mpr_units_size(&size, h->peak_bytes),
            mpr_text_time(&time, style, &t->summary, h->peak_time));
    fprintf(out, ", at the end %s\n", mpr_units_size(&size, h->end_bytes));
    make_columns(&c, t, h, COLUMNS);
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
    if (t->sampled && by_stacks(t->choice.by))
        fputs(
            "call stacks are sampled: bands hold the sampled blocks as they are, and are no estimates\n",
            out);
    for (size_t i = 0; i < t->heaps; i++) heap(out, t, &t->heap[i], style);
    if (!t->heaps) fputs("\nno allocations were recorded\n", out);
}
