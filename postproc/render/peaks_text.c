/* Text for a terminal of 96 columns. */
#include <inttypes.h>
#include <string.h>

#include "calltrees.h"
#include "gpu_reports.h"
#include "device_text.h"
#include "peaks.h"
#include "readings.h"
#include "text.h"
#include "timelines.h"
#include "units.h"

/* ---- peaks: heaps */

/* How finely the times of an instant are told. */
static uint64_t width_of(struct mpr_instant at) { return mpr_instant_is_peak(at) ? 1000000 : at.to - at.from + 1; }

static void heap_table(FILE *out, const struct mpr_log_peaks *log, struct mpr_instant at, const struct mpr_style *style)
{
    const uint64_t width = width_of(at);
    const int column = width < 1000000 ? 20 : 14;
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "%-14s%12s%*s%12s%14s%14s%12s\n", "heap", "peak", column, "at", "blocks", "allocations", "frees", "at end");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        struct mpr_number n[6];
        fprintf(out, "%-14s%12s%*s%12s%14s%14s%12s\n", h->name, mpr_units_size(&n[0], h->peak_bytes), column,
                mpr_units_instant(&n[1], h->peak_time, width), mpr_units_count(&n[2], h->peak_blocks),
                mpr_units_count(&n[3], h->allocations), mpr_units_count(&n[4], h->frees),
                mpr_units_size(&n[5], h->end_bytes));
    }
}

/* Bytes that were asked for and cannot all have been touched. */
static void reserved(FILE *out, const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        struct mpr_number n[3];
        if (h->touched.bytes >= h->peak_bytes) continue;
        fprintf(out, "%s: of %s at most %s was in memory or swap at %s; the rest was only reserved\n", h->name,
                mpr_units_size(&n[0], h->peak_bytes), mpr_units_size(&n[1], h->touched.bytes), mpr_units_time(&n[2], h->touched.time));
    }
}

/* The driver has numbers of its own: 2 is out of memory. */
static const char *failure_text(const struct mpr_heap_peak *h)
{
    if (strncmp(h->name, "gpu", 3) != 0 && strcmp(h->name, "host/pinned") != 0) return strerror((int)h->failure_errno);
    return h->failure_errno == 2 ? "CUDA: out of memory" : "CUDA: an error that is not lack of memory";
}

static void failures(FILE *out, const struct mpr_log_peaks *log, const struct mpr_style *style)
{
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        struct mpr_number count, size, time;
        if (!h->failures) continue;
        mpr_text_tone(out, style, MPR_WARN);
        fprintf(out, "%s: %s failed allocation%s, the largest %s at %s (%s)", h->name, mpr_units_count(&count,
            h->failures),
                h->failures == 1 ? "" : "s", mpr_units_size(&size, h->failure_bytes), mpr_units_time(&time,
                    h->failure_time),
                failure_text(h));
        mpr_text_tone(out, style, MPR_PLAIN);
        fputc('\n', out);
    }
}

/* ---- peaks: the kernel's view */

static void part(FILE *out, const char *label, uint64_t value)
{
    struct mpr_number n;
    if (value != MPF_UNKNOWN && value) fprintf(out, "  %s %s", label, mpr_units_size(&n, value));
}

static void rss_line(FILE *out, const struct mpr_reading *r)
{
    struct mpr_number n, time;
    fprintf(out, "  RSS     %12s", mpr_units_size(&n, mpr_reading_resident(r)));
    fprintf(out, " at %s ", mpr_units_time(&time, r->time));
    part(out, "anonymous", r->value[MPF_RSS_ANON]);
    part(out, "file", r->value[MPF_RSS_FILE]);
    part(out, "shared", r->value[MPF_RSS_SHMEM]);
    part(out, "swap", r->value[MPF_RSS_SWAP]);
    fputc('\n', out);
    fprintf(out, "%*s", 20, "");
    part(out, "Private_Dirty", r->value[MPF_RSS_PRIVATE_DIRTY]);
    part(out, "Pss", r->value[MPF_RSS_PSS]);
    mpr_text_rollup_time(out, r);
    part(out, "memprof itself up to", r->value[MPF_RSS_MEMPROF]);
    part(out, "high water", r->value[MPF_RSS_HWM]);
    fputc('\n', out);
}

