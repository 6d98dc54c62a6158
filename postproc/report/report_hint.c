/* Hints for the next recording: bytes without a name, why, and how to record a name. */
#include <stdlib.h>
#include <string.h>

#include "insights.h"
#include "mpf/event.h"
#include "naming.h"
#include "reports.h"
#include "user_frame.h"
#include "utf8.h"

/* Fewer bytes, or a smaller part of a heap, are not worth another recording. */
enum { MUCH = 4 << 20, TENTH = 10 };
static bool is_much(uint64_t bytes, uint64_t whole)
{
    return bytes >= MUCH && bytes > whole / TENTH;
}

const char *mpr_report_shell_command(struct mpr_arena *arena, const struct mpr_process_info *p)
{
    const char *command = "";
    for (size_t i = 0; i < p->argc; i++)
        command = mpr_arena_format(arena, "%s%s%s", command, *command ? " " : "",
                                   mpr_shell_word(arena, p->argv[i]));
    return command;
}

void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *s, const char *recorder)
{
    const struct mpr_process_info *p = s->recording.root ? &s->process : doc->started;
    const char *command = p && p->argc ? mpr_report_shell_command(&doc->arena, p) : "...";
    mpr_doc_command(doc, "  %s -- %s", recorder, command);
}

/* ---- an allocator inside the program
 *
 * An allocator that is linked into the program under names with a prefix (je_malloc) is not hooked:
 * only the memory that it maps is recorded. */

static void hint_allocator(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    /* Functions of a shared library of such an allocator may have the same names, but its blocks
     * are recorded. */
    static const char *const recorded[] = { "jemalloc", "mimalloc", "tcmalloc",
                                            "rpmalloc", "snmalloc", "scudo" };
    const struct mpr_heap_peak *h = mpr_peaks_heap(log, MPF_HEAP_MMAP);
    const struct mpr_frame *found = NULL; /* the call that mapped most */
    uint64_t bytes = 0, largest = 0;
    if (!h || !doc->naming || !doc->naming->user_frames) return;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        if (strstr(log->summary.allocator, recorded[i])) return;
    for (size_t i = 0; i < h->rows; i++) {
        const struct mpr_row *row = &h->row[i];
        const struct mpr_frame *call =
            mpr_user_frames_allocator(doc->naming->user_frames, row->path);
        if (!call) continue;
        bytes += row->bytes;
        if (row->bytes <= largest) continue;
        largest = row->bytes;
        found = call;
    }
    if (!found || bytes < MUCH) return;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(
        doc,
        "%s of host/mmap were mapped by an allocator inside the program, at %s: its blocks "
        "are not recorded. To record them, build the program with the C library's malloc "
        "or with a shared library of the allocator",
        mpr_doc_size(doc, bytes), mpr_frame_short(&doc->arena, found)->text);
    mpr_doc_end_wrapped(doc, 2);
}

/* ---- calls of which only the address is known */

/* Returns the object file of the row's call, "git" for "git+0x28961c"; NULL if the call has a name.
 */
static const char *object_of(struct mpr_document *doc, const struct mpr_row *row)
{
    if (!row->bytes || !row->path.depth) return NULL;
    const struct mpr_frame *call = row->path.frame[row->path.depth - 1];
    if (doc->naming && doc->naming->user_frames)
        call = mpr_user_frames_summary(doc->naming->user_frames, &doc->arena, row->path, true)
                   .path.frame[0];
    return call->kind == MPR_FRAME_ADDRESS && *call->object ? call->object : NULL;
}

/* Returns the object file of the largest row without a name, or NULL.  *bytes: of all rows of that
 * file. */
static const char *without_symbols(struct mpr_document *doc, const struct mpr_heap_peak *h,
                                   uint64_t *bytes)
{
    const char **object = mpr_arena_alloc(&doc->arena, h->rows * sizeof *object), *found = NULL;
    uint64_t largest = 0;
    for (size_t i = 0; i < h->rows; i++) {
        object[i] = object_of(doc, &h->row[i]);
        if (!object[i] || h->row[i].bytes <= largest) continue;
        largest = h->row[i].bytes;
        found = object[i];
    }
    *bytes = 0;
    for (size_t i = 0; found && i < h->rows; i++)
        if (object[i] && strcmp(object[i], found) == 0) *bytes += h->row[i].bytes;
    return found;
}

