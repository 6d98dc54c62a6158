#include "report_hint.h"

#include <stdlib.h>
#include <string.h>

#include "insights.h"
#include "mpf/event.h"
#include "naming.h"
#include "peaks.h"
#include "reports.h"
#include "shell.h"
#include "telling.h"

/* Less is not worth another run. */
static const uint64_t MUCH = 4 << 20;
enum { TENTH = 10 };

/* What no range, call stack or library names. */
static uint64_t nameless(const struct mpr_heap_peak *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (!h->row[i].depth) bytes += h->row[i].bytes;
    return bytes >= MUCH && bytes > h->peak_bytes / TENTH ? bytes : 0;
}

/* Of these heaps blocks of any size can have a call stack. */
static bool is_host(const char *heap)
{
    return strcmp(heap, "host/heap") == 0 || strcmp(heap, "host/mmap") == 0 ||
           strcmp(heap, "host/shm") == 0;
}

/* PyTorch's blocks have ranges and Python call stacks, native ones only where all blocks do. */
static bool is_torch(const char *heap)
{
    const char *part = strchr(heap, '/');
    return part && strcmp(part, "/torch") == 0;
}

static uint64_t arenas(const struct mpr_heap_peak *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (h->row[i].depth == 1 && strcmp(h->row[i].path[0], MPF_PYMALLOC_ARENA) == 0)
            bytes += h->row[i].bytes;
    return bytes;
}

/* Python's small objects, of which nothing more is known. */
static uint64_t much_in_arenas(const struct mpr_heap_peak *h)
{
    const uint64_t bytes = arenas(h);
    return bytes >= MUCH && bytes > h->peak_bytes / TENTH ? bytes : 0;
}

void mpr_report_beyond(struct mpr_document *doc, const struct mpr_log_peaks *log,
                       const struct mpr_heap_peak *h)
{
    for (size_t i = 0; i < log->heaps; i++) {
        const uint64_t bytes =
            strcmp(log->heap[i].name, h->inside) == 0 ? arenas(&log->heap[i]) : 0;
        if (bytes && h->peak_bytes > bytes)
            mpr_doc_say(doc, "; no more than the arenas' %s", mpr_doc_size(doc, bytes));
    }
}

/* "python3 train.py --seed 3", whole: it is pasted into a shell. */
static const char *command(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = s->recording.root ? &s->process : doc->started;
    const char *line = "";
    for (size_t i = 0; p && i < p->argc; i++) {
        const char *word = mpr_shell_word(&doc->arena, p->argv[i]);
        line = mpr_arena_format(&doc->arena, "%s%s%s", line, *line ? " " : "", word);
    }
    return *line ? line : "...";
}

/* What has no name in such heaps: "37.50 MiB of host/heap, 8.00 MiB of host/mmap"; "": little. */
static const char *without_names(struct mpr_document *doc, const struct mpr_log_peaks *log,
                                 bool (*is_meant)(const char *heap))
{
    const char *line = "";
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        const uint64_t bytes = is_meant(h->name) ? nameless(h) : 0;
        if (bytes)
            line = mpr_arena_format(&doc->arena, "%s%s%s of %s", line, *line ? ", " : "",
                                    mpr_doc_size(doc, bytes), h->name);
    }
    return line;
}

static uint64_t in_arenas(const struct mpr_log_peaks *log)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < log->heaps; i++) bytes += much_in_arenas(&log->heap[i]);
    return bytes;
}

static void torch_hint(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const char *heaps = without_names(doc, log, is_torch);
    const enum mpr_group by = log->choice.by;
    if (!*heaps || (by == MPR_GROUP_STACK && strcmp(log->summary.recording.stacks, "all") == 0))
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

/* Which blocks of the heap have none; NULL: all could have one, or it is not known. */
static const char *without_stacks(struct mpr_document *doc, const struct mpr_recording *r,
                                  const char *heap)
{
    const bool small = is_host(heap) || is_torch(heap);
    if (strcmp(r->stacks, "off") == 0) return "call stacks were not recorded";
    if (!small || !*r->stacks || strcmp(r->stacks, "all") == 0) return NULL;
    const char *below = mpr_doc_size(doc, r->stacks_large);
    if (is_host(heap) && strcmp(r->stacks, "large") == 0)
        return mpr_arena_format(&doc->arena, "blocks below %s have no call stack", below);
    return mpr_arena_format(&doc->arena,
                            "of blocks below %s a sample has a call stack, and is counted as it is",
                            below);
}

bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log,
                            const char *heap, uint64_t named, uint64_t all)
{
    const enum mpr_group by = log->choice.by;
    const char *why = without_stacks(doc, &log->summary.recording, heap);
    if (by != MPR_GROUP_AUTO && !mpr_group_is_calls(by)) return false;
    if (!why || all - named < all / TENTH || all == named) return false;
    mpr_doc_line(doc, "  %s of them have a name: %s", mpr_doc_count(doc, named), why);
    return true;
}

void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *s, const char *recorder)
{
    mpr_doc_command(doc, "  %s -- %s", recorder, command(doc, s));
}

/* The recorder's options for what is missing; what was asked for then stays. */
static const char *options(struct mpr_document *doc, const struct mpr_recording *r, bool stacks,
                           bool small, bool sample)
{
    const bool more = strcmp(r->stacks, "sample") == 0 || strcmp(r->stacks, "all") == 0,
               fewer = *r->blocks && strcmp(r->blocks, "all") != 0;
    return mpr_arena_format(&doc->arena, "%s%s%s%s%s", stacks || more ? " --stacks=" : "",
                            stacks ? "sample"
                            : more ? r->stacks
                                   : "",
                            small || r->small_objects ? " --python=small" : "",
                            sample || fewer ? " --host=" : "",
                            sample  ? "sample"
                            : fewer ? r->blocks
                                    : "");
}

