/* Private memory of forked workers: blocks that they allocated, and pages of their parent that they
 * copied by writing to them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "apart.h"
#include "evidence.h"

static bool same_command(const struct mpr_process_info *a, const struct mpr_process_info *b)
{
    if (!a->argc || a->argc != b->argc) return false;
    for (size_t i = 0; i < a->argc; i++)
        if (strcmp(a->argv[i], b->argv[i]) != 0) return false;
    return true;
}

/* Forked and never executed: it is a copy of its parent. */
static bool is_worker(const struct mpr_processes *all, const struct mpr_process *p)
{
    if (p->parent == MPR_NO_PROCESS || p->image_of != MPR_NO_PROCESS) return false;
    return same_command(&p->summary.process, &all->at[p->parent].summary.process);
}

static size_t index_of(const struct mpr_processes *all, const char *path)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].summary.path, path) == 0) return i;
    return MPR_NO_PROCESS;
}

static const struct mpr_process_heap *mapped(const struct mpr_process *p)
{
    static const struct mpr_process_heap none;
    for (size_t i = 0; i < p->heaps; i++)
        if (p->heap[i].heap == MPF_HEAP_MMAP) return &p->heap[i];
    return &none;
}

/* Returns the bytes of the process's blocks.  Pages of mappings need not be touched, so mappings
 * count only up to `touched` bytes in all. */
static uint64_t blocks_of(const struct mpr_process *p, uint64_t touched)
{
    const uint64_t blocks = p->host.peak_bytes, most = mpr_less(touched, blocks),
                   mappings = mapped(p)->peak_bytes;
    return blocks + (mappings < most ? mappings : most);
}

/* Returns the bytes that the worker allocated.  A fork shares its parent's memory until one of them
 * writes to it.  Its private bytes are sampled seldom; its anonymous memory, which includes pages
 * of the parent, is sampled often. */
static uint64_t made(const struct mpr_process *worker, const struct mpr_process *parent)
{
    const uint64_t alone = worker->summary.alone,
                   more = mpr_less(worker->summary.anonymous, parent->summary.anonymous);
    return blocks_of(worker, alone > more ? alone : more);
}

/* Returns a lower bound of copied pages of the parent: private bytes without the worker's blocks.
 */
static uint64_t copied(const struct mpr_process *worker, const struct mpr_process *parent)
{
    (void)parent;
    return mpr_less(worker->summary.alone, worker->host.peak_bytes + mapped(worker)->peak_bytes);
}

struct worker {
    uint64_t bytes;
    const struct mpr_process *process;
};

static int most_first(const void *left, const void *right)
{
    const struct worker *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* The workers of one parent, those with most of what is counted first. */
static size_t find(const struct mpr_processes *all, size_t parent,
                   uint64_t bytes_of(const struct mpr_process *, const struct mpr_process *),
                   struct worker *worker)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].parent == parent && is_worker(all, &all->at[i]))
            worker[count++] =
                (struct worker){ bytes_of(&all->at[i], &all->at[parent]), &all->at[i] };
    if (count) qsort(worker, count, sizeof *worker, most_first);
    return count;
}

/* Returns the bytes of the worker that holds the middle byte of all.  Many small workers would move
 * a median of workers, but not this one. */
static uint64_t typical(const struct worker *worker, size_t count)
{
    uint64_t sum = 0, so_far = 0;
    for (size_t i = 0; i < count; i++) sum += worker[i].bytes;
    for (size_t i = 0; i < count; i++)
        if ((so_far += worker[i].bytes) >= sum / 2) return worker[i].bytes;
    return 0;
}

static bool ran_at(const struct mpr_process *p, uint64_t at)
{
    const uint64_t start = p->summary.process.start_ns;
    return !start || (start <= at && at - start <= p->summary.duration_ns);
}

/* Keeps the workers that ran together when their sum was largest: a pool that is made again in each
 * epoch never had more at a time.  They stay in order. */
static size_t together(struct worker *worker, size_t count)
{
    uint64_t most = 0, then = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = worker[i].process->summary.process.start_ns;
        uint64_t sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += ran_at(worker[k].process, at) ? worker[k].bytes : 0;
        if (sum > most) most = sum, then = at;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ran_at(worker[i].process, then)) worker[kept++] = worker[i];
    return kept;
}

struct workers {
    uint64_t count, sum, most, least; /* bytes */
    bool at_a_time;                   /* there were more, at other times */
};

/* Those that hold from half to twice what is typical of them: workers that load as much differ by
 * the batches that they had just then. */
static struct workers alike(struct worker *worker, size_t count)
{
    const size_t ran = together(worker, count);
    const uint64_t middle = typical(worker, ran);
    struct workers w = { .least = UINT64_MAX, .at_a_time = ran < count };
    for (size_t i = 0; i < ran; i++) {
        const uint64_t bytes = worker[i].bytes;
        if (bytes < middle - middle / 2 || bytes / 2 > middle) continue;
        if (bytes < w.least) w.least = bytes;
        if (bytes > w.most) w.most = bytes;
        w.sum += bytes;
        w.count++;
    }
    return w;
}

/* "70.14 MiB to 91.87 MiB", or one of them where they print alike. */
static const char *from_to(struct mpr_insights *out, uint64_t least, uint64_t most)
{
    const char *from = mpr_finding_size(out, least), *to = mpr_finding_size(out, most);
    return strcmp(from, to) == 0 ? from : mpr_arena_format(&out->arena, "%s to %s", from, to);
}

