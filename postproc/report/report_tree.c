/* A tree of call stacks for programs: JSON has its calls, CSV and collapsed stacks have its
 * stacks. People see that of text_stacks.c. */
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "calltree.h"
#include "reports.h"

/* ---- what --top shows */

/* Returns for each number whether it is one of the @top largest (0: all) and not 0. Of equal
 * ones at the limit the first are chosen. */
static bool *find_largest(const uint64_t *number, size_t count, size_t top)
{
    uint64_t *sorted = mpr_alloc(count, sizeof *sorted), limit = 0;
    bool *is_one = mpr_alloc(count, sizeof *is_one);
    size_t present = 0, ties = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (number[i]) sorted[present++] = number[i];
    if (top && present > top) {
        qsort(sorted, present, sizeof *sorted, mpr_compare_numbers);
        limit = sorted[present - top];
        ties = 0;
        for (size_t i = present - top; i < present && sorted[i] == limit; i++) ties++;
    }
    for (size_t i = 0; i < count; i++)
        is_one[i] = number[i] && (number[i] > limit || (number[i] == limit && ties && ties--));
    free(sorted);
    return is_one;
}

bool mpr_report_tree_continues(const struct mpr_calltree *t, size_t i)
{
    const struct mpr_call *c = &t->call[i];
    return c->parent != i && c->bytes == t->call[c->parent].bytes && i == c->parent + 1;
}

bool *mpr_report_tree_shown(const struct mpr_calltree *t, size_t top)
{
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    for (size_t i = 0; i < t->calls; i++)
        bytes[i] = mpr_report_tree_continues(t, i) ? 0 : t->call[i].bytes;
    bool *shown = find_largest(bytes, t->calls, top);
    for (size_t i = 0; i < t->calls; i++)
        if (mpr_report_tree_continues(t, i)) shown[i] = shown[t->call[i].parent];
    free(bytes);
    return shown;
}

/* ---- calls */

struct call {
    struct mpr_call is;
    uint64_t parent; /* its index among the calls that are shown, or UINT64_MAX without one */
};

static const struct mpr_column call_columns[] = {
    { .key = "name", .type = MPR_TEXT, MPR_FIELD(call, is.frame) },
    { .key = "parent", .type = MPR_COUNT, MPR_FIELD(call, parent), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(call, is.bytes) },
    { .key = "blocks", .type = MPR_COUNT, MPR_FIELD(call, is.blocks) },
    { .key = "own_bytes", .type = MPR_BYTES, MPR_FIELD(call, is.own_bytes) },
    { .key = "own_blocks", .type = MPR_COUNT, MPR_FIELD(call, is.own_blocks) },
};

static void calls(struct mpr_document *doc, const struct mpr_calltree *t)
{
    bool *is_shown = mpr_report_tree_shown(t, doc->top);
    size_t *position = mpr_alloc(t->calls, sizeof *position), rows = 0;
    struct call *row = mpr_arena_alloc(&doc->arena, t->calls * sizeof *row);
    for (size_t i = 0; i < t->calls; i++) {
        const struct mpr_call *c = &t->call[i];
        if (!is_shown[i]) continue;
        row[rows] = (struct call){ *c, c->parent == i ? UINT64_MAX : position[c->parent] };
        position[i] = rows++;
    }
    mpr_doc_objects(doc, "calls", call_columns, row, rows);
    mpr_doc_fact(doc, "omitted_calls", mpr_value_number(MPR_COUNT, t->calls - rows));
    free(position);
    free(is_shown);
}

/* ---- stacks, each as its innermost call; blocks without a stack have no frame */

struct tree {
    const struct mpr_calltree *of;
    const struct mpr_frame *none;  /* the name of blocks without a stack */
    const struct mpr_frame **path; /* the frames of the stack that is being written */
    uint64_t time;
    uint8_t heap;
    bool estimated;
};

static struct mpr_value path_of(const void *row, const void *context)
{
    const struct tree *tree = context;
    const struct mpr_call *last = row, *c = last;
    if (!last->frame) return mpr_value_path(mpr_frame_alone(&tree->none));
    for (size_t depth = last->depth + 1; depth-- > 0; c = &tree->of->call[c->parent])
        tree->path[depth] = c->frame;
    return mpr_value_path((struct mpr_path){ tree->path, last->depth + 1 });
}