static void cgroup_line(FILE *out, const struct mpr_reading *r)
{
    struct mpr_number n, time;
    fprintf(out, "  cgroup  %12s", mpr_units_size(&n, r->value[MPF_CGROUP_USAGE]));
    fprintf(out, " at %s ", mpr_units_time(&time, r->time));
    part(out, "limit", r->value[MPF_CGROUP_LIMIT]);
    part(out, "peak", r->value[MPF_CGROUP_PEAK]);
    if (r->value[MPF_CGROUP_OOM_KILLS] != MPF_UNKNOWN && r->value[MPF_CGROUP_OOM_KILLS])
        fprintf(out, "  OOM kills %" PRIu64, r->value[MPF_CGROUP_OOM_KILLS]);
    fputc('\n', out);
}

static void jemalloc_line(FILE *out, const struct mpr_reading *r)
{
    struct mpr_number n;
    fprintf(out, "  jemalloc%12s", mpr_units_size(&n, r->value[MPF_JEMALLOC_ALLOCATED]));
    fputs(" allocated ", out);
    part(out, "active", r->value[MPF_JEMALLOC_ACTIVE]);
    part(out, "resident", r->value[MPF_JEMALLOC_RESIDENT]);
    part(out, "retained", r->value[MPF_JEMALLOC_RETAINED]);
    fputc('\n', out);
}

static void kernel_view(FILE *out, const struct mpr_heap_peak *h, bool at_peak, const struct mpr_style *style)
{
    const struct mpr_reading *rss = &h->then[MPR_READ_RSS], *cgroup = &h->then[MPR_READ_CGROUP];
    const struct mpr_reading *jemalloc = &h->then[MPR_READ_JEMALLOC];
    if (!rss->valid && !cgroup->valid && !jemalloc->valid) return;
    mpr_text_tone(out, style, MPR_FAINT);
    if (at_peak) fprintf(out, "\nwhat the kernel charged at the peak of %s\n", h->name);
    else fputs("\nwhat the kernel charged then\n", out);
    mpr_text_tone(out, style, MPR_PLAIN);
    if (rss->valid) rss_line(out, rss);
    if (cgroup->valid) cgroup_line(out, cgroup);
    if (jemalloc->valid) jemalloc_line(out, jemalloc);
}

/* ---- peaks: rows */

/* A number in a column; "~" before an estimate. */
static void cell(FILE *out, const char *number, int width, bool estimated)
{
    const int pad = width - (int)strlen(number) - estimated;
    fprintf(out, "%*s%s%s", pad > 0 ? pad : 0, "", estimated ? "~" : "", number);
}

static void print_row(FILE *out, const struct mpr_heap_peak *h, const struct mpr_row *r, const char *by, const struct mpr_style *style)
{
    struct mpr_number n;
    const bool estimated = r->estimated;
    fputs("  ", out);
    mpr_text_row_path(out, by, r->path, r->depth, style->path);
    cell(out, mpr_units_size(&n, r->bytes), 12, estimated);
    fprintf(out, "%9s", mpr_units_share(&n, r->bytes, h->peak_bytes));
    cell(out, mpr_units_count(&n, r->blocks), 10, estimated);
    cell(out, mpr_units_size(&n, r->own_peak), 12, estimated);
    cell(out, mpr_units_count(&n, r->allocations), 11, estimated);
    fputc('\n', out);
}

/* What --top or a share of nothing leaves out. */
static void rest_line(FILE *out, const struct mpr_heap_peak *h, size_t shown)
{
    uint64_t bytes = 0;
    struct mpr_number count, size;
    for (size_t i = shown; i < h->rows; i++) bytes += h->row[i].bytes;
    if (shown < h->rows) {
        fprintf(out, "  (%s more, %s)\n", mpr_units_count(&count, h->rows - shown), mpr_units_size(&size, bytes));
    }
}

static void row_table(FILE *out, const struct mpr_heap_peak *h, const char *by, bool at_peak,
                      const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    char title[64];
    size_t shown = 0;
    if (!h->rows) return;
    snprintf(title, sizeof title, "%s by %s", h->name, by);
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%12s%9s%10s%12s%11s\n", style->path + 2, title, at_peak ? "at the peak" : "at that time",
            "share", "blocks", "own peak", "allocs");
    mpr_text_tone(out, style, MPR_PLAIN);
    while (shown < h->rows && shown < top && (h->row[shown].bytes || !h->peak_bytes))
        print_row(out, h, &h->row[shown++], by, style);
    rest_line(out, h, shown);
    struct mpr_number n;
    if (h->samples) fprintf(out, "  ~ estimated from %s samples\n", mpr_units_count(&n, h->samples));
}

