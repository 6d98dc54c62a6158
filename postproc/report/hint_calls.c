#include "hint_parts.h"

#include <stdlib.h>
#include <string.h>

#include "naming.h"
#include "shell.h"
#include "telling.h"

void mpr_hint_calls(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_heap_peak *h = log->heap;
    if (log->choice.by != MPR_GROUP_AUTO || !log->heaps || !mpf_heap_is_host(h->heap)) return;
    if (!mpr_hint_is_much(h->by_library, h->peak_bytes)) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%s%s of %s told by library; by call stack:", h->samples ? "~" : "",
                 mpr_doc_size(doc, h->by_library), mpr_heap_name(h->heap));
    mpr_doc_command(doc, "  memprof-report peaks --by stack %s",
                    mpr_shell_word(&doc->arena, log->summary.path));
}

/* ---- calls of which only the address is known */

/* The object file of the call that stands for the row, "git" of "git+0x28961c"; NULL: it has a
 * name, or is no call. */
static const char *object_of(struct mpr_document *doc, const struct mpr_row *row)
{
    if (!row->path.depth) return NULL;
    const struct mpr_frame *call = row->path.frame[row->path.depth - 1];
    if (doc->naming && doc->naming->telling)
        call = mpr_telling_of(doc->naming->telling, &doc->arena, row->path, true).path.frame[0];
    return call->kind == MPR_FRAME_ADDRESS && *call->object ? call->object : NULL;
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

/* Returns why the file has no names, or NULL if it could be read and has none. */
static const char *note_on(const struct mpr_log_peaks *log, const char *object)
{
    if (log->is_libdw_missing) return "libdw is not installed on this machine";
    for (size_t i = 0; i < log->notes; i++)
        if (strstr(log->note[i], object)) return log->note[i];
    return NULL;
}

void mpr_hint_symbols(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    uint64_t bytes;
    const struct mpr_heap_peak *h = log->heap;
    if (!log->heaps || !mpr_group_is_calls(log->choice.by)) return;
    const char *object = without_symbols(doc, h, &bytes), *fetched = getenv("DEBUGINFOD_URLS");
    if (!object || !mpr_hint_is_much(bytes, h->peak_bytes)) return;
    const char *note = note_on(log, object);
    const bool fetch = !note && !(fetched && *fetched);
    if (note && noted) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s%s of %s told by addresses in %s: %s", h->samples ? "~" : "",
                mpr_doc_size(doc, bytes), mpr_heap_name(h->heap), object,
                note ? note : "it was stripped, and its debug file is not here");
    if (fetch) mpr_doc_say(doc, "; a server of debuginfod may have it:");
    mpr_doc_end_wrapped(doc, 2);
    if (fetch)
        mpr_doc_command(doc,
                        "  DEBUGINFOD_URLS=https://debuginfod.elfutils.org memprof-report peaks %s",
                        mpr_shell_word(&doc->arena, log->summary.path));
}
