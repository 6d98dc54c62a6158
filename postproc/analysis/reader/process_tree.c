#include "process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "basename.h"
#include "index.h"

int mpr_process_tree_order(const struct mpr_summary *a, const struct mpr_summary *b)
{
    return mpr_compare(a->process.start_ns, b->process.start_ns)
               ?: mpr_compare(a->process.pid, b->process.pid) ?: strcmp(a->path, b->path);
}

static int by_start(const void *left, const void *right, void *logs)
{
    const struct mpr_summary *const *log = logs;
    return mpr_process_tree_order(log[*(const size_t *)left], log[*(const size_t *)right]);
}

/* The logs that began before the current one: by file name, and by run, host and process number.
 * `roots` has the processes that the user started, by run and host. */
struct known {
    const struct mpr_summary *const *log;
    struct mpr_index by_name, by_number, roots;
};

enum { SEVERAL = UINT32_MAX };

static uint64_t place_key(const struct mpr_summary *s)
{
    return mpr_hash_text(s->process.host) ^ mpr_hash(mpr_hash_text(mpr_summary_run(s)));
}

static bool same_place(const struct mpr_summary *a, const struct mpr_summary *b)
{
    return strcmp(a->process.host, b->process.host) == 0 && mpr_summary_same_run(a, b);
}

static uint64_t number_key(const struct mpr_summary *s, uint64_t pid)
{
    return place_key(s) ^ mpr_hash(pid);
}

static size_t named(const struct known *k, const struct mpr_summary *s)
{
    const char *log = s->process.parent_log;
    MPR_INDEX_EACH(number, &k->by_name, mpr_hash_text(mpr_basename(log)))
        if (strcmp(mpr_basename(k->log[number - 1]->path), mpr_basename(log)) == 0 &&
            mpr_summary_same_run(k->log[number - 1], s))
            return number - 1;
    return MPR_NO_PROCESS;
}

/* Returns the newest process of that number, because numbers are reused. */
static size_t numbered(const struct known *k, const struct mpr_summary *s, uint64_t pid)
{
    const uint32_t number = pid ? mpr_index_get(&k->by_number, number_key(s, pid)) : 0;
    const struct mpr_summary *p = number ? k->log[number - 1] : NULL;
    return p && p->process.pid == pid && same_place(p, s) ? number - 1 : MPR_NO_PROCESS;
}

/* Returns the relatives of a log. If its parent left no log, the newest log of the process that
 * the user started on that host in that run is `above`, unless there are several such processes,
 * or it had ended before. */
static struct mpr_process_tree tree_of(const struct known *k, const struct mpr_summary *s,
                                       const struct mpr_process_tree *tree)
{
    const struct mpr_process_info *process = &s->process;
    const size_t before = numbered(k, s, process->pid);
    if (before != MPR_NO_PROCESS && k->log[before]->end == MPF_END_EXEC)
        return (struct mpr_process_tree){ tree[before].parent, tree[before].tree_parent, before };
    const size_t parent = *process->parent_log ? named(k, s) : numbered(k, s, process->ppid);
    const bool lost = parent == MPR_NO_PROCESS && !s->recording.root;
    const uint32_t number = lost ? mpr_index_get(&k->roots, place_key(s)) : 0;
    const struct mpr_summary *root = number && number != SEVERAL ? k->log[number - 1] : NULL;
    const bool over = root && root->end != MPF_END_NONE &&
                      root->process.start_ns + root->duration_ns < s->process.start_ns;
    const size_t above = root && !over && same_place(root, s) ? number - 1 : parent;
    return (struct mpr_process_tree){ parent, above, MPR_NO_PROCESS };
}

void mpr_process_tree_find(const struct mpr_summary *const *log, size_t logs,
                           struct mpr_process_tree *tree)
{
    struct known k = { .log = log };
    size_t *order = mpr_alloc(logs, sizeof *order);
    for (size_t i = 0; i < logs; i++) order[i] = i;
    if (logs) qsort_r(order, logs, sizeof *order, by_start, (void *)log);
    for (size_t i = 0; i < logs; i++) {
        const struct mpr_summary *s = log[order[i]];
        const uint32_t number = (uint32_t)order[i] + 1;
        struct mpr_process_tree *of = &tree[order[i]];
        *of = tree_of(&k, s, tree);
        if (s->recording.root) {
            /* a program that a root executes is the same process, and also a root */
            const uint32_t known = mpr_index_get(&k.roots, place_key(s));
            const bool same = !known || known - 1 == of->previous_program;
            mpr_index_set(&k.roots, place_key(s), same ? number : SEVERAL);
        }
        mpr_index_add(&k.by_name, mpr_hash_text(mpr_basename(s->path)), number);
        if (s->process.pid) mpr_index_set(&k.by_number, number_key(s, s->process.pid), number);
    }
    free(order);
    mpr_index_free(&k.by_name);
    mpr_index_free(&k.by_number);
    mpr_index_free(&k.roots);
}
