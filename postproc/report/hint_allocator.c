/* An allocator that is linked into the program under names with a prefix (je_malloc) is not hooked:
 * only the memory that it maps is recorded. */
#include "hint_parts.h"

#include <string.h>

#include "naming.h"
#include "telling.h"

/* Returns the call of such an allocator that mapped most, or NULL.
 * @bytes: mapped by all such calls. */
static const struct mpr_frame *allocator_of(struct mpr_telling *t, const struct mpr_heap_peak *h,
                                            uint64_t *bytes)
{
    const struct mpr_frame *found = NULL;
    uint64_t largest = 0;
    for (size_t i = 0; i < h->rows; i++) {
        const struct mpr_row *row = &h->row[i];
        const struct mpr_frame *call = mpr_telling_allocator(t, row->path);
        if (!call) continue;
        *bytes += row->bytes;
        if (row->bytes <= largest) continue;
        largest = row->bytes;
        found = call;
    }
    return found;
}

/* A shared library of this allocator serves the program, and its functions may have the same names:
 * its blocks are recorded. */
static bool is_recorded(const struct mpr_log_peaks *log)
{
    static const char *const known[] = { "jemalloc", "mimalloc", "tcmalloc",
                                         "rpmalloc", "snmalloc", "scudo" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(log->summary.allocator, known[i])) return true;
    return false;
}

void mpr_hint_allocator(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_heap_peak *h = mpr_peaks_heap(log, MPF_HEAP_MMAP);
    uint64_t bytes = 0;
    if (!h || !doc->naming || !doc->naming->telling || is_recorded(log)) return;
    const struct mpr_frame *call = allocator_of(doc->naming->telling, h, &bytes);
    if (!call || bytes < MPR_HINT_MUCH) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc,
                "%s of host/mmap were mapped by an allocator inside the program, at %s: its blocks "
                "are not recorded. To record them, build the program with the C library's malloc "
                "or with a shared library of the allocator",
                mpr_doc_size(doc, bytes), mpr_telling_short(&doc->arena, call)->text);
    mpr_doc_end_wrapped(doc, 2);
}
