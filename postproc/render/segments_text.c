/* PyTorch's segments for a terminal: sums, pools, the segments with most free bytes, and what pins them. */
#include <inttypes.h>
#include <stdarg.h>

#include "amount.h"
#include "gpu_reports.h"
#include "segments.h"
#include "text.h"
#include "units.h"

enum { POOL = 32, PATH = 22, PIN = 38, ADDRESS = 14 };       /* bytes of a pool's name; columns */

static void pool_name(char out[POOL], bool graph, const uint64_t pool[2])
{
    const char *const whose = graph ? "graph's" : "once graph's";
    if (!graph && !pool[0] && !pool[1]) snprintf(out, POOL, "default");
    else if (!pool[0] && !pool[1]) snprintf(out, POOL, "%s", whose);
    else snprintf(out, POOL, "%s %" PRIu64 ":%" PRIu64, whose, pool[0], pool[1]);
}

static size_t shown_of(size_t count, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    return count < top ? count : top;
}

static void rest_line(FILE *out, size_t count, size_t shown)
{
    if (shown < count) fprintf(out, "  (%zu more)\n", count - shown);
}

__attribute__((format(printf, 3, 4))) static void heading(FILE *out, const struct mpr_style *style, const char *format, ...)
{
    va_list list;
    mpr_text_tone(out, style, MPR_FAINT);
    va_start(list, format);
    vfprintf(out, format, list);
    va_end(list);
    mpr_text_tone(out, style, MPR_PLAIN);
}

static void sums(FILE *out, const struct mpr_segments_device *d, const char *instant, const struct mpr_style *style)
{
    struct mpr_number n[4];
    mpr_text_tone(out, style, MPR_STRONG);
    fprintf(out, "\ngpu%u", d->index);
    mpr_text_tone(out, style, MPR_PLAIN);
    fputc(' ', out);
    mpr_text_escaped(out, d->name);
    fprintf(out, "  %s, %s\n", instant, mpr_units_time(&n[0], d->time));
    fprintf(out, "PyTorch holds %s in %zu segment%s: ", mpr_units_size(&n[0], d->bytes), d->segments, d->segments == 1 ? "" : "s");
    fprintf(out, "live %s, ", mpr_units_size(&n[1], d->live));
    fprintf(out, "free %s\n", mpr_units_size(&n[2], mpr_less(d->bytes, d->live)));
    fprintf(out, "  split free  %12s  in segments that hold live blocks; largest hole %s\n", mpr_units_size(&n[0], d->split_free),
            mpr_units_size(&n[1], d->largest_hole));
    fprintf(out, "  releasable  %12s  in segments that hold nothing\n", mpr_units_size(&n[2], d->idle));
    fprintf(out, "  graph pools %12s  free, held by graphs\n", mpr_units_size(&n[3], d->graph_free));
    if (d->outside_blocks)
        fprintf(out, "  outside     %12s  live, in no segment that was seen: %" PRIu64 " blocks\n",
                mpr_units_size(&n[0], d->outside), d->outside_blocks);
}

static void pools(FILE *out, const struct mpr_segments_device *d, const struct mpr_style *style)
{
    const size_t shown = shown_of(d->pools, style);
    heading(out, style, "\n%-18s%8s%12s%12s%12s%14s\n", "pool", "segments", "bytes", "live", "free", "largest hole");
    for (size_t i = 0; i < shown; i++) {
        const struct mpr_segment_pool *p = &d->pool[i];
        struct mpr_number n[4];
        char name[POOL];
        pool_name(name, p->graph, p->pool);
        fprintf(out, "  %-16s%8" PRIu64 "%12s%12s%12s%14s\n", name, p->segments, mpr_units_size(&n[0], p->bytes),
                mpr_units_size(&n[1], p->live), mpr_units_size(&n[2], p->free), mpr_units_size(&n[3], p->largest_hole));
    }
    rest_line(out, d->pools, shown);
}

static void segment_line(FILE *out, const struct mpr_segments_device *d, const struct mpr_segment *s)
{
    struct mpr_number n[4];
    fprintf(out, "  %#*" PRIx64 "%12s%12s%12s%8" PRIu64 "  ", ADDRESS, s->addr, mpr_units_size(&n[0], s->bytes), mpr_units_size(&n[1], s->free),
            mpr_units_size(&n[2], s->largest_hole), s->blocks);
    if (s->oldest) {
        mpr_text_path(out, s->oldest, s->oldest_depth, PATH);
        fprintf(out, "%14s", mpr_units_time(&n[3], mpr_less(d->time, s->oldest_time)));
    } else {
        fputs(s->state == MPR_SEGMENT_GRAPH ? "(a graph's pool)" : "(nothing)", out);
    }
    fputc('\n', out);
}

static void segment_table(FILE *out, const struct mpr_segments_device *d, const struct mpr_style *style)
{
    const size_t shown = shown_of(d->segments, style);
    heading(out, style, "\n%-*s%12s%12s%12s%8s  %-*s%14s\n", ADDRESS + 2, "most free", "bytes", "free", "hole", "blocks", PATH,
            "oldest block", "age");
    for (size_t i = 0; i < shown; i++) segment_line(out, d, &d->segment[i]);
    rest_line(out, d->segments, shown);
}

static void pin_table(FILE *out, const struct mpr_segments_device *d, const struct mpr_style *style)
{
    const size_t shown = shown_of(d->pins, style);
    if (!d->pins) return;
    heading(out, style, "\n%-*s%12s%10s%10s%12s%14s\n", PIN + 2, "what pins the split free memory", "free", "segments", "blocks", "bytes",
            "oldest's age");
    for (size_t i = 0; i < shown; i++) {
        const struct mpr_segment_pin *p = &d->pin[i];
        struct mpr_number n[4];
        fputs("  ", out);
        mpr_text_path(out, p->path, p->depth, PIN);
        fprintf(out, "%12s%10" PRIu64 "%10" PRIu64 "%12s%14s\n", mpr_units_size(&n[0], p->free), p->segments, p->blocks,
                mpr_units_size(&n[1], p->bytes), mpr_units_time(&n[2], mpr_less(d->time, p->oldest_time)));
    }
    rest_line(out, d->pins, shown);
}

void mpr_segments_text(FILE *out, const struct mpr_segments *segments, const struct mpr_style *style)
{
    static const char *const instant[] = { "at its peak", "when memory ran out", "at the chosen time" };
    mpr_text_summary(out, &segments->summary, style);
    for (size_t i = 0; i < segments->devices; i++) {
        const struct mpr_segments_device *d = &segments->device[i];
        sums(out, d, instant[segments->options.which], style);
        pools(out, d, style);
        segment_table(out, d, style);
        pin_table(out, d, style);
    }
    if (!segments->devices) fputs("\nPyTorch's caching allocator held no device memory\n", out);
}
