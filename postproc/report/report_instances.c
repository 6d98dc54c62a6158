/* In which instance of a repeated range the peaks are, for people. */
#include <string.h>

#include "peaks.h"
#include "reports.h"

/* "step:8 of 12, in forward > loss", "step 7 (8 of 12)" */
static const char *instance_text(struct mpr_document *doc, const struct mpr_peak_instance *i)
{
    const char *inside =
        i->depth ? mpr_arena_format(&doc->arena, ", in %s", mpr_doc_path(doc, i->path, i->depth))
                 : "";
    const char *of = mpr_doc_count(doc, i->of);
    return i->numbered ? mpr_arena_format(&doc->arena, "%s (%s of %s)%s", i->name,
                                          mpr_doc_count(doc, i->number), of, inside)
                       : mpr_arena_format(&doc->arena, "%s of %s%s", i->name, of, inside);
}

void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak)
{
    for (size_t i = 0, next; i < log->heaps; i = next) {
        const struct mpr_heap_peak *h = &log->heap[i];
        const char *names = h->name,
                   *where = *h->instance.name ? instance_text(doc, &h->instance) : "";
        for (next = i + 1; next < log->heaps; next++) {
            const struct mpr_heap_peak *other = &log->heap[next];
            if (!*other->instance.name || strcmp(instance_text(doc, &other->instance), where) != 0)
                break;
            names = mpr_arena_format(&doc->arena, "%s, %s", names, other->name);
        }
        if (*where) mpr_doc_line(doc, "%s: %s in %s", names, at_peak ? "peak" : "then", where);
    }
}