/* ---- peaks: logs */

/* What stands for the peaks. */
static void chosen(FILE *out, struct mpr_instant at)
{
    const uint64_t width = width_of(at);
    struct mpr_number time, length;
    mpr_units_instant(&time, at.from, width);
    if (width == 1) fprintf(out, "the state at %s stands for the peak\n", time.text);
    else fprintf(out, "each heap's largest state within %s from %s on stands for its peak\n", mpr_units_length(&length, width), time.text);
}

static void log_section(FILE *out, const struct mpr_peaks *peaks, const struct mpr_log_peaks *log,
                        const struct mpr_style *style)
{
    const bool at_peak = mpr_instant_is_peak(peaks->options.at);
    mpr_text_summary(out, &log->summary, style);
    mpr_text_choice(out, &log->choice);
    if (!at_peak) chosen(out, peaks->options.at);
    for (size_t i = 0; i < log->devices; i++)
        if (log->device[i].peak.valid && (log->device[i].peak.parts || *log->device[i].off))
            mpr_device_text(out, &log->device[i], &log->device[i].peak, at_peak ? "peak" : "then", mpr_group_word(log->choice.by), style);
    fputc('\n', out);
    heap_table(out, log, peaks->options.at, style);
    reserved(out, log);
    failures(out, log, style);
    for (size_t i = 0; i < log->heaps; i++) {
        row_table(out, &log->heap[i], mpr_group_word(log->choice.by), at_peak, style);
        if (i == 0) kernel_view(out, &log->heap[i], at_peak, style);
    }
    if (!log->heaps) fputs("no allocations were recorded\n", out);
    mpr_text_notes(out, log->note, log->notes);
}

static int generations(const struct mpr_peaks *peaks, size_t log)
{
    int count = 0;
    for (long up = peaks->log[log].parent; up >= 0 && count < 20; up = peaks->log[up].parent) count++;
    return count;
}

static void process_line(FILE *out, const struct mpr_peaks *peaks, size_t index)
{
    const struct mpr_log_peaks *log = &peaks->log[index];
    struct mpr_number peak, rss;
    uint64_t sum = 0;
    for (size_t i = 0; i < log->heaps; i++) sum += log->heap[i].peak_bytes;
    const int indent = generations(peaks, index) * 2;
    fprintf(out, "  %*s%-*" PRIu64, indent, "", 40 - indent, log->summary.process.pid);
    fprintf(out, "%14s%14s  ", mpr_units_size(&peak, sum), log->rss_high == MPF_UNKNOWN ? "-" : mpr_units_size(&rss,
        log->rss_high));
    mpr_text_escaped(out, log->summary.process.argc ? log->summary.process.argv[0] : log->summary.path);
    fputc('\n', out);
}

static void family(FILE *out, const struct mpr_peaks *peaks, size_t index)
{
    process_line(out, peaks, index);
    for (size_t i = 0; i < peaks->logs; i++) {
        if (peaks->log[i].parent == (long)index) family(out, peaks, i);
    }
}

static void process_tree(FILE *out, const struct mpr_peaks *peaks, const struct mpr_style *style)
{
    struct mpr_number peak, rss;
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-42s%14s%14s  program\n", "processes", "tracked peak", "RSS peak");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < peaks->logs; i++) {
        if (peaks->log[i].parent < 0) family(out, peaks, i);
    }
    fprintf(out, "  %-40s%14s%14s\n", "sum (their peaks may be at other times)", mpr_units_size(&peak,
        peaks->sum_of_peaks),
            mpr_units_size(&rss, peaks->sum_of_rss));
}

static void render_peaks(FILE *out, const struct mpr_peaks *peaks, const struct mpr_style *style)
{
    for (size_t i = 0; i < peaks->logs; i++) {
        if (i) fputc('\n', out);
        log_section(out, peaks, &peaks->log[i], style);
    }
    if (peaks->logs > 1) process_tree(out, peaks, style);
}

const struct mpr_renderer mpr_render_text = { "text", mpr_text_document, render_peaks, mpr_timeline_text, mpr_ooms_text, mpr_stacks_text };