/* @noted: the report itself prints the log's notes. */
static void hint_symbols(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    const struct mpr_heap_peak *h = log->heap;
    const char *servers = getenv("DEBUGINFOD_URLS");
    uint64_t bytes;
    if (!log->heaps || !mpr_group_is_calls(log->choice.by)) return;
    const char *object = without_symbols(doc, h, &bytes);
    if (!object || !is_much(bytes, h->peak_bytes)) return;
    const char *note = NULL; /* why the file has no names, unless it could be read and has none */
    for (size_t i = log->notes; i-- > 0;)
        if (strstr(log->note[i], object)) note = log->note[i];
    if (log->is_libdw_missing) note = "libdw is not installed on this machine";
    const bool fetch = !note && !(servers && *servers);
    if (note && noted) return;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "%s%s of %s has addresses in %s instead of names: %s",
                      h->samples ? "~" : "", mpr_doc_size(doc, bytes), mpr_heap_name(h->heap),
                      object, note ? note : "it was stripped, and its debug file is not here");
    if (fetch) mpr_doc_add_plain(doc, "; to look for it on a debuginfod server:");
    mpr_doc_end_wrapped(doc, 2);
    if (fetch)
        mpr_doc_command(doc,
                        "  DEBUGINFOD_URLS=https://debuginfod.elfutils.org memprof-report peaks %s",
                        mpr_doc_log_word(doc, log->summary.path));
}

/* ---- bytes without a name */

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
        uint64_t bytes = 0;
        if (torch ? !mpr_heap_is_torch(h->heap) : !mpf_heap_is_host(h->heap)) continue;
        for (size_t k = 0; k < h->rows; k++)
            if (!h->row[k].path.depth) bytes += h->row[k].bytes;
        if (is_much(bytes, h->peak_bytes))
            line = mpr_arena_format(&doc->arena, "%s%s%s of %s", line, *line ? ", " : "",
                                    mpr_doc_size(doc, bytes), mpr_heap_name(h->heap));
    }
    return line;
}

static void hint_torch(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const char *heaps = without_names(doc, log, true);
    const enum mpr_group by = log->choice.by;
    if (!*heaps || (by == MPR_GROUP_STACK && log->summary.recording.stacks == MPR_RECORDED_ALL))
        return;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "%s ", heaps);
    if (by == MPR_GROUP_STACK) mpr_doc_add_plain(doc, "without a native call stack");
    else if (by == MPR_GROUP_PYTHON)
        mpr_doc_add_plain(
            doc,
            "without a Python call stack: no Python ran on the allocating thread, and the forward operator is not known");
    else
        mpr_doc_add_plain(
            doc,
            "without a name: on the allocating thread, such as autograd's, no range was open and no Python ran; NVTX ranges on that thread name its memory");
    mpr_doc_end_wrapped(doc, 2);
    if (by == MPR_GROUP_STACK)
        mpr_report_run(doc, &log->summary, "run again: memprof run --stacks=all");
}

/* Python's small objects are known only by pymalloc's arenas, which the recorder names by a
 * function without a file. */
static uint64_t arena_bytes(const struct mpr_heap_peak *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->rows; i++) {
        const struct mpr_path path = h->row[i].path;
        if (path.depth == 1 && path.frame[0]->kind == MPR_FRAME_LABEL &&
            strcmp(path.frame[0]->name, MPF_PYMALLOC_ARENA) == 0)
            bytes += h->row[i].bytes;
    }
    return bytes;
}

void mpr_report_arena_limit(struct mpr_document *doc, const struct mpr_log_peaks *log,
                            const struct mpr_heap_peak *h)
{
    const struct mpr_heap_peak *around = mpr_peaks_heap(log, h->inside);
    const uint64_t bytes = around ? arena_bytes(around) : 0;
    if (bytes && h->peak_bytes > bytes)
        mpr_doc_add_plain(doc, "; at most the arenas' %s", mpr_doc_size(doc, bytes));
}

/* Returns the bytes of blocks of which a log of large blocks knows only the sum. */
static uint64_t counted_only(const struct mpr_log_peaks *log)
{
    uint64_t bytes = 0;
    if (log->summary.recording.blocks != MPR_RECORDED_LARGE) return 0;
    const struct mpr_heap_peak *h = mpr_peaks_heap(log, MPF_HEAP_HOST);
    for (size_t i = 0; h && i < h->rows; i++)
        if (h->row[i].counted && h->row[i].bytes > h->peak_bytes / TENTH) bytes += h->row[i].bytes;
    return bytes >= MUCH ? bytes : 0;
}

