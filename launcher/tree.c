#include "tree.h"

#include <stdio.h>
#include <string.h>

#include "machine.h"

#define NAMED 3 /* number of processes that a message names */

void mpl_tree_open(struct mpl_tree *t, const char *library, int directory, const char *run)
{
    mpl_watch_open(&t->watch, library);
    t->record = (struct mpl_record){ .directory = -1, .fd = -1, .run = "" };
    if (directory >= 0) mpl_record_open(&t->record, directory, run);
}

void mpl_tree_begin(struct mpl_tree *t, pid_t child) { mpl_watch_add(&t->watch, child); }

static void write_news(struct mpl_tree *t)
{
    for (size_t i = 0; i < t->watch.count; i++) {
        struct mpl_watched *p = &t->watch.process[i];
        if (mpl_watched_unseen(p) && !p->unseen_recorded) {
            mpl_record_unseen(&t->record, p);
            p->unseen_recorded = true;
        }
        if (p->end && !p->recorded) {
            mpl_record_end(&t->record, p);
            p->recorded = true;
        }
    }
}

void mpl_tree_wait(struct mpl_tree *t, int signals)
{
    if (!mpl_watch_wait(&t->watch, signals)) return;
    write_news(t);
    mpl_watch_forget(&t->watch);
}

void mpl_tree_end(struct mpl_tree *t, pid_t child, int wait_status)
{
    mpl_watch_ends(&t->watch);
    mpl_watch_set_status(&t->watch, child, wait_status);
    write_news(t);
}

void mpl_tree_close(struct mpl_tree *t, bool keep)
{
    mpl_record_close(&t->record, keep);
    mpl_watch_close(&t->watch);
}

/* ---- messages */

struct list {
    char *text;
    size_t cap, used, count;
};

static void add(struct list *l, const struct mpl_watched *p, const char *why)
{
    if (l->count++ >= NAMED || l->used >= l->cap) return;
    const int n =
        snprintf(l->text + l->used, l->cap - l->used, "%s%s (pid %ld%s%s)", l->used ? ", " : "",
                 *p->name ? p->name : "a process", (long)p->pid, *why ? ", " : "", why);
    if (n > 0) l->used += (size_t)n;
}

static void finish(struct list *l)
{
    if (l->count > NAMED && l->used < l->cap)
        snprintf(l->text + l->used, l->cap - l->used, " and %zu more", l->count - NAMED);
}

void mpl_tree_killed(const struct mpl_tree *t, char *out, size_t cap)
{
    struct list list = { out, cap, 0, 0 };
    *out = 0;
    for (size_t i = 0; i < t->watch.count; i++)
        if (t->watch.process[i].oom) add(&list, &t->watch.process[i], "");
    finish(&list);
}

size_t mpl_tree_unseen(const struct mpl_tree *t, char *out, size_t cap)
{
    static const char *const why[] = { [MPL_UNSEEN_DROPPED] = "started without LD_PRELOAD",
                                       [MPL_UNSEEN_STATIC] = "statically linked",
                                       [MPL_UNSEEN_MUSL] = "built for musl",
                                       [MPL_UNSEEN_FOREIGN] = "not a " MPL_MACHINE_NAME " program",
                                       [MPL_UNSEEN_RIGHTS] =
                                           "runs with more rights, so LD_PRELOAD is ignored" };
    struct list list = { out, cap, 0, 0 };
    *out = 0;
    for (size_t i = 0; i < t->watch.count; i++)
        if (mpl_watched_unseen(&t->watch.process[i]))
            add(&list, &t->watch.process[i], why[t->watch.process[i].unseen]);
    finish(&list);
    return list.count;
}
