/* What forked workers hold each for itself. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
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

struct workers {
    uint64_t count, sum, most, least; /* bytes, of their peaks of host/heap */
};

static int most_first(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

/* The peaks of the workers of one parent, largest first. */
static size_t peaks_of(const struct mpr_processes *all, size_t parent, uint64_t *peak)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].parent == parent && is_worker(all, &all->at[i]))
            peak[count++] = all->at[i].host.peak_bytes;
    if (count) qsort(peak, count, sizeof *peak, most_first);
    return count;
}

/* Of the worker that holds the middle one of all bytes: many small ones do not move it, as they
 * would the median. */
static uint64_t typical(const uint64_t *peak, size_t count)
{
    uint64_t sum = 0, so_far = 0;
    for (size_t i = 0; i < count; i++) sum += peak[i];
    for (size_t i = 0; i < count; i++)
        if ((so_far += peak[i]) >= sum / 2) return peak[i];
    return 0;
}

/* Those of one parent that hold from half to twice what is typical of them: workers that load as
 * much differ by the batches that they had just then. */
static struct workers workers_of(const struct mpr_processes *all, size_t parent)
{
    uint64_t *peak = mpr_alloc(all->count, sizeof *peak);
    const size_t count = peaks_of(all, parent, peak);
    const uint64_t middle = typical(peak, count);
    struct workers w = { .least = UINT64_MAX };
    for (size_t i = 0; i < count; i++) {
        if (peak[i] < middle - middle / 2 || peak[i] / 2 > middle) continue;
        if (peak[i] < w.least) w.least = peak[i];
        if (peak[i] > w.most) w.most = peak[i];
        w.sum += peak[i];
        w.count++;
    }
    free(peak);
    return w;
}

/* The log is of one of them, or of their parent. */
void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_processes *all = out->family;
    const size_t own = all ? index_of(all, e->log->summary.path) : MPR_NO_PROCESS;
    if (own == MPR_NO_PROCESS) return;
    const size_t parent = is_worker(all, &all->at[own]) ? all->at[own].parent : own;
    const struct workers w = workers_of(all, parent);
    const uint64_t beside = all->at[parent].host.peak_bytes;
    if (w.count < 2 || !mpr_worth(w.sum - w.most, w.sum)) return;
    struct mpr_finding *f = mpr_finding_add(out, "workers", "host", w.sum - w.most);
    f->what = mpr_arena_format(&out->arena,
                               "%s forked workers hold about as much each, %s to %s of host/heap, "
                               "%s in all; their parent holds %s",
                               mpr_finding_number(out, w.count), mpr_finding_size(out, w.least),
                               mpr_finding_size(out, w.most), mpr_finding_size(out, w.sum),
                               mpr_finding_size(out, beside));
    f->change = "fewer workers (num_workers), a smaller prefetch_factor; what each of them makes "
                "alike once, in shared memory";
    f->look = "processes";
    mpr_finding_at(f, "host/heap", all->at[own].host.peak_time);
    mpr_finding_count(f, "workers", w.count);
    mpr_finding_bytes(f, "least_bytes", w.least);
    mpr_finding_bytes(f, "most_bytes", w.most);
    mpr_finding_bytes(f, "all_bytes", w.sum);
    mpr_finding_bytes(f, "parent_bytes", beside);
}
