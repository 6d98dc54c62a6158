#include "hint_parts.h"

#include <string.h>

#include "mpf/event.h"
#include "report_hint.h"

/* ---- what has none, and how much it is */

/* What no range, call stack or library names. */
static uint64_t nameless(const struct mpr_heap_peak *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (!h->row[i].path.depth) bytes += h->row[i].bytes;
    return mpr_hint_is_much(bytes, h->peak_bytes) ? bytes : 0;
}

/* Returns the bytes without a name, as "37.50 MiB of host/heap, 8.00 MiB of host/mmap", or "" if
 * they are few.
 * @torch: in PyTorch's heaps, whose blocks have ranges and Python call stacks, native ones only if
 * all blocks do; else in the host's heaps, whose blocks of any size can have a call stack. */
static const char *without_names(struct mpr_document *doc, const struct mpr_log_peaks *log,
                                 bool torch)
{
    const char *line = "";
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        const bool is_meant = torch ? mpr_heap_is_torch(h->heap) : mpf_heap_is_host(h->heap);
        const uint64_t bytes = is_meant ? nameless(h) : 0;
        if (bytes)
            line = mpr_arena_format(&doc->arena, "%s%s%s of %s", line, *line ? ", " : "",
                                    mpr_doc_size(doc, bytes), mpr_heap_name(h->heap));
    }
    return line;
}

/* ---- pymalloc's arenas */

static uint64_t arenas(const struct mpr_heap_peak *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (h->row[i].path.depth == 1 &&
            strcmp(h->row[i].path.frame[0]->text, MPF_PYMALLOC_ARENA) == 0)
            bytes += h->row[i].bytes;
    return bytes;
}

void mpr_report_beyond(struct mpr_document *doc, const struct mpr_log_peaks *log,
                       const struct mpr_heap_peak *h)
{
    const struct mpr_heap_peak *around = mpr_peaks_heap(log, h->inside);
    const uint64_t bytes = around ? arenas(around) : 0;
    if (bytes && h->peak_bytes > bytes)
        mpr_doc_say(doc, "; no more than the arenas' %s", mpr_doc_size(doc, bytes));
}

/* Python's small objects, of which nothing more is known. */
static uint64_t in_arenas(const struct mpr_log_peaks *log)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < log->heaps; i++) {
        const uint64_t bytes = arenas(&log->heap[i]);
        if (mpr_hint_is_much(bytes, log->heap[i].peak_bytes)) sum += bytes;
    }
    return sum;
}

/* ---- PyTorch */

void mpr_hint_torch(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const char *heaps = without_names(doc, log, true);
    const enum mpr_group by = log->choice.by;
    if (!*heaps || (by == MPR_GROUP_STACK && log->summary.recording.stacks == MPR_RECORDED_ALL))
        return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s ", heaps);
    if (by == MPR_GROUP_STACK) mpr_doc_say(doc, "without a native call stack");
    else if (by == MPR_GROUP_PYTHON)
        mpr_doc_say(doc,
                    "without a Python call stack: no Python ran on the thread that made it, and no "
                    "forward operator is known whose backward it is");
    else
        mpr_doc_say(doc,
                    "without a name: no range was open and no Python ran on the thread that made "
                    "it, as on autograd's; NVTX ranges there name it");
    mpr_doc_end_wrapped(doc, 2);
    if (by == MPR_GROUP_STACK)
        mpr_report_run(doc, &log->summary, "run again: memprof run --stacks=all");
}

/* ---- the host */

