/* JSON.  The fields are a contract: memprof-report(1) lists them, and a change of meaning changes the schema's number. */
#include "calltrees.h"
#include "device_json.h"
#include "gpu_reports.h"
#include "json.h"
#include "json_rows.h"
#include "json_summary.h"
#include "peaks.h"
#include "readings.h"
#include "render.h"
#include "timelines.h"

static void readings(struct mpr_json *j, const char *key, const struct mpr_reading list[MPR_READ_SOURCES])
{
    mpr_json_open(j, key, '{');
    for (enum mpr_reading_source i = 0; i < MPR_READ_SOURCES; i++) mpr_json_reading(j, mpr_reading_names[i].source, i, &list[i]);
    mpr_json_close(j, '}');
}

static void row(struct mpr_json *j, const struct mpr_row *r)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_path(j, "path", r->path, r->depth);
    mpr_json_number(j, "bytes_at_peak", r->bytes);
    mpr_json_number(j, "blocks_at_peak", r->blocks);
    mpr_json_number(j, "own_peak_bytes", r->own_peak);
    mpr_json_number(j, "allocations", r->allocations);
    mpr_json_number(j, "inherited_bytes_at_peak", r->inherited);
    if (r->estimated) mpr_json_flag(j, "estimated", true);
    mpr_json_close(j, '}');
}

static void rows(struct mpr_json *j, const struct mpr_heap_peak *h, size_t top)
{
    const size_t shown = top && top < h->rows ? top : h->rows;
    uint64_t omitted = 0;
    mpr_json_open(j, "ranges", '[');
    for (size_t i = 0; i < shown; i++) row(j, &h->row[i]);
    mpr_json_close(j, ']');
    for (size_t i = shown; i < h->rows; i++) omitted += h->row[i].bytes;
    mpr_json_number(j, "omitted_ranges", h->rows - shown);
    mpr_json_number(j, "omitted_bytes_at_peak", omitted);
}

static void heap(struct mpr_json *j, const struct mpr_heap_peak *h, size_t top)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "heap", h->name);
    mpr_json_number(j, "peak_bytes", h->peak_bytes);
    mpr_json_number(j, "peak_time_ns", h->peak_time);
    mpr_json_number(j, "end_bytes", h->end_bytes);
    mpr_json_number(j, "blocks_at_peak", h->peak_blocks);
    mpr_json_number(j, "end_blocks", h->end_blocks);
    mpr_json_number(j, "allocations", h->allocations);
    mpr_json_number(j, "frees", h->frees);
    mpr_json_number(j, "failures", h->failures);
    if (h->failures) {
        mpr_json_number(j, "largest_failure_bytes", h->failure_bytes);
        mpr_json_number(j, "largest_failure_time_ns", h->failure_time);
        mpr_json_number(j, "largest_failure_errno", h->failure_errno);
    }
    if (h->touched.bytes != MPF_UNKNOWN) {
        mpr_json_number(j, "touched_at_most_bytes", h->touched.bytes);
        mpr_json_number(j, "touched_at_most_time_ns", h->touched.time);
    }
    readings(j, "before_peak", h->before);
    readings(j, "after_peak", h->after);
    if (h->samples) mpr_json_number(j, "estimated_from_samples", h->samples);
    rows(j, h, top);
    mpr_json_close(j, '}');
}

static void log_peaks(struct mpr_json *j, const struct mpr_log_peaks *log, size_t top)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_summary(j, &log->summary);
    if (*log->choice.source) {
        mpr_json_text(j, "by", mpr_group_name[log->choice.by]);
        mpr_json_text(j, "ranges_from", log->choice.source);
    }
    if (log->parent < 0) mpr_json_null(j, "parent");
    else mpr_json_number(j, "parent", (uint64_t)log->parent);
    readings(j, "largest", log->largest);
    if (log->devices) {
        mpr_json_open(j, "devices", '[');
        for (size_t i = 0; i < log->devices; i++) mpr_device_json(j, &log->device[i], top);
        mpr_json_close(j, ']');
    }
    mpr_json_open(j, "heaps", '[');
    for (size_t i = 0; i < log->heaps; i++) heap(j, &log->heap[i], top);
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

/* Where AUTO stands for the same in all logs, that. */
static enum mpr_group by_of(const struct mpr_peaks *peaks)
{
    for (size_t i = 0; i < peaks->logs; i++)
        if (peaks->log[i].choice.by != peaks->log[0].choice.by) return peaks->options.by;
    return peaks->logs ? peaks->log[0].choice.by : peaks->options.by;
}

static void render_peaks(FILE *out, const struct mpr_peaks *peaks, const struct mpr_style *style)
{
    struct mpr_json j = { out, 0, true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.peaks/1");
    mpr_json_text(&j, "by", mpr_group_name[by_of(peaks)]);
    mpr_json_known(&j, "at_ns", peaks->options.at.from, MPR_PEAK_TIME);
    if (!mpr_instant_is_peak(peaks->options.at))
        mpr_json_number(&j, "at_width_ns", peaks->options.at.settled ? 0 : peaks->options.at.to - peaks->options.at.from + 1);
    mpr_json_open(&j, "logs", '[');
    for (size_t i = 0; i < peaks->logs; i++) log_peaks(&j, &peaks->log[i], style->top);
    mpr_json_close(&j, ']');
    mpr_json_number(&j, "sum_of_peaks_bytes", peaks->sum_of_peaks);
    mpr_json_number(&j, "sum_of_rss_high_water_bytes", peaks->sum_of_rss);
    mpr_json_close(&j, '}');
}

const struct mpr_renderer mpr_render_json = { "json", mpr_render_json_document, render_peaks, mpr_timeline_json, mpr_ooms_json, mpr_stacks_json };
