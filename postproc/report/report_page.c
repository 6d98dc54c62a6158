/* What the page shows without scripting: who held each heap's peak. */
#include <inttypes.h>
#include <string.h>

#include "reports.h"
#include "timeline_result.h"

enum { ROWS = 40, ARGUMENTS = 4 }; /* of a heap; of the command line, in a heading */

const char *mpr_report_label(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = &s->process;
    struct mpr_arena *a = &doc->arena;
    const char *text = p->argc ? p->argv[0] : s->path;
    for (size_t i = 1; i < p->argc && i < ARGUMENTS; i++)
        text = mpr_arena_format(a, "%s %s", text, p->argv[i]);
    if (*p->rank) text = mpr_arena_format(a, "%s, rank %s", text, p->rank);
    if (*p->host) text = mpr_arena_format(a, "%s, %s", text, p->host);
    return p->pid ? mpr_arena_format(a, "%s, pid %" PRIu64, text, p->pid) : text;
}

/* ---- who */

struct holder {
    struct mpr_holder h;
    const char *const *path;
    size_t depth;
};

static void name_range(struct mpr_document *doc, const struct mpr_timeline *t, struct holder *k)
{
    for (uint32_t i = k->h.node; i; i = t->node[i].parent) k->depth++;
    const char **path = mpr_arena_alloc(&doc->arena, k->depth * sizeof *path);
    size_t at = k->depth;
    for (uint32_t i = k->h.node; i; i = t->node[i].parent) path[--at] = t->node[i].label;
    k->path = path;
}

static void name_stack(struct mpr_document *doc, const struct mpr_timeline *t, struct holder *k)
{
    const struct mpr_call_stack *stack = &t->stack[k->h.native];
    const char **path = mpr_arena_alloc(&doc->arena, stack->depth * sizeof *path);
    for (size_t i = 0; i < stack->depth; i++) path[i] = t->frame[stack->frame[i]];
    k->path = path;
    k->depth = stack->depth;
}

static void name(struct mpr_document *doc, const struct mpr_timeline *t, struct holder *k)
{
    static const char *const no_library = "(library not known)", *const no_stack =
                                                                     "(no call stack)";
    const bool none = !k->h.node && !k->h.library;
    k->depth = 1;
    if (k->h.library) k->path = &t->library_name[k->h.library];
    else if (none && t->best.by == MPR_GROUP_LIBRARY) k->path = &no_library;
    else if (none && t->best.by == MPR_GROUP_STACK && !k->h.native) k->path = &no_stack;
    else k->depth = 0;
    if (k->depth) return;
    if (none && t->best.by == MPR_GROUP_STACK) name_stack(doc, t, k);
    else name_range(doc, t, k);
}

/* ---- heaps */

#define OF(member) MPR_FIELD(holder, h.member)

static const struct mpr_column columns[] = {
    { .title = "range", MPR_PATH_FIELD(holder, path, depth) },
    { .title = "at the peak", .type = MPR_BYTES, OF(bytes) },
    { .title = "bytes", .type = MPR_COUNT, OF(bytes) },
    { .title = "share", .type = MPR_SHARE, OF(bytes) },
    { .title = "blocks", .type = MPR_COUNT, OF(blocks) },
    { .title = "allocations", .type = MPR_COUNT, OF(allocations) },
};

static void heap(struct mpr_document *doc, const struct mpr_timeline *t,
                 const struct mpr_heap_line *h)
{
    const size_t rows = h->holders < ROWS ? h->holders : ROWS;
    struct holder *row = mpr_arena_alloc(&doc->arena, rows * sizeof *row);
    for (size_t i = 0; i < rows; i++) {
        row[i].h = h->holder[i];
        name(doc, t, &row[i]);
    }
    const char *title =
        mpr_arena_format(&doc->arena, "%s: peak %s (%s bytes) at %s, at the end %s", h->name,
                         mpr_doc_size(doc, h->peak_bytes), mpr_doc_count(doc, h->peak_bytes),
                         mpr_doc_time(doc, h->peak_time), mpr_doc_size(doc, h->end_bytes));
    mpr_doc_table(doc, &(struct mpr_table){ .title = title,
                                            .only = MPR_IN_PAGE,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(row, rows),
                                            .all = MPR_IN_PAGE,
                                            .whole = h->peak_bytes });
    if (rows < h->holders) mpr_doc_line(doc, "%zu more held bytes.", h->holders - rows);
}

void mpr_report_page(struct mpr_document *doc, const struct mpr_timeline *t)
{
    const struct mpr_summary *s = &t->summary;
    mpr_doc_open(doc, NULL);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_report_label(doc, s));
    mpr_doc_end(doc);
    if (s->incomplete) {
        mpr_doc_add(doc, MPR_STRONG, "The log is incomplete.");
        mpr_doc_say(doc, " ");
    }
    mpr_doc_line(doc, "%s events, %s lost; ranges: %s", mpr_doc_count(doc, s->events),
                 mpr_doc_count(doc, s->lost_events), t->best.source);
    for (size_t i = 0; i < t->heaps; i++) heap(doc, t, &t->heap[i]);
    mpr_doc_close(doc);
}
