/* CSV (RFC 4180, one header line): one record a range, exact bytes; path elements are joined by " > ". */
#include <inttypes.h>

#include "csv.h"
#include "gpu_reports.h"
#include "peaks.h"
#include "render.h"
#include "timelines.h"

static void heap_records(FILE *out, const struct mpr_log_peaks *log, const struct mpr_heap_peak *h, size_t top)
{
    for (size_t i = 0; i < h->rows && (!top || i < top); i++) {
        const struct mpr_row *r = &h->row[i];
        mpr_csv_field(out, log->summary.path);
        fprintf(out, ",%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",", log->summary.process.pid, h->name, h->peak_bytes,
                h->peak_time);
        mpr_csv_path(out, r->path, r->depth);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d\n", r->bytes, r->blocks,
                r->own_peak, r->allocations,
                r->inherited, log->summary.incomplete);
    }
}

static void render_peaks(FILE *out, const struct mpr_peaks *peaks, const struct mpr_style *style)
{
    fputs("log,pid,heap,peak_bytes,peak_time_ns,path,bytes_at_peak,blocks_at_peak,own_peak_bytes,allocations,"
          "inherited_bytes_at_peak,incomplete\n", out);
    for (size_t i = 0; i < peaks->logs; i++) {
        for (size_t k = 0; k < peaks->log[i].heaps; k++)
            heap_records(out, &peaks->log[i], &peaks->log[i].heap[k], style->top);
    }
}

const struct mpr_renderer mpr_render_csv = { "csv", mpr_render_csv_document, render_peaks, mpr_timeline_csv, NULL, NULL };
