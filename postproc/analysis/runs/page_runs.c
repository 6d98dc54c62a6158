#include "page_runs.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "basename.h"
#include "outliers.h"
#include "process_tree.h"
#include "reader.h"

int mpr_page_runs_read(struct mpr_timeline *timeline, struct mpr_insights *insights,
                       struct mpr_insights_reading **reading, const char *path,
                       const struct mpr_timeline_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    mpr_timeline_init(timeline, options);
    if (mpr_reader_open(&reader, path, options->by, MPR_INSTANT_PEAK, error) != 0) return -1;
    struct mpr_timeline_reading *series = mpr_timeline_watch(timeline, &reader);
    *reading = mpr_insights_watch(insights, &reader, path, options->by == MPR_GROUP_ALL);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_timeline_fill(timeline, series, &reader, path);
        mpr_insights_take(*reading, &reader);
        mpr_reader_close(&reader);
    } else mpr_insights_end(*reading);
    mpr_timeline_reading_free(series);
    return status;
}

/* ---- the peaks of a run */

/* Returns the run's heap. If the run does not have it, or @same is false, returns the heap of
 * the same kind with the largest peak, because each rank has its own GPU; NULL if there is none. */
static const struct mpr_heap_timeline *heap_of(const struct mpr_timeline *t, uint8_t heap,
                                               bool same)
{
    for (size_t i = 0; same && i < t->heaps; i++)
        if (t->heap[i].heap == heap) return &t->heap[i];
    for (size_t i = 0; i < t->heaps; i++) /* largest peak first */
        if (mpf_heap_code(t->heap[i].heap) == mpf_heap_code(heap)) return &t->heap[i];
    return NULL;
}

static uint64_t peak_of(const struct mpr_timeline *t, uint8_t heap, bool same)
{
    const struct mpr_heap_timeline *found = heap_of(t, heap, same);
    return found ? found->peak_bytes : 0;
}

/* ---- runs that are compared */

/* Returns true if the run holds more of a device, or of the host if that is equal, than the
 * other processes of its rank, such as a data loader's workers. */
static bool is_main_of_rank(const struct mpr_timeline *run, size_t runs, size_t which)
{
    const uint64_t device = peak_of(&run[which], MPF_HEAP_DEVICE, false),
                   host = peak_of(&run[which], MPF_HEAP_HOST, false);
    for (size_t i = 0; i < runs; i++) {
        if (i == which || strcmp(run[i].summary.process.rank, run[which].summary.process.rank) != 0)
            continue;
        const int order = mpr_compare(peak_of(&run[i], MPF_HEAP_DEVICE, false), device)
                              ?: mpr_compare(peak_of(&run[i], MPF_HEAP_HOST, false), host);
        if (order > 0 || (order == 0 && i < which)) return false;
    }
    return true;
}

/* Returns the name of the program, or "" if it is unknown. */
static const char *program_of(const struct mpr_timeline *run)
{
    const struct mpr_process_info *p = &run->summary.process;
    return p->argc ? mpr_basename(p->argv[0]) : "";
}

/* Keeps only the runs of the program that most of them run. So a compiler is not compared with
 * the assembler that the same process started. */
static void keep_one_program(const struct mpr_timeline *run, size_t runs, bool *is_compared)
{
    const char *program = "";
    size_t most = 0;
    for (size_t i = 0; i < runs; i++) {
        size_t count = 0;
        for (size_t k = 0; is_compared[i] && k < runs; k++)
            count += is_compared[k] && strcmp(program_of(&run[i]), program_of(&run[k])) == 0;
        if (count <= most) continue;
        most = count;
        program = program_of(&run[i]);
    }
    for (size_t i = 0; i < runs; i++)
        if (strcmp(program_of(&run[i]), program) != 0) is_compared[i] = false;
}