static const struct mpr_column stack_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "pid", .type = MPR_COUNT, MPR_OF_LOG(process.pid) },
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(tree, heap) },
    { .key = "time_ns", .type = MPR_TIME, MPR_CONTEXT(tree, time) },
    { .key = "stack", .type = MPR_PATH, .get = path_of },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_call, own_bytes) },
    { .key = "blocks", .type = MPR_COUNT, MPR_FIELD(mpr_call, own_blocks) },
    { .key = "estimated", .type = MPR_FLAG, MPR_CONTEXT(tree, estimated) },
};

/* Adds the stacks: first those that --top shows, in the order of the tree. */
static void stacks(struct mpr_document *doc, const struct mpr_calltree *t)
{
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    for (size_t i = 0; i < t->calls; i++) bytes[i] = t->call[i].own_bytes;
    bool *is_shown = find_largest(bytes, t->calls, doc->top);
    struct mpr_call *row = mpr_arena_alloc(&doc->arena, (t->calls + 1) * sizeof *row);
    struct tree *tree = mpr_arena_alloc(&doc->arena, sizeof *tree);
    const char *python = t->options.python ? "Python " : "";
    size_t rows = 0;
    for (int shown = 1; shown >= 0; shown--)
        for (const struct mpr_call *c = t->call; c < t->call + t->calls; c++)
            if (c->own_bytes && is_shown[c - t->call] == shown) row[rows++] = *c;
    *tree = (struct tree){ .of = t,
                           .path = mpr_arena_alloc(&doc->arena, t->calls * sizeof *tree->path),
                           .time = t->time,
                           .heap = t->heap,
                           .estimated = t->samples };
    tree->none = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL,
                                 mpr_arena_format(&doc->arena, "(no %scall stack)", python));
    mpr_doc_rows(doc, stack_columns, row, rows, .only = MPR_IN_CSV, .context = tree,
                 .folded = { .bytes = "bytes" });
    row[rows] = (struct mpr_call){ .own_bytes = t->unknown_bytes, .own_blocks = t->unknown_blocks };
    mpr_doc_rows(doc, stack_columns, &row[rows], t->unknown_bytes ? 1 : 0, .only = MPR_IN_CSV,
                 .context = tree, .folded = { .bytes = "bytes" });
    free(is_shown);
    free(bytes);
}

void mpr_report_tree(struct mpr_document *doc, const struct mpr_calltree *t)
{
    mpr_report_schema(doc, "memprof.stacks/1");
    mpr_report_log_fields(doc, &t->summary);
    mpr_report_too_late_field(doc, &t->summary, t->options.at);
    mpr_doc_fact(doc, "by", mpr_value_text(t->options.python ? "python" : "stack"));
    mpr_doc_fact(doc, "bottom_up", mpr_value_flag(t->options.bottom_up));
    mpr_doc_fact(doc, "heap", mpr_value_known_text(mpr_heap_name(t->heap), MPR_UNKNOWN));
    mpr_doc_fact(doc, "inside", mpr_value_known_text(mpr_heap_name(t->inside), MPR_ABSENT));
    mpr_doc_fact(doc, "time_ns", mpr_value_number(MPR_TIME, t->time));
    mpr_doc_fact(doc, "bytes", mpr_value_number(MPR_BYTES, t->bytes));
    mpr_doc_fact(doc, "blocks", mpr_value_number(MPR_COUNT, t->blocks));
    mpr_doc_fact(doc, "unknown_bytes", mpr_value_number(MPR_BYTES, t->unknown_bytes));
    mpr_doc_fact(doc, "unknown_blocks", mpr_value_number(MPR_COUNT, t->unknown_blocks));
    if (t->samples)
        mpr_doc_fact(doc, "estimated_from_samples", mpr_value_number(MPR_COUNT, t->samples));
    calls(doc, t);
    mpr_doc_fact(doc, "notes", mpr_value_texts(t->note, t->notes));
    mpr_doc_csv(doc, stack_columns);
    stacks(doc, t);
}