/* Returns the recorder's options for what is missing, and those of this recording. */
static const char *options(struct mpr_document *doc, const struct mpr_recording *r, bool stacks,
                           bool small, bool sample)
{
    const bool more = r->stacks > MPR_RECORDED_SAMPLE,
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

static void hint_host(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_recording *r = &log->summary.recording;
    const bool off = r->stacks == MPR_RECORDED_OFF, large = r->stacks == MPR_RECORDED_LARGE;
    const char *heaps = large || off ? without_names(doc, log, false) : "";
    const uint64_t counted = counted_only(log);
    uint64_t small = 0;
    for (size_t i = 0; !r->small_objects && i < log->heaps; i++) {
        const uint64_t bytes = arena_bytes(&log->heap[i]);
        if (is_much(bytes, log->heap[i].peak_bytes)) small += bytes;
    }
    if (!*heaps && !small && !counted) return;
    mpr_doc_gap(doc);
    if (*heaps && off) mpr_doc_add_plain(doc, "%s without a call stack: none was recorded", heaps);
    else if (*heaps)
        mpr_doc_add_plain(doc, "%s without a call stack (blocks below %s)", heaps,
                          mpr_doc_size(doc, r->stacks_large));
    if (small)
        mpr_doc_add_plain(doc, "%s%s in pymalloc arenas without Python lines", *heaps ? ", " : "",
                          mpr_doc_size(doc, small));
    if (counted)
        mpr_doc_add_plain(doc, "%s%s in blocks below %s, which are only counted",
                          *heaps || small ? ", " : "", mpr_doc_size(doc, counted),
                          mpr_doc_size(doc, r->blocks_large));
    mpr_doc_end_wrapped(doc, 2);
    mpr_report_run(doc, &log->summary,
                   mpr_arena_format(&doc->arena, "run again: memprof run%s",
                                    options(doc, r, *heaps, small, counted)));
}

bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all)
{
    const struct mpr_recording *r = &log->summary.recording;
    const enum mpr_group by = log->choice.by;
    const bool host = mpf_heap_is_host(heap);
    const char *below = mpr_doc_size(doc, r->stacks_large), *why;
    if (by != MPR_GROUP_AUTO && !mpr_group_is_calls(by)) return false;
    if (all - named < all / TENTH || all == named) return false;
    if (r->stacks == MPR_RECORDED_OFF) why = "call stacks were not recorded";
    else if (!(host || mpr_heap_is_torch(heap)) || r->stacks == MPR_RECORDED_UNKNOWN ||
             r->stacks == MPR_RECORDED_ALL)
        return false; /* all blocks can have one, or it is unknown */
    else if (host && r->stacks == MPR_RECORDED_LARGE)
        why = mpr_arena_format(&doc->arena, "blocks below %s have no call stack", below);
    else
        why = mpr_arena_format(&doc->arena,
                               "only a sample of the blocks below %s has call stacks, and it is "
                               "not scaled up",
                               below);
    mpr_doc_line(doc, "  %s of them have a name: %s", mpr_doc_count(doc, named), why);
    return true;
}

/* ---- all hints */

void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    const struct mpr_heap_peak *h = log->heap;
    hint_allocator(doc, log);
    hint_symbols(doc, log, noted);
    if (log->choice.by != MPR_GROUP_PYTHON) hint_host(doc, log);
    /* Ranges or Python name most blocks; others have only the name of a library. */
    if (log->choice.by == MPR_GROUP_AUTO && log->heaps && mpf_heap_is_host(h->heap) &&
        is_much(h->by_library, h->peak_bytes)) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc,
                     "%s%s of %s is named by library only; by call stack:", h->samples ? "~" : "",
                     mpr_doc_size(doc, h->by_library), mpr_heap_name(h->heap));
        mpr_doc_command(doc, "  memprof-report peaks --by stack %s",
                        mpr_doc_log_word(doc, log->summary.path));
    }
    hint_torch(doc, log);
}

/* The command is that of the process's oldest ancestor, as the user typed it. */
void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    const struct mpr_processes *all = in->family;
    size_t at = 0;
    while (all && at < all->count && strcmp(all->at[at].summary.path, log->summary.path) != 0) at++;
    while (all && at < all->count && !all->at[at].summary.recording.root)
        at = all->at[at].previous_program != MPR_NO_PROCESS ? all->at[at].previous_program
                                                            : all->at[at].tree_parent;
    if (all) doc->started = at < all->count ? &all->at[at].summary.process : NULL;
    mpr_report_hint(doc, log, false);
}