/* If a process executed several programs, only the last one counts. */
static void choose_siblings(const struct mpr_timeline *run, size_t runs, bool *is_compared)
{
    const struct mpr_summary **log = mpr_alloc(runs, sizeof *log);
    struct mpr_process_tree *tree = mpr_alloc(runs, sizeof *tree);
    size_t *children = mpr_alloc(runs, sizeof *children), parent = MPR_NO_PROCESS, alone = 0;
    for (size_t i = 0; i < runs; i++) log[i] = &run[i].summary;
    mpr_process_tree_find(log, runs, tree);
    for (size_t i = 0; i < runs; i++)
        if (tree[i].parent != MPR_NO_PROCESS) children[tree[i].parent]++;
        else alone++;
    for (size_t i = 0; i < runs; i++)
        if (children[i] && (parent == MPR_NO_PROCESS || children[i] > children[parent])) parent = i;
    if (parent != MPR_NO_PROCESS && alone > children[parent]) parent = MPR_NO_PROCESS;
    for (size_t i = 0; i < runs; i++) is_compared[i] = tree[i].parent == parent;
    for (size_t i = 0; i < runs; i++)
        if (tree[i].previous_program != MPR_NO_PROCESS)
            is_compared[tree[i].previous_program] = false;
    keep_one_program(run, runs, is_compared);
    free(log);
    free(tree);
    free(children);
}

void mpr_page_runs_peers(const struct mpr_timeline *run, size_t runs, bool *is_compared)
{
    bool has_ranks = false;
    for (size_t i = 0; i < runs; i++) {
        is_compared[i] = *run[i].summary.process.rank && is_main_of_rank(run, runs, i);
        has_ranks |= *run[i].summary.process.rank != 0;
    }
    if (!has_ranks) choose_siblings(run, runs, is_compared);
}

/* ---- outliers by one heap */

/* The peaks of the runs that are compared. */
struct peaks {
    size_t *run, runs;
    uint64_t *bytes, median;
    size_t *outlier, outliers; /* outliers, farthest first: indices in `run` */
};

static struct peaks peaks_of(const struct mpr_timeline *run, size_t runs, const bool *is_compared,
                             uint8_t heap, bool same)
{
    struct peaks p = { .run = mpr_alloc(runs, sizeof *p.run),
                       .bytes = mpr_alloc(runs, sizeof *p.bytes),
                       .outlier = mpr_alloc(runs, sizeof *p.outlier) };
    for (size_t i = 0; i < runs; i++) {
        if (!is_compared[i]) continue;
        p.run[p.runs] = i;
        p.bytes[p.runs++] = peak_of(&run[i], heap, same);
    }
    p.median = mpr_outliers_median(p.bytes, p.runs);
    p.outliers = mpr_outliers_find(p.bytes, p.runs, p.outlier);
    return p;
}

static void free_peaks(struct peaks *p)
{
    free(p->run);
    free(p->bytes);
    free(p->outlier);
}

void mpr_page_runs_places(const struct mpr_timeline *run, size_t runs, const bool *is_compared,
                          uint8_t heap, size_t *place)
{
    struct peaks p = peaks_of(run, runs, is_compared, heap, true);
    memset(place, 0, runs * sizeof *place);
    for (size_t i = 0; i < p.outliers; i++) place[p.run[p.outlier[i]]] = i + 1;
    free_peaks(&p);
}

/* Compares the runs by each kind of heap, in the order in which heaps occur in them. */
bool mpr_page_runs_outlier(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out)
{
    bool *is_compared = mpr_alloc(runs, sizeof *is_compared), seen[UINT8_MAX + 1] = { false };
    uint64_t farthest = 0;
    mpr_page_runs_peers(run, runs, is_compared);
    for (size_t i = 0; i < runs; i++) {
        for (size_t k = 0; is_compared[i] && k < run[i].heaps; k++) {
            const struct mpr_heap_timeline *h = &run[i].heap[k];
            const uint8_t kind = (uint8_t)mpf_heap_code(h->heap);
            if (h->inside || seen[kind]) continue;
            seen[kind] = true;
            struct peaks p = peaks_of(run, runs, is_compared, kind, false);
            const uint64_t bytes = p.outliers ? p.bytes[p.outlier[0]] : p.median,
                           distance = bytes > p.median ? bytes - p.median : p.median - bytes;
            if (distance > farthest) {
                farthest = distance;
                out->outlier = p.run[p.outlier[0]];
                const struct mpr_heap_timeline *own = heap_of(&run[out->outlier], kind, false);
                out->heap = own ? own->heap : kind;
                for (size_t n = p.runs; n-- > 0;)
                    if (p.bytes[n] == p.median) out->median = p.run[n];
            }
            free_peaks(&p);
        }
    }
    free(is_compared);
    return farthest > 0;
}
