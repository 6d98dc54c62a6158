#include "outlier.h"

#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "alloc.h"
#include "outliers.h"
#include "process_tree.h"

/* Returns the heap with the largest peak of its kind.
 * @kind: the heap without its device (mpf_heap_code), because each rank has its own GPU. */
static const struct mpr_heap_timeline *heap_of(const struct mpr_timeline *t, unsigned kind)
{
    for (size_t i = 0; i < t->heaps; i++) /* largest peak first */
        if (mpf_heap_code(t->heap[i].heap) == kind) return &t->heap[i];
    return NULL;
}

static uint64_t peak_of(const struct mpr_timeline *t, unsigned kind)
{
    const struct mpr_heap_timeline *heap = heap_of(t, kind);
    return heap ? heap->peak_bytes : 0;
}

/* ---- runs that are compared */

/* Returns true if it holds more of a device, or else of the host, than the other processes of its
 * rank, such as a loader's workers. */
static bool is_main_of_rank(const struct mpr_timeline *run, size_t runs, size_t which)
{
    const char *rank = run[which].summary.process.rank;
    const uint64_t device = peak_of(&run[which], MPF_HEAP_DEVICE),
                   host = peak_of(&run[which], MPF_HEAP_HOST);
    for (size_t i = 0; i < runs; i++) {
        if (i == which || strcmp(run[i].summary.process.rank, rank) != 0) continue;
        const uint64_t other_device = peak_of(&run[i], MPF_HEAP_DEVICE),
                       other_host = peak_of(&run[i], MPF_HEAP_HOST);
        if (other_device != device ? other_device > device
                                   : other_host > host || (other_host == host && i < which))
            return false;
    }
    return true;
}

/* Chooses the children of the run with most children, or the runs that none of them started if they
 * are more: a fork among independent runs does not hide them. */
static void choose_siblings(const struct mpr_timeline *run, size_t runs, bool *alike)
{
    const struct mpr_summary **log = mpr_alloc(runs, sizeof *log);
    struct mpr_process_tree *kin = mpr_alloc(runs, sizeof *kin);
    size_t *children = mpr_alloc(runs, sizeof *children), parent = MPR_NO_PROCESS, alone = 0;
    for (size_t i = 0; i < runs; i++) log[i] = &run[i].summary;
    mpr_process_tree_find(log, runs, kin);
    for (size_t i = 0; i < runs; i++)
        if (kin[i].parent != MPR_NO_PROCESS) children[kin[i].parent]++;
        else alone++;
    for (size_t i = 0; i < runs; i++)
        if (children[i] && (parent == MPR_NO_PROCESS || children[i] > children[parent])) parent = i;
    if (parent != MPR_NO_PROCESS && alone > children[parent]) parent = MPR_NO_PROCESS;
    for (size_t i = 0; i < runs; i++) alike[i] = kin[i].parent == parent;
    free(log);
    free(kin);
    free(children);
}

void mpr_outlier_peers(const struct mpr_timeline *run, size_t runs, bool *alike)
{
    bool ranked = false;
    for (size_t i = 0; i < runs; i++) {
        alike[i] = *run[i].summary.process.rank && is_main_of_rank(run, runs, i);
        ranked |= *run[i].summary.process.rank != 0;
    }
    if (!ranked) choose_siblings(run, runs, alike);
}

/* ---- outliers by one heap */

void mpr_outlier_places(const struct mpr_timeline *run, size_t runs, const bool *alike,
                        uint8_t heap, size_t *place)
{
    uint64_t *peak = mpr_alloc(runs, sizeof *peak);
    size_t *which = mpr_alloc(runs, sizeof *which), *apart = mpr_alloc(runs, sizeof *apart);
    size_t count = 0;
    for (size_t i = 0; i < runs; i++) {
        size_t own = 0;
        while (own < run[i].heaps && run[i].heap[own].heap != heap) own++;
        place[i] = 0;
        if (!alike[i]) continue;
        which[count] = i;
        peak[count++] = own < run[i].heaps ? run[i].heap[own].peak_bytes
                                           : peak_of(&run[i], mpf_heap_code(heap));
    }
    const size_t outliers = mpr_outliers_find(peak, count, apart);
    for (size_t i = 0; i < outliers; i++) place[which[apart[i]]] = i + 1;
    free(peak);
    free(which);
    free(apart);
}

/* ---- the outlier */

/* Returns the outlier's distance from the median in bytes, by heaps of that kind, or 0 without an
 * outlier. */
static uint64_t judge(const struct mpr_timeline *run, const size_t *which, size_t count,
                      unsigned kind, struct mpr_outlier *out)
{
    uint64_t *peak = mpr_alloc(count, sizeof *peak), distance = 0;
    size_t *apart = mpr_alloc(count, sizeof *apart);
    for (size_t i = 0; i < count; i++) peak[i] = peak_of(&run[which[i]], kind);
    const uint64_t median = mpr_outliers_median(peak, count);
    for (size_t i = count; i-- > 0;)
        if (peak[i] == median) out->median = which[i];
    if (mpr_outliers_find(peak, count, apart)) {
        const uint64_t bytes = peak[apart[0]];
        const struct mpr_heap_timeline *heap = heap_of(&run[which[apart[0]]], kind);
        out->outlier = which[apart[0]];
        out->heap = heap ? heap->heap : (uint8_t)kind;
        distance = bytes > median ? bytes - median : median - bytes;
    }
    free(peak);
    free(apart);
    return distance;
}

/* Fills the kinds of heaps, in the order in which the runs have them.  Returns their number. */
static size_t find_kinds(const struct mpr_timeline *run, const size_t *which, size_t count,
                         unsigned kind[MPR_HEAPS])
{
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < run[which[i]].heaps; k++) {
            const struct mpr_heap_timeline *heap = &run[which[i]].heap[k];
            size_t known = 0;
            while (known < kinds && kind[known] != mpf_heap_code(heap->heap)) known++;
            if (!heap->inside && known == kinds && kinds < MPR_HEAPS)
                kind[kinds++] = mpf_heap_code(heap->heap);
        }
    return kinds;
}

bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out)
{
    bool *alike = mpr_alloc(runs, sizeof *alike);
    size_t *which = mpr_alloc(runs, sizeof *which), count = 0;
    unsigned kind[MPR_HEAPS];
    uint64_t farthest = 0;
    mpr_outlier_peers(run, runs, alike);
    for (size_t i = 0; i < runs; i++)
        if (alike[i]) which[count++] = i;
    const size_t kinds = count > 2 ? find_kinds(run, which, count, kind) : 0;
    for (size_t i = 0; i < kinds; i++) {
        struct mpr_outlier found;
        const uint64_t distance = judge(run, which, count, kind[i], &found);
        if (distance <= farthest) continue;
        farthest = distance;
        *out = found;
    }
    free(alike);
    free(which);
    return farthest > 0;
}
