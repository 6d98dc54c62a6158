/* No document: a record a stack, as --folded has them, with whole names. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "calltrees.h"
#include "csv.h"

static void record(FILE *out, const struct mpr_calltree *t, struct mpr_path path, uint64_t bytes,
                   uint64_t blocks)
{
    mpr_csv_field(out, t->summary.path);
    fprintf(out, ",%" PRIu64 ",%s,%" PRIu64 ",", t->summary.process.pid, mpr_heap_name(t->heap),
            t->time);
    if (path.depth) mpr_csv_path(out, path);
    else mpr_csv_field(out, t->options.python ? "(no Python call stack)" : "(no call stack)");
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d\n", bytes, blocks, t->samples != 0);
}

/* Calls are in preorder: those above one are the newest of their depths. */
void mpr_stacks_csv(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    const struct mpr_frame **path = mpr_alloc(t->calls, sizeof *path);
    bool *ending = mpr_stacks_ending(t, style->top);
    fputs("log,pid,heap,time_ns,stack,bytes,blocks,estimated\n", out);
    for (size_t i = 0; i < t->calls; i++) {
        const struct mpr_call *c = &t->call[i];
        path[c->depth] = c->frame;
        if (ending[i])
            record(out, t, (struct mpr_path){ path, c->depth + 1 }, c->own_bytes, c->own_blocks);
    }
    if (t->heap && t->unknown_bytes)
        record(out, t, (struct mpr_path){ NULL, 0 }, t->unknown_bytes, t->unknown_blocks);
    free(ending);
    free(path);
}
