#include "outlier.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apart.h"
#include "books.h"
#include "kin.h"

/* @kind: the heap without its device (mpf_heap_code), because each rank has its own GPU. */
static const struct mpr_heap_line *heap_of(const struct mpr_timeline *t, unsigned kind)
{
    for (size_t i = 0; i < t->heaps; i++) /* largest peak first */
        if (mpf_heap_code(t->heap[i].heap) == kind) return &t->heap[i];
    return NULL;
}

static uint64_t peak_of(const struct mpr_timeline *t, unsigned kind)
{
    const struct mpr_heap_line *heap = heap_of(t, kind);
    return heap ? heap->peak_bytes : 0;
}

/* ---- like with like */

/* Of the processes of one rank, as a training process and its loader's workers are, the one that
 * holds most of a device, else of the host. */
static bool stands_for_rank(const struct mpr_timeline *run, size_t runs, size_t which)
{
    const char *rank = run[which].summary.process.rank;
    for (size_t i = 0; i < runs; i++) {
        if (i == which || strcmp(run[i].summary.process.rank, rank) != 0) continue;
        const uint64_t device = peak_of(&run[which], MPF_HEAP_DEVICE),
                       host = peak_of(&run[which], MPF_HEAP_HOST),
                       other = peak_of(&run[i], MPF_HEAP_DEVICE),
                       its = peak_of(&run[i], MPF_HEAP_HOST);
        if (other > device || (other == device && (its > host || (its == host && i < which))))
            return false;
    }
    return true;
}

static bool any_ranked(const struct mpr_timeline *run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        if (*run[i].summary.process.rank) return true;
    return false;
}

/* Those that one process started, of several such the most; or those that none of these started,
 * where they are more: a fork among independent runs does not hide them. */
static void siblings(const struct mpr_timeline *run, size_t runs, bool *alike)
{
    const struct mpr_summary **log = mpr_alloc(runs, sizeof *log);
    struct mpr_kin *kin = mpr_alloc(runs, sizeof *kin);
    size_t *children = mpr_alloc(runs, sizeof *children), most = MPR_NO_PROCESS, alone = 0;
    for (size_t i = 0; i < runs; i++) log[i] = &run[i].summary;
    mpr_kin_find(log, runs, kin);
    for (size_t i = 0; i < runs; i++)
        if (kin[i].parent != MPR_NO_PROCESS) children[kin[i].parent]++;
        else alone++;
    for (size_t i = 0; i < runs; i++)
        if (children[i] && (most == MPR_NO_PROCESS || children[i] > children[most])) most = i;
    if (most != MPR_NO_PROCESS && alone > children[most]) most = MPR_NO_PROCESS;
    for (size_t i = 0; i < runs; i++) alike[i] = kin[i].parent == most;
    free(log);
    free(kin);
    free(children);
}

void mpr_outlier_alike(const struct mpr_timeline *run, size_t runs, bool *alike)
{
    if (!any_ranked(run, runs)) {
        siblings(run, runs, alike);
        return;
    }
    for (size_t i = 0; i < runs; i++)
        alike[i] = *run[i].summary.process.rank && stands_for_rank(run, runs, i);
}

/* ---- the one that differs */

/* By the heaps of that kind: how far away the outlier is; 0: none is. */
static uint64_t judge(const struct mpr_timeline *run, const size_t *which, size_t count,
                      unsigned kind, struct mpr_outlier *out)
{
    uint64_t *peak = mpr_alloc(count, sizeof *peak), most = 0;
    size_t *apart = mpr_alloc(count, sizeof *apart);
    for (size_t i = 0; i < count; i++) peak[i] = peak_of(&run[which[i]], kind);
    const uint64_t median = mpr_apart_median(peak, count);
    for (size_t i = count; i-- > 0;)
        if (peak[i] == median) out->median = which[i];
    if (mpr_apart_find(peak, count, apart)) {
        out->outlier = which[apart[0]];
        most = peak[apart[0]] > median ? peak[apart[0]] - median : median - peak[apart[0]];
    }
    free(peak);
    free(apart);
    return most;
}

/* Kinds of heaps: there are few, whatever the number of runs. */
struct kinds {
    unsigned kind[MPR_HEAPS];
    size_t count;
};

static void add_kind(struct kinds *k, unsigned kind)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->kind[i] == kind) return;
    if (k->count < MPR_HEAPS) k->kind[k->count++] = kind;
}

static struct kinds kinds_of(const struct mpr_timeline *run, const size_t *which, size_t count)
{
    struct kinds kinds = { .count = 0 };
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < run[which[i]].heaps; k++) {
            const struct mpr_heap_line *heap = &run[which[i]].heap[k];
            if (!heap->inside) add_kind(&kinds, mpf_heap_code(heap->heap));
        }
    return kinds;
}

static uint64_t find(const struct mpr_timeline *run, const size_t *which, size_t count,
                     struct mpr_outlier *out)
{
    const struct kinds kinds = kinds_of(run, which, count);
    uint64_t most = 0;
    for (size_t i = 0; i < kinds.count; i++) {
        struct mpr_outlier found;
        const uint64_t away = judge(run, which, count, kinds.kind[i], &found);
        if (away <= most) continue;
        most = away;
        *out = found;
        const struct mpr_heap_line *heap = heap_of(&run[found.outlier], kinds.kind[i]);
        out->heap = heap ? heap->heap : (uint8_t)kinds.kind[i];
    }
    return most;
}

bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out)
{
    bool *alike = mpr_alloc(runs, sizeof *alike);
    size_t *which = mpr_alloc(runs, sizeof *which), count = 0;
    mpr_outlier_alike(run, runs, alike);
    for (size_t i = 0; i < runs; i++)
        if (alike[i]) which[count++] = i;
    const uint64_t away = count > 2 ? find(run, which, count, out) : 0;
    free(alike);
    free(which);
    return away > 0;
}