/* What a log that has large blocks only tells of the others: how much they are. */
static uint64_t counted_only(const struct mpr_log_peaks *log)
{
    uint64_t bytes = 0;
    if (strcmp(log->summary.recording.blocks, "large") != 0) return 0;
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        for (size_t k = 0; k < h->rows && strcmp(h->name, "host/heap") == 0; k++)
            if (h->row[k].depth == 1 && strncmp(h->row[k].path[0], "(blocks under ", 14) == 0 &&
                h->row[k].bytes > h->peak_bytes / TENTH)
                bytes += h->row[k].bytes;
    }
    return bytes >= MUCH ? bytes : 0;
}

static void host_hint(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_summary *s = &log->summary;
    const bool off = strcmp(s->recording.stacks, "off") == 0,
               large = strcmp(s->recording.stacks, "large") == 0;
    const char *heaps = large || off ? without_names(doc, log, is_host) : "";
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

/* Where ranges or Python name blocks, others are told by their libraries, and the log has their
 * call stacks. */
static void calls_hint(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_heap_peak *h = log->heap;
    if (log->choice.by != MPR_GROUP_AUTO || !log->heaps || !is_host(h->name)) return;
    if (h->by_library < MUCH || h->by_library <= h->peak_bytes / TENTH) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%s%s of %s told by library; by call stack:", h->samples ? "~" : "",
                 mpr_doc_size(doc, h->by_library), h->name);
    mpr_doc_command(doc, "  memprof-report peaks --by stack %s",
                    mpr_shell_word(&doc->arena, log->summary.path));
}

/* ---- calls of which only the address is known */

/* The object file of the call that stands for the row, "git" of "git+0x28961c"; NULL: it has a
 * name, or is no call. */
static const char *object_of(struct mpr_document *doc, const struct mpr_row *row)
{
    const char *call = row->depth ? row->path[row->depth - 1] : "";
    if (row->depth && doc->naming && doc->naming->telling)
        call =
            mpr_telling_of(doc->naming->telling, &doc->arena, row->path, row->depth, true).path[0];
    return mpr_telling_is_nameless(call)
               ? mpr_arena_format(&doc->arena, "%.*s", (int)(strstr(call, "+0x") - call), call)
               : NULL;
}

/* Of the row that holds most of such; *bytes: of all rows of that file.  NULL: there is none. */
static const char *without_symbols(struct mpr_document *doc, const struct mpr_heap_peak *h,
                                   uint64_t *bytes)
{
    const char **object = mpr_arena_alloc(&doc->arena, h->rows * sizeof *object), *found = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < h->rows; i++) {
        object[i] = h->row[i].bytes ? object_of(doc, &h->row[i]) : NULL;
        if (!object[i] || h->row[i].bytes <= most) continue;
        most = h->row[i].bytes;
        found = object[i];
    }
    *bytes = 0;
    for (size_t i = 0; found && i < h->rows; i++)
        if (object[i] && strcmp(object[i], found) == 0) *bytes += h->row[i].bytes;
    return found;
}

/* What is known of the file: it is not here, say; NULL: it is good, and has no names. */
static const char *note_on(const struct mpr_log_peaks *log, const char *object)
{
    for (size_t i = 0; i < log->notes; i++)
        if (strstr(log->note[i], object)) return log->note[i];
    return NULL;
}

static void symbols_hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    uint64_t bytes;
    const struct mpr_heap_peak *h = log->heap;
    if (!log->heaps || !mpr_group_is_calls(log->choice.by)) return;
    const char *object = without_symbols(doc, h, &bytes), *fetched = getenv("DEBUGINFOD_URLS");
    if (!object || bytes < MUCH || bytes <= h->peak_bytes / TENTH) return;
    const char *note = note_on(log, object);
    const bool fetch = !note && !(fetched && *fetched);
    if (note && noted) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s%s of %s told by addresses in %s: %s", h->samples ? "~" : "",
                mpr_doc_size(doc, bytes), h->name, object,
                note ? note : "it was stripped, and its debug file is not here");
    if (fetch) mpr_doc_say(doc, "; a server of debuginfod may have it:");
    mpr_doc_end_wrapped(doc, 2);
    if (fetch)
        mpr_doc_command(doc,
                        "  DEBUGINFOD_URLS=https://debuginfod.elfutils.org memprof-report peaks %s",
                        mpr_shell_word(&doc->arena, log->summary.path));
}

static void hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    symbols_hint(doc, log, noted);
    if (log->choice.by != MPR_GROUP_PYTHON) host_hint(doc, log);
    calls_hint(doc, log);
    torch_hint(doc, log);
}

void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    hint(doc, log, true);
}

/* Who began the process, or began who did, as the user typed it. */
static const struct mpr_process_info *started(const struct mpr_processes *all, const char *log)
{
    size_t at = 0;
    while (at < all->count && strcmp(all->at[at].summary.path, log) != 0) at++;
    while (at < all->count && !all->at[at].summary.recording.root)
        at = all->at[at].image_of != MPR_NO_PROCESS ? all->at[at].image_of : all->at[at].parent;
    return at < all->count ? &all->at[at].summary.process : NULL;
}

void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    if (in->family) doc->started = started(in->family, log->summary.path);
    hint(doc, log, false);
}
