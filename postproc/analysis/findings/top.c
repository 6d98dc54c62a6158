#include "top.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "error.h"

void mpr_top_init(struct mpr_top *top, const struct mpr_live_options *options)
{
    *top = (struct mpr_top){ .options = *options };
}

void mpr_top_free(struct mpr_top *top)
{
    for (size_t i = 0; i < top->logs; i++) {
        mpr_live_close(top->log[i].live);
        free(top->log[i].path);
    }
    free(top->log);
    mpr_arena_free(&top->arena);
}

static bool is_known(const struct mpr_top *top, const char *path)
{
    for (size_t i = 0; i < top->logs; i++)
        if (strcmp(top->log[i].path, path) == 0) return true;
    return false;
}

int mpr_top_add(struct mpr_top *top, const char *path, bool even_ended, struct mpr_error *error)
{
    struct mpr_live *live;
    if (is_known(top, path)) return 0;
    if (mpr_live_open(&live, path, &top->options, error) != 0) return -1;
    if (!even_ended && !mpr_live_runs(live)) {
        mpr_live_close(live);
        live = NULL;
        top->gone++;
    }
    MPR_GROW(top->log, top->logs, top->cap);
    top->log[top->logs++] =
        (struct mpr_top_log){ .path = mpr_text_copy(path), .live = live, .kept = even_ended };
    return 0;
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_live_look *a = *(const struct mpr_live_look *const *)left,
                               *b = *(const struct mpr_live_look *const *)right;
    const uint64_t x = a->host_bytes + a->gpu_bytes, y = b->host_bytes + b->gpu_bytes;
    if (x != y) return x > y ? -1 : 1;
    return strcmp(a->summary.path, b->summary.path);
}

static void leave(struct mpr_top *top, struct mpr_top_log *log, bool ended)
{
    top->gone += ended;
    mpr_live_close(log->live);
    log->live = NULL;
}

/* Its end is told once, but of one that was never seen alive. */
static bool is_gone(const struct mpr_top_log *log, bool ran)
{
    return !log->kept && !mpr_live_runs(log->live) && !(log->seen && ran);
}

static void look_at(struct mpr_top *top, struct mpr_top_log *log,
                    const struct mpr_progress *progress,
                    void (*failed)(const struct mpr_error *error))
{
    struct mpr_error error;
    if (!log->live) return;
    const bool ran = mpr_live_runs(log->live);
    if (mpr_live_read(log->live, progress, &error) != 0) {
        failed(&error);
        leave(top, log, false);
    } else if (is_gone(log, ran)) leave(top, log, true);
    else top->process[top->processes++] = mpr_live_look(log->live);
    log->seen = true;
}

/* The same one as before, wherever it is by now. */
static void choose(struct mpr_top *top)
{
    top->shown = 0;
    for (size_t i = 0; top->in_full && i < top->processes; i++)
        if (strcmp(top->process[i]->summary.path, top->in_full) == 0) top->shown = i;
    if (top->next && top->processes) top->shown = (top->shown + 1) % top->processes;
    top->next = false;
    for (size_t i = 0; top->processes && i < top->logs; i++)
        if (strcmp(top->log[i].path, top->process[top->shown]->summary.path) == 0)
            top->in_full = top->log[i].path;
}

void mpr_top_look(struct mpr_top *top, const struct mpr_progress *progress,
                  void (*failed)(const struct mpr_error *error))
{
    mpr_arena_free(&top->arena);
    top->arena = (struct mpr_arena){ 0 };
    top->process = mpr_arena_alloc(&top->arena, top->logs * sizeof *top->process);
    top->processes = 0;
    for (size_t i = 0; i < top->logs; i++) look_at(top, &top->log[i], progress, failed);
    qsort(top->process, top->processes, sizeof *top->process, by_size);
    choose(top);
}