/* Which blocks of the heap have none; NULL: all could have one, or it is not known. */
static const char *without_stacks(struct mpr_document *doc, const struct mpr_recording *r,
                                  uint8_t heap)
{
    const bool small = mpf_heap_is_host(heap) || mpr_heap_is_torch(heap);
    if (r->stacks == MPR_RECORDED_OFF) return "call stacks were not recorded";
    if (!small || r->stacks == MPR_RECORDED_UNKNOWN || r->stacks == MPR_RECORDED_ALL) return NULL;
    const char *below = mpr_doc_size(doc, r->stacks_large);
    if (mpf_heap_is_host(heap) && r->stacks == MPR_RECORDED_LARGE)
        return mpr_arena_format(&doc->arena, "blocks below %s have no call stack", below);
    return mpr_arena_format(&doc->arena,
                            "of blocks below %s a sample has a call stack, and is counted as it is",
                            below);
}

bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all)
{
    const enum mpr_group by = log->choice.by;
    const char *why = without_stacks(doc, &log->summary.recording, heap);
    if (by != MPR_GROUP_AUTO && !mpr_group_is_calls(by)) return false;
    if (!why || all - named < all / MPR_HINT_TENTH || all == named) return false;
    mpr_doc_line(doc, "  %s of them have a name: %s", mpr_doc_count(doc, named), why);
    return true;
}

/* The recorder's options for what is missing; what was asked for then stays. */
static const char *options(struct mpr_document *doc, const struct mpr_recording *r, bool stacks,
                           bool small, bool sample)
{
    const bool more = r->stacks >= MPR_RECORDED_SAMPLE,
               fewer = r->blocks && r->blocks != MPR_RECORDED_ALL;
    return mpr_arena_format(&doc->arena, "%s%s%s%s%s", stacks || more ? " --stacks=" : "",
                            stacks ? "sample"
                            : more ? mpr_recorded_name(r->stacks)
                                   : "",
                            small || r->small_objects ? " --python=small" : "",
                            sample || fewer ? " --host=" : "",
                            sample  ? "sample"
                            : fewer ? mpr_recorded_name(r->blocks)
                                    : "");
}

/* What a log that has large blocks only tells of the others: how much they are. */
static uint64_t counted_only(const struct mpr_log_peaks *log)
{
    uint64_t bytes = 0;
    if (log->summary.recording.blocks != MPR_RECORDED_LARGE) return 0;
    const struct mpr_heap_peak *h = mpr_peaks_heap(log, MPF_HEAP_HOST);
    for (size_t i = 0; h && i < h->rows; i++)
        if (h->row[i].path.depth == 1 &&
            strncmp(h->row[i].path.frame[0]->text, "(blocks under ", 14) == 0 &&
            h->row[i].bytes > h->peak_bytes / MPR_HINT_TENTH)
            bytes += h->row[i].bytes;
    return bytes >= MPR_HINT_MUCH ? bytes : 0;
}

void mpr_hint_host(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_summary *s = &log->summary;
    const bool off = s->recording.stacks == MPR_RECORDED_OFF,
               large = s->recording.stacks == MPR_RECORDED_LARGE;
    const char *heaps = large || off ? without_names(doc, log, false) : "";
    const uint64_t small = s->recording.small_objects ? 0 : in_arenas(log),
                   counted = counted_only(log);
    if (!*heaps && !small && !counted) return;
    mpr_doc_gap(doc);
    if (*heaps && off) mpr_doc_say(doc, "%s without a call stack: none was recorded", heaps);
    else if (*heaps)
        mpr_doc_say(doc, "%s without a call stack (blocks below %s)", heaps,
                    mpr_doc_size(doc, s->recording.stacks_large));
    if (small)
        mpr_doc_say(doc, "%s%s in pymalloc arenas without a line of Python", *heaps ? ", " : "",
                    mpr_doc_size(doc, small));
    if (counted)
        mpr_doc_say(doc, "%s%s in blocks below %s, which are only counted",
                    *heaps || small ? ", " : "", mpr_doc_size(doc, counted),
                    mpr_doc_size(doc, s->recording.blocks_large));
    mpr_doc_end_wrapped(doc, 2);
    mpr_report_run(doc, s,
                   mpr_arena_format(&doc->arena, "run again: memprof run%s",
                                    options(doc, &s->recording, *heaps, small, counted)));
}