/* A finding in the larger host heap of the process. */
static struct mpr_finding *add(struct mpr_insights *out, enum mpr_finding_kind kind,
                               const struct mpr_process *seen, uint64_t bytes)
{
    const struct mpr_process_heap *mappings = mapped(seen);
    return mappings->peak_bytes > seen->host.peak_bytes
               ? mpr_finding_add(out, kind, mappings->heap, mappings->peak_time, bytes)
               : mpr_finding_add(out, kind, MPF_HEAP_HOST, seen->host.peak_time, bytes);
}

/* A finding about all workers. */
struct common {
    enum mpr_finding_kind finding;
    const char *does, *each, *change;
};

static void tell_common(struct mpr_insights *out, const struct common *c, const struct workers *w,
                        uint64_t saved, uint64_t beside, const struct mpr_process *seen)
{
    if (w->count < 2 || !mpr_worth(saved, w->sum)) return;
    struct mpr_finding *f = add(out, c->finding, seen, saved);
    f->what = mpr_arena_format(&out->arena,
                               "%s forked workers%s %s, %s %s, %s in all; their parent holds %s",
                               mpr_finding_number(out, w->count), w->at_a_time ? " at a time" : "",
                               c->does, from_to(out, w->least, w->most), c->each,
                               mpr_finding_size(out, w->sum), mpr_finding_size(out, beside));
    f->change = c->change;
    f->look = "processes";
    mpr_finding_count(f, "workers", w->count);
    mpr_finding_bytes(f, "least_bytes", w->least);
    mpr_finding_bytes(f, "most_bytes", w->most);
    mpr_finding_bytes(f, "all_bytes", w->sum);
    mpr_finding_bytes(f, "parent_bytes", beside);
}

static const struct common alike_each = {
    MPR_FINDING_WORKERS, "hold about as much each", "of host memory",
    "fewer workers (num_workers), a smaller prefetch_factor; what each of them makes "
    "alike once, in shared memory"
};

/* A page that a child only reads stays shared with its parent.  The first write copies it, and
 * Python writes to an object each time it counts references. */
static const struct common copied_each = {
    MPR_FINDING_COPIED_PAGES, "copied pages of their parent's by writing to them", "each",
    "what workers read in memory that reading does not write to: arrays of numbers or "
    "shared memory, not Python's objects, which have reference counts; fewer workers"
};

/* Reports the largest of workers that hold more than the others, as a worker that leaks does. */
static void tell_apart(struct mpr_insights *out, const struct worker *worker, size_t count,
                       const struct mpr_process *seen)
{
    const uint64_t median = worker[count / 2].bytes, more = worker->bytes - median,
                   pid = worker->process->summary.process.pid;
    if (!mpr_worth_growth(more, worker->bytes)) return;
    struct mpr_finding *f = add(out, MPR_FINDING_WORKER, seen, more);
    f->what = mpr_arena_format(&out->arena,
                               "one of %s forked workers, pid %" PRIu64
                               ", peaks at %s of host memory, %s above the "
                               "median",
                               mpr_finding_number(out, count), pid,
                               mpr_finding_size(out, worker->bytes), mpr_finding_size(out, more));
    f->change = "what this one does and the others do not; diff of its log and another worker's "
                "says what it holds more";
    f->look = "processes";
    mpr_finding_count(f, "pid", pid);
    mpr_finding_count(f, "workers", count);
    mpr_finding_bytes(f, "peak_bytes", worker->bytes);
    mpr_finding_bytes(f, "median_peak_bytes", median);
}

/* ---- whose */

static bool is_below(const struct mpr_processes *all, size_t process, size_t top)
{
    while (process != top && process != MPR_NO_PROCESS) process = all->at[process].parent;
    return process == top;
}

static uint64_t held_by_workers(const struct mpr_processes *all, size_t parent)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].parent == parent && is_worker(all, &all->at[i]))
            bytes += made(&all->at[i], &all->at[parent]) + copied(&all->at[i], &all->at[parent]);
    return bytes;
}

/* Returns the parent of the workers in the log's family: the log's process is a worker, their
 * parent, or the one that started the parent, as with a fork server.  Of several parents the one
 * whose workers hold most. */
static size_t parent_of_workers(const struct mpr_processes *all, size_t own)
{
    if (is_worker(all, &all->at[own])) return all->at[own].parent;
    size_t found = own;
    uint64_t most = 0;
    for (size_t i = 0; i < all->count; i++) {
        const uint64_t bytes = is_below(all, i, own) ? held_by_workers(all, i) : 0;
        if (bytes <= most) continue;
        most = bytes;
        found = i;
    }
    return found;
}

static void tell_made(struct mpr_insights *out, const struct mpr_processes *all, size_t parent,
                      uint64_t beside, struct worker *worker, const struct mpr_process *seen)
{
    const size_t count = find(all, parent, made, worker);
    uint64_t *bytes = mpr_alloc(count, sizeof *bytes);
    for (size_t i = 0; i < count; i++) bytes[i] = worker[i].bytes;
    const size_t apart = mpr_apart_above(bytes, count);
    if (apart) tell_apart(out, worker, count, seen);
    const struct workers w = alike(worker + apart, count - apart);
    tell_common(out, &alike_each, &w, w.sum - w.most, beside, seen);
    free(bytes);
}

void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_processes *all = out->family;
    const size_t own = all ? index_of(all, e->log->summary.path) : MPR_NO_PROCESS;
    if (own == MPR_NO_PROCESS) return;
    const struct mpr_process *seen = &all->at[own];
    const size_t parent = parent_of_workers(all, own);
    const uint64_t beside = blocks_of(&all->at[parent], all->at[parent].summary.anonymous);
    struct worker *worker = mpr_alloc(all->count, sizeof *worker);
    tell_made(out, all, parent, beside, worker, seen);
    const struct workers w = alike(worker, find(all, parent, copied, worker));
    tell_common(out, &copied_each, &w, w.sum, beside, seen);
    free(worker);
}
