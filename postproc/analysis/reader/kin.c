#include "kin.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "index.h"

int mpr_kin_order(const struct mpr_summary *a, const struct mpr_summary *b)
{
    const struct mpr_process_info *x = &a->process, *y = &b->process;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int by_start(const void *left, const void *right, void *logs)
{
    const struct mpr_summary *const *log = logs;
    return mpr_kin_order(log[*(const size_t *)left], log[*(const size_t *)right]);
}

/* The logs before the one that is looked at, by the name of the file and by host and number; and by
 * host whom the user started. */
struct known {
    const struct mpr_summary *const *log;
    struct mpr_index by_name, by_number, roots;
};

enum { SEVERAL = UINT32_MAX };

static uint64_t number_key(const char *host, uint64_t pid)
{
    return mpr_hash_text(host) ^ mpr_hash(pid);
}

static size_t named(const struct known *k, const char *log)
{
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&k->by_name, mpr_hash_text(mpr_basename(log)));
         (number = mpr_probe_next(&p));)
        if (strcmp(mpr_basename(k->log[number - 1]->path), mpr_basename(log)) == 0)
            return number - 1;
    return MPR_NO_PROCESS;
}

/* The newest of that number: numbers are used again. */
static size_t numbered(const struct known *k, const char *host, uint64_t pid)
{
    const uint32_t number = pid ? mpr_index_get(&k->by_number, number_key(host, pid)) : 0;
    const struct mpr_process_info *p = number ? &k->log[number - 1]->process : NULL;
    return p && p->pid == pid && strcmp(p->host, host) == 0 ? number - 1 : MPR_NO_PROCESS;
}

/* Whom the user started on that host, where that was one, as it was last; unless its run was over
 * before: the log of another run's may be gone. */
static size_t root_of(const struct known *k, const struct mpr_process_info *who)
{
    const uint32_t number = mpr_index_get(&k->roots, mpr_hash_text(who->host));
    if (!number || number == SEVERAL) return MPR_NO_PROCESS;
    const struct mpr_summary *root = k->log[number - 1];
    const bool over =
        *root->end_reason && root->process.start_ns + root->duration_ns < who->start_ns;
    return over || strcmp(root->process.host, who->host) != 0 ? MPR_NO_PROCESS : number - 1;
}

static struct mpr_kin kin_of(const struct known *k, const struct mpr_summary *s,
                             const struct mpr_kin *kin)
{
    const struct mpr_process_info *who = &s->process;
    const size_t before = numbered(k, who->host, who->pid);
    if (before != MPR_NO_PROCESS && strcmp(k->log[before]->end_reason, "exec") == 0)
        return (struct mpr_kin){ kin[before].parent, kin[before].above, before };
    const size_t parent =
        *who->parent_log ? named(k, who->parent_log) : numbered(k, who->host, who->ppid);
    const bool lost = parent == MPR_NO_PROCESS && !s->recording.root;
    return (struct mpr_kin){ parent, lost ? root_of(k, who) : parent, MPR_NO_PROCESS };
}

/* What it executes is whom the user started, too. */
static void remember_root(struct known *k, const char *host, size_t at, const struct mpr_kin *kin)
{
    const uint64_t key = mpr_hash_text(host);
    const uint32_t known = mpr_index_get(&k->roots, key);
    const bool same = !known || known - 1 == kin->image_of;
    mpr_index_set(&k->roots, key, same ? (uint32_t)at + 1 : SEVERAL);
}

static void remember(struct known *k, const struct mpr_summary *s, size_t at,
                     const struct mpr_kin *kin)
{
    const struct mpr_process_info *who = &s->process;
    if (s->recording.root) remember_root(k, who->host, at, kin);
    mpr_index_add(&k->by_name, mpr_hash_text(mpr_basename(s->path)), (uint32_t)at + 1);
    if (who->pid) mpr_index_set(&k->by_number, number_key(who->host, who->pid), (uint32_t)at + 1);
}

void mpr_kin_find(const struct mpr_summary *const *log, size_t logs, struct mpr_kin *kin)
{
    struct known k = { .log = log };
    size_t *order = mpr_alloc(logs, sizeof *order);
    for (size_t i = 0; i < logs; i++) order[i] = i;
    if (logs) qsort_r(order, logs, sizeof *order, by_start, (void *)log);
    for (size_t i = 0; i < logs; i++) {
        kin[order[i]] = kin_of(&k, log[order[i]], kin);
        remember(&k, log[order[i]], order[i], &kin[order[i]]);
    }
    free(order);
    mpr_index_free(&k.by_name);
    mpr_index_free(&k.by_number);
    mpr_index_free(&k.roots);
}
