#include "threads.h"

#include <stdlib.h>

#include "alloc.h"

struct mpr_thread *mpr_threads_get(struct mpr_threads *threads, uint32_t number)
{
    if (number >= MPR_THREADS_MAX) number = 0;
    MPR_REACH(threads->at, number, threads->cap);
    if (threads->at[number]) return threads->at[number];
    struct mpr_thread *t = threads->at[number] = mpr_alloc(1, sizeof *t);
    t->number = number;
    if (number >= threads->count) threads->count = number + 1;
    return t;
}

void mpr_threads_free(struct mpr_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        struct mpr_thread *t = threads->at[i];
        if (!t) continue;
        free(t->stack);
        free(t->forward);
        for (unsigned m = 0; m < t->remaps; m++) free(t->remap[m].span);
        free(t);
    }
    free(threads->at);
    mpr_index_free(&threads->forward_of);
}

/* ---- ranges */

void mpr_thread_push(struct mpr_thread *t, struct mpr_ranges *ranges, uint64_t push, uint32_t name,
                     uint32_t domain)
{
    if (t->depth == MPR_STACK_MAX) {
        t->depth_overflow++;
        return;
    }
    MPR_GROW(t->stack, t->depth, t->cap);
    t->node = mpr_ranges_child(ranges, t->node, name, domain);
    t->application += !domain;
    t->stack[t->depth++] = (struct mpr_open_range){ push, name, domain, t->node, 0, 0 };
}

void mpr_thread_pop(struct mpr_thread *t, struct mpr_ranges *ranges, uint32_t domain)
{
    t->popped = 0;
    if (t->depth_overflow) {
        t->depth_overflow--;
        return;
    }
    uint32_t at = t->depth;
    while (at && t->stack[at - 1].domain != domain) at--;
    if (!at) return;
    t->popped = t->stack[at - 1].push;
    t->application -= !domain;
    t->depth--;
    uint32_t node = at > 1 ? t->stack[at - 2].node : 0;
    for (uint32_t i = at - 1; i < t->depth; i++) {
        t->stack[i] = t->stack[i + 1];
        t->stack[i].node = node =
            mpr_ranges_child(ranges, node, t->stack[i].name, t->stack[i].domain);
    }
    t->node = node;
}

/* ---- the list of threads with ranges of the application */

static void leave_list(struct mpr_threads *threads, struct mpr_thread *t)
{
    if (t->newer) t->newer->older = t->older;
    else if (threads->newest == t) threads->newest = t->older;
    if (t->older) t->older->newer = t->newer;
    t->newer = t->older = NULL;
}

void mpr_threads_set_newest(struct mpr_threads *threads, struct mpr_thread *t)
{
    leave_list(threads, t);
    t->older = threads->newest;
    if (t->older) t->older->newer = t;
    threads->newest = t;
}

struct mpr_thread *mpr_threads_range_source(struct mpr_threads *threads)
{
    while (threads->newest && !threads->newest->application) leave_list(threads, threads->newest);
    return threads->newest;
}

void mpr_thread_end(struct mpr_thread *t, uint64_t time)
{
    free(t->stack);
    t->stack = NULL;
    t->depth = t->cap = t->depth_overflow = t->node = t->application = 0;
    t->ended = true;
    t->ended_ns = time;
}
