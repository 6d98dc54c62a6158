#include "outlier.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apart.h"

static uint64_t peak_of(const struct mpr_timeline *t, const char *kind)
{
    for (size_t i = 0; i < t->heaps; i++) /* largest peak first */
        if (strcmp(mpr_apart_kind(t->heap[i].name), kind) == 0) return t->heap[i].peak_bytes;
    return 0;
}

/* By the heaps of that kind: how far away the outlier is; 0: none is. */
static uint64_t judge(const struct mpr_timeline *run, size_t runs, const char *kind,
                      struct mpr_outlier *out)
{
    uint64_t *peak = mpr_alloc(runs, sizeof *peak), most = 0;
    size_t *apart = mpr_alloc(runs, sizeof *apart);
    for (size_t i = 0; i < runs; i++) peak[i] = peak_of(&run[i], kind);
    const uint64_t median = mpr_apart_median(peak, runs);
    for (size_t i = runs; i-- > 0;)
        if (peak[i] == median) out->median = i;
    if (mpr_apart_find(peak, runs, apart)) {
        out->outlier = apart[0];
        most = peak[apart[0]] > median ? peak[apart[0]] - median : median - peak[apart[0]];
    }
    free(peak);
    free(apart);
    return most;
}

bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out)
{
    uint64_t most = 0;
    for (size_t i = 0; runs > 2 && i < runs; i++) {
        for (size_t k = 0; k < run[i].heaps; k++) {
            const struct mpr_heap_line *heap = &run[i].heap[k];
            struct mpr_outlier found;
            const uint64_t away =
                heap->inside ? 0 : judge(run, runs, mpr_apart_kind(heap->name), &found);
            if (away <= most || found.outlier != i) continue;
            most = away;
            *out = found;
            out->heap = heap->name;
        }
    }
    return most > 0;
}
