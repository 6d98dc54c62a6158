/* What forked workers hold each for itself. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
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

struct worker {
    uint64_t peak; /* bytes of host/heap */
    const struct mpr_process *process;
};

static int most_first(const void *left, const void *right)
{
    const struct worker *a = left, *b = right;
    if (a->peak != b->peak) return a->peak > b->peak ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* The workers of one parent, largest first. */
static size_t find(const struct mpr_processes *all, size_t parent, struct worker *worker)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].parent == parent && is_worker(all, &all->at[i]))
            worker[count++] = (struct worker){ all->at[i].host.peak_bytes, &all->at[i] };
    if (count) qsort(worker, count, sizeof *worker, most_first);
    return count;
}

/* Of the worker that holds the middle one of all bytes: many small ones do not move it, as they
 * would the median. */
static uint64_t typical(const struct worker *worker, size_t count)
{
    uint64_t sum = 0, so_far = 0;
    for (size_t i = 0; i < count; i++) sum += worker[i].peak;
    for (size_t i = 0; i < count; i++)
        if ((so_far += worker[i].peak) >= sum / 2) return worker[i].peak;
    return 0;
}

struct workers {
    uint64_t count, sum, most, least; /* bytes, of their peaks of host/heap */
};

/* Those that hold from half to twice what is typical of them: workers that load as much differ by
 * the batches that they had just then. */
static struct workers alike(const struct worker *worker, size_t count)
{
    const uint64_t middle = typical(worker, count);
    struct workers w = { .least = UINT64_MAX };
    for (size_t i = 0; i < count; i++) {
        const uint64_t peak = worker[i].peak;
        if (peak < middle - middle / 2 || peak / 2 > middle) continue;
        if (peak < w.least) w.least = peak;
        if (peak > w.most) w.most = peak;
        w.sum += peak;
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

static void tell_alike(struct mpr_insights *out, const struct workers *w, uint64_t beside,
                       uint64_t time)
{
    if (w->count < 2 || !mpr_worth(w->sum - w->most, w->sum)) return;
    struct mpr_finding *f = mpr_finding_add(out, "workers", "host", w->sum - w->most);
    f->what = mpr_arena_format(
        &out->arena,
        "%s forked workers hold about as much each, %s of host/heap, %s in all; their parent "
        "holds %s",
        mpr_finding_number(out, w->count), from_to(out, w->least, w->most),
        mpr_finding_size(out, w->sum), mpr_finding_size(out, beside));
    f->change = "fewer workers (num_workers), a smaller prefetch_factor; what each of them makes "
                "alike once, in shared memory";
    f->look = "processes";
    mpr_finding_at(f, "host/heap", time);
    mpr_finding_count(f, "workers", w->count);
    mpr_finding_bytes(f, "least_bytes", w->least);
    mpr_finding_bytes(f, "most_bytes", w->most);
    mpr_finding_bytes(f, "all_bytes", w->sum);
    mpr_finding_bytes(f, "parent_bytes", beside);
}

/* Of a worker that holds more than its like, as one that leaks does, the largest one. */
static void tell_apart(struct mpr_insights *out, const struct worker *worker, size_t count,
                       uint64_t time)
{
    const uint64_t median = worker[count / 2].peak, more = worker->peak - median,
                   pid = worker->process->summary.process.pid;
    if (!mpr_worth_growth(more, worker->peak)) return;
    struct mpr_finding *f = mpr_finding_add(out, "worker", "host", more);
    f->what = mpr_arena_format(&out->arena,
                               "one of %s forked workers, pid %" PRIu64
                               ", peaks at %s of host/heap, %s above the "
                               "median",
                               mpr_finding_number(out, count), pid,
                               mpr_finding_size(out, worker->peak), mpr_finding_size(out, more));
    f->change = "what this one does and the others do not; diff of its log and another worker's "
                "says what it holds more";
    f->look = "processes";
    mpr_finding_at(f, "host/heap", time);
    mpr_finding_count(f, "pid", pid);
    mpr_finding_count(f, "workers", count);
    mpr_finding_bytes(f, "peak_bytes", worker->peak);
    mpr_finding_bytes(f, "median_peak_bytes", median);
}

/* The log is of one of them, or of their parent. */
void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_processes *all = out->family;
    const size_t own = all ? index_of(all, e->log->summary.path) : MPR_NO_PROCESS;
    if (own == MPR_NO_PROCESS) return;
    const size_t parent = is_worker(all, &all->at[own]) ? all->at[own].parent : own;
    struct worker *worker = mpr_alloc(all->count, sizeof *worker);
    const size_t count = find(all, parent, worker);
    uint64_t *peak = mpr_alloc(count, sizeof *peak);
    for (size_t i = 0; i < count; i++) peak[i] = worker[i].peak;
    const size_t apart = mpr_apart_above(peak, count);
    const struct workers w = alike(worker + apart, count - apart);
    const uint64_t time = all->at[own].host.peak_time;
    tell_alike(out, &w, all->at[parent].host.peak_bytes, time);
    if (apart) tell_apart(out, worker, count, time);
    free(peak);
    free(worker);
}
