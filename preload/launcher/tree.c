#include "tree.h"

#include <stdio.h>
#include <string.h>

#define NAMED 3         /* of many processes */

void mp_tree_open(struct mp_tree *t, const char *library, int directory)
{
    mp_watch_open(&t->watch, library);
    t->record = (struct mp_record){ .directory = -1, .fd = -1 };
    if (directory >= 0) mp_record_open(&t->record, directory);
}

void mp_tree_begin(struct mp_tree *t, pid_t child) { mp_watch_add(&t->watch, child); }

static void write_news(struct mp_tree *t)
{
    for (size_t i = 0; i < t->watch.count; i++) {
        struct mp_watched *p = &t->watch.process[i];
        if (mp_watched_unseen(p) && !p->told_unseen) {
            mp_record_unseen(&t->record, p);
            p->told_unseen = true;
        }
        if (p->end && !p->told) {
            mp_record_end(&t->record, p);
            p->told = true;
        }
    }
}

void mp_tree_wait(struct mp_tree *t, int signals)
{
    if (!mp_watch_wait(&t->watch, signals)) return;
    write_news(t);
    mp_watch_forget(&t->watch);
}

void mp_tree_end(struct mp_tree *t, pid_t child, int wait_status)
{
    mp_watch_ends(&t->watch);
    mp_watch_told(&t->watch, child, wait_status);
    write_news(t);
}

void mp_tree_close(struct mp_tree *t, bool keep)
{
    mp_record_close(&t->record, keep);
    mp_watch_close(&t->watch);
}

/* ---- in words */

struct list { char *text; size_t cap, used, count; };

static void add(struct list *l, const struct mp_watched *p, const char *why)
{
    if (l->count++ >= NAMED || l->used >= l->cap) return;
    const int n = snprintf(l->text + l->used, l->cap - l->used, "%s%s (pid %ld%s%s)", l->used ? ", " : "", *p->name ? p->name : "a process",
                           (long)p->pid, *why ? ", " : "", why);
    if (n > 0) l->used += (size_t)n;
}

static void finish(struct list *l)
{
    if (l->count > NAMED && l->used < l->cap) snprintf(l->text + l->used, l->cap - l->used, " and %zu more", l->count - NAMED);
}

void mp_tree_killed(const struct mp_tree *t, char *out, size_t cap)
{
    struct list list = { out, cap, 0, 0 };
    *out = 0;
    for (size_t i = 0; i < t->watch.count; i++)
        if (t->watch.process[i].oom) add(&list, &t->watch.process[i], "");
    finish(&list);
}

size_t mp_tree_unseen(const struct mp_tree *t, char *out, size_t cap)
{
    static const char *const why[] = { [MP_UNSEEN_DROPPED] = "LD_PRELOAD was dropped", [MP_UNSEEN_STATIC] = "statically linked",
                                       [MP_UNSEEN_FOREIGN] = "not a 64-bit x86 program", [MP_UNSEEN_RIGHTS] = "it gains rights, so LD_PRELOAD is ignored" };
    struct list list = { out, cap, 0, 0 };
    *out = 0;
    for (size_t i = 0; i < t->watch.count; i++)
        if (mp_watched_unseen(&t->watch.process[i])) add(&list, &t->watch.process[i], why[t->watch.process[i].unseen]);
    finish(&list);
    return list.count;
}
