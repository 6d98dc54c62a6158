/* In which instance of a repeated range the peaks are, for people. */
#include <string.h>

#include "peaks.h"
#include "reports.h"

/* Others that were open at the same time, as the requests of a server's threads are: "", " and 7
 * more", " and 255 or more". */
static const char *beside(struct mpr_document *doc, const struct mpr_peak_instance *i)
{
    if (i->open < 2) return "";
    return mpr_arena_format(&doc->arena, " and %s %s", mpr_doc_count(doc, i->open - 1),
                            i->beyond ? "or more" : "more");
}

/* "step:8 of 12, in forward > loss", "step 7 (8 of 12)", "request:70 and 7 more of 90" */
static const char *instance_text(struct mpr_document *doc, const struct mpr_peak_instance *i)
{
    const char *inside =
        i->path.depth ? mpr_arena_format(&doc->arena, ", in %s", mpr_doc_path(doc, i->path)) : "";
    const char *of = mpr_doc_count(doc, i->of), *more = beside(doc, i);
    return i->numbered ? mpr_arena_format(&doc->arena, "%s%s (%s of %s)%s", i->name, more,
                                          mpr_doc_count(doc, i->number), of, inside)
                       : mpr_arena_format(&doc->arena, "%s%s of %s%s", i->name, more, of, inside);
}

/* "": it is in none. */
static const char *where(struct mpr_document *doc, const struct mpr_peak_instance *i)
{
    if (*i->name) return instance_text(doc, i);
    return i->beyond ? "one of too many ranges that were open (256 are followed)" : "";
}

void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak)
{
    for (size_t i = 0, next; i < log->heaps; i = next) {
        const struct mpr_heap_peak *h = &log->heap[i];
        const char *names = mpr_heap_name(h->heap), *in = where(doc, &h->instance);
        for (next = i + 1; next < log->heaps; next++) {
            const struct mpr_heap_peak *other = &log->heap[next];
            if (strcmp(where(doc, &other->instance), in) != 0) break;
            names = mpr_arena_format(&doc->arena, "%s, %s", names, mpr_heap_name(other->heap));
        }
        if (*in) mpr_doc_line(doc, "%s: %s in %s", names, at_peak ? "peak" : "then", in);
    }
}
