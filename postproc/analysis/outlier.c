#include "outlier.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"

enum { TWENTIETH = 20 };

/* "gpu3/device" and "gpu0/device" are of one kind. */
static const char *kind_of(const char *name)
{
    return strncmp(name, "gpu", 3) == 0 && strchr(name, '/') ? strchr(name, '/') : name;
}

static uint64_t peak_of(const struct mpr_timeline *t, const char *kind)
{
    for (size_t i = 0; i < t->heaps; i++) /* largest peak first */
        if (strcmp(kind_of(t->heap[i].name), kind) == 0) return t->heap[i].peak_bytes;
    return 0;
}

static int by_bytes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static uint64_t median_of(const uint64_t *peak, size_t runs)
{
    uint64_t *sorted = mpr_alloc(runs, sizeof *sorted);
    memcpy(sorted, peak, runs * sizeof *sorted);
    qsort(sorted, runs, sizeof *sorted, by_bytes);
    const uint64_t median = sorted[runs / 2];
    free(sorted);
    return median;
}

static uint64_t apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* By the heaps of that kind: how far away the outlier is; 0: none is. */
static uint64_t judge(const struct mpr_timeline *run, size_t runs, const char *kind,
                      struct mpr_outlier *out)
{
    uint64_t *peak = mpr_alloc(runs, sizeof *peak), most = 0;
    for (size_t i = 0; i < runs; i++) peak[i] = peak_of(&run[i], kind);
    const uint64_t median = median_of(peak, runs);
    for (size_t i = runs; i-- > 0;) {
        if (peak[i] == median) out->median = i;
        if (apart(peak[i], median) < most) continue;
        most = apart(peak[i], median);
        out->outlier = i;
    }
    free(peak);
    return most > median / TWENTIETH ? most : 0;
}

bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out)
{
    uint64_t most = 0;
    for (size_t i = 0; runs > 2 && i < runs; i++) {
        for (size_t k = 0; k < run[i].heaps; k++) {
            const struct mpr_heap_line *heap = &run[i].heap[k];
            struct mpr_outlier found;
            const uint64_t away = heap->inside ? 0 : judge(run, runs, kind_of(heap->name), &found);
            if (away <= most || found.outlier != i) continue;
            most = away;
            *out = found;
            out->heap = heap->name;
        }
    }
    return most > 0;
}
