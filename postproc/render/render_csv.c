/* CSV (RFC 4180, one header line): one record a range, exact bytes; path elements are joined by " > ". */
#include <inttypes.h>

#include "csv.h"
#include "gpu_reports.h"
#include "info.h"
#include "peaks.h"
#include "render.h"
#include "timelines.h"
#include "verify.h"

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

static void render_info(FILE *out, const struct mpr_info *info, const struct mpr_style *style)
{
    (void)style;
    fputs("log,event,count\n", out);
    for (size_t i = 0; i < info->counts; i++) {
        mpr_csv_field(out, info->summary.path);
        fprintf(out, ",%s,%" PRIu64 "\n", info->count[i].name, info->count[i].events);
    }
}

static void render_verify(FILE *out, const struct mpr_verify *verify, const struct mpr_style *style)
{
    const struct mpr_summary *s = &verify->summary;
    (void)style;
    fputs("log,incomplete,complete,recovered_from_journal,good_bytes,log_bytes,good_until_ns,damaged_places,missing_frames,lost_events\n", out);
    mpr_csv_field(out, s->path);
    fprintf(out, ",%d,%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
            s->incomplete, s->complete, s->journal,
            verify->good_bytes, s->bytes, s->good_ns, s->damaged, s->missing_frames, s->lost_events);
}

const struct mpr_renderer mpr_render_csv = { "csv", render_peaks, render_info, render_verify, mpr_timeline_csv,
                                               mpr_graphs_csv, mpr_segments_csv, NULL, NULL };
