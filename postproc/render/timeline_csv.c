/* No document: hundreds of MB of records, made while they are written.
 *
 * One record for each span and each band that holds bytes at the span's maximum. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "csv.h"
#include "timelines.h"

static void band_field(FILE *out, const struct mpr_band *band)
{
    if (band->kind == MPR_BAND_OTHER) mpr_csv_field(out, "everything else");
    else mpr_csv_path(out, band->path);
}

static void span_fields(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                        const struct mpr_span *s)
{
    mpr_csv_field(out, t->summary.path);
    fprintf(out,
            ",%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",",
            t->summary.process.pid, mpr_heap_name(h->heap), s->start, s->time, s->max, s->min,
            s->close, s->allocs, s->frees);
}

static void span_records(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                         const struct mpr_span *span, const uint64_t *vector)
{
    size_t written = 0;
    for (size_t i = 0; i < h->bands; i++) {
        if (!vector[i]) continue;
        span_fields(out, t, h, span);
        band_field(out, &h->band[i]);
        fprintf(out, ",%" PRIu64 "\n", vector[i]);
        written++;
    }
    if (written) return;
    span_fields(out, t, h, span);
    fputs(",0\n", out);
}

static void heap_records(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h)
{
    uint64_t *vector = mpr_alloc(h->bands, sizeof *vector);
    size_t at = 0;
    for (size_t i = 0; i < h->spans; i++) {
        for (; at < h->span[i].end; at++) vector[h->change[at].band] = h->change[at].bytes;
        span_records(out, t, h, &h->span[i], vector);
    }
    free(vector);
}

void mpr_timeline_csv(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    (void)style;
    fputs(
        "log,pid,heap,start_ns,time_of_max_ns,max_bytes,min_bytes,close_bytes,allocations,frees,path,bytes_at_max\n",
        out);
    for (size_t i = 0; i < t->heaps; i++) heap_records(out, t, &t->heap[i]);
}
