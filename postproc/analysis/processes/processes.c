#include "processes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "basename.h"
#include "gpu.h"
#include "labels.h"
#include "reader.h"
#include "reading.h"
#include "run.h"

void mpr_processes_free(struct mpr_processes *all)
{
    free(all->at);
    mpr_arena_free(&all->arena);
}

/* ---- one log */

const char *mpr_process_title(struct mpr_arena *arena, const struct mpr_process_info *p)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = mpr_text_open(&text, &bytes);
    for (size_t i = 0; i < p->argc; i++)
        fprintf(out, "%s%s", i ? " " : "", i ? p->argv[i] : mpr_basename(p->argv[i]));
    mpr_text_close(out);
    const char *title = mpr_arena_text(arena, text);
    free(text);
    return title;
}

/* Adds a process with room for these heaps. The caller fills its summary. */
static struct mpr_process *add(struct mpr_processes *all, size_t heaps)
{
    MPR_GROW(all->at, all->count, all->cap);
    struct mpr_process *out = &all->at[all->count++];
    *out = (struct mpr_process){ .heap = mpr_arena_alloc(&all->arena, heaps * sizeof *out->heap),
                                 .rss_high = MPF_UNKNOWN,
                                 .parent = MPR_NO_PROCESS,
                                 .tree_parent = MPR_NO_PROCESS,
                                 .next_program = MPR_NO_PROCESS,
                                 .previous_program = MPR_NO_PROCESS };
    return out;
}

static void add_heap(struct mpr_process *out, const struct mpr_process_heap *heap)
{
    out->heap[out->heaps++] = *heap;
    if (heap->peak_bytes > out->peak_bytes) {
        out->peak_bytes = heap->peak_bytes;
        out->is_approximate = heap->is_approximate;
    }
    if (heap->heap == MPF_HEAP_HOST) out->host = *heap;
    if (mpr_heap_is_device(heap->heap) && heap->peak_bytes > out->gpu.peak_bytes) out->gpu = *heap;
}

int mpr_processes_add(struct mpr_processes *all, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    struct mpr_process *out = add(all, MPR_HEAPS);
    mpr_reader_summary(&reader, path, &all->arena, &out->summary);
    out->title = mpr_process_title(&all->arena, &out->summary.process);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &reader.replay.accounts.heap[i];
        const struct mpr_process_heap heap = { (uint8_t)i, h->peak_bytes, h->peak_time, h->bytes,
                                               mpr_label_is_approximate(&reader.replay,
                                                                        (uint8_t)i) };
        if (h->used) add_heap(out, &heap);
    }
    out->uuid = mpr_arena_alloc(&all->arena, MPF_GPUS * sizeof *out->uuid);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (mpr_gpu_is_known(&reader.replay, i))
            out->uuid[out->uuids++] = mpr_arena_text(&all->arena, reader.replay.gpu.device[i].uuid);
    out->rss_high = mpr_reading_rss_high(&reader.replay.samples, out->summary.hwm);
    mpr_reader_close(&reader);
    return 0;
}

void mpr_processes_add_read(struct mpr_processes *all, const struct mpr_summary *summary,
                            const struct mpr_process_heap *heap, size_t heaps)
{
    struct mpr_process *out = add(all, heaps);
    out->summary = *summary;
    out->title = mpr_process_title(&all->arena, &summary->process);
    for (size_t i = 0; i < heaps; i++) add_heap(out, &heap[i]);
}

void mpr_processes_read(struct mpr_processes *all, const char *const *path, size_t paths,
                        const struct mpr_progress *progress)
{
    struct mpr_error none;
    *all = (struct mpr_processes){ 0 };
    for (size_t i = 0; i < paths; i++) mpr_processes_add(all, path[i], progress, &none);
    mpr_processes_finish(all);
}

/* ---- runs */

/* Returns the length of the path's directory, with the slash. */
static size_t directory_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

static int is_log(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".zst") == 0;
}

/* Returns true if these are all the logs of one directory. */
static bool are_whole_directory(const struct mpr_processes *all)
{
    const char *first = all->at[0].summary.path;
    const size_t bytes = first ? directory_bytes(first) : 0;
    for (size_t i = 0; i < all->count; i++) {
        const char *path = all->at[i].summary.path;
        if (!first || directory_bytes(path) != bytes || strncmp(path, first, bytes) != 0)
            return false;
    }
    struct dirent **entry;
    char *directory = bytes ? mpr_text_copy_part(first, bytes) : mpr_text_copy(".");
    const int logs = scandir(directory, &entry, is_log, NULL);
    for (int i = 0; i < logs; i++) free(entry[i]);
    if (logs >= 0) free(entry);
    free(directory);
    return logs == (int)all->count;
}

bool mpr_process_is_in(const struct mpr_process *p, const struct mpr_process_run *run)
{
    return strcmp(mpr_summary_run(&p->summary), run->id) == 0;
}

static void find_runs(struct mpr_processes *all)
{
    const bool whole = are_whole_directory(all);
    struct mpr_run_process *known = mpr_alloc(all->count, sizeof *known);
    all->run = mpr_arena_alloc(&all->arena, all->count * sizeof *all->run);
    for (size_t i = 0; i < all->count; i++) {
        const struct mpr_process *p = &all->at[i];
        size_t k = 0, count = 0;
        while (k < all->runs && !mpr_process_is_in(p, &all->run[k])) k++;
        if (k < all->runs) continue;
        struct mpr_process_run *run = &all->run[all->runs++];
        *run = (struct mpr_process_run){ .id = mpr_summary_run(&p->summary) };
        if (!whole) continue;
        for (k = 0; k < all->count; k++) {
            const struct mpr_process_info *of = &all->at[k].summary.process;
            if (mpr_process_is_in(&all->at[k], run))
                known[count++] = (struct mpr_run_process){ of->host, of->pid, of->start_ns };
        }
        const struct mpr_run_without_log rest =
            mpr_run_without_log(all->at[0].summary.path, run->id, known, count);
        run->without_log =
            (struct mpr_without_log){ rest.processes, rest.unseen, rest.rss, rest.largest };
    }
    free(known);
}

MPR_COMPARE(by_start, struct mpr_process, mpr_process_tree_order(&a->summary, &b->summary))

void mpr_processes_finish(struct mpr_processes *all)
{
    if (!all->count) return;
    const struct mpr_summary **log = mpr_alloc(all->count, sizeof *log);
    struct mpr_process_tree *tree = mpr_alloc(all->count, sizeof *tree);
    qsort(all->at, all->count, sizeof *all->at, by_start);
    for (size_t i = 0; i < all->count; i++) log[i] = &all->at[i].summary;
    mpr_process_tree_find(log, all->count, tree);
    for (size_t i = 0; i < all->count; i++) {
        all->at[i].parent = tree[i].parent;
        all->at[i].tree_parent = tree[i].tree_parent;
        all->at[i].previous_program = tree[i].previous_program;
        if (tree[i].previous_program != MPR_NO_PROCESS)
            all->at[tree[i].previous_program].next_program = i;
    }
    find_runs(all);
    free(log);
    free(tree);
}

struct mpr_processes mpr_processes_of_run(const struct mpr_processes *all, struct mpr_arena *arena,
                                          const struct mpr_process_run *run)
{
    if (all->runs < 2) return *all;
    struct mpr_processes out = { .run = (struct mpr_process_run *)run, .runs = 1 };
    size_t *number = mpr_alloc(all->count, sizeof *number);
    out.at = mpr_arena_alloc(arena, all->count * sizeof *out.at);
    for (size_t i = 0; i < all->count; i++) {
        if (!mpr_process_is_in(&all->at[i], run)) continue;
        number[i] = out.count;
        out.at[out.count++] = all->at[i];
    }
    for (size_t i = 0; i < out.count; i++) {
        struct mpr_process *p = &out.at[i];
        size_t *const process[] = { &p->parent, &p->tree_parent, &p->next_program,
                                    &p->previous_program };
        for (size_t k = 0; k < sizeof process / sizeof *process; k++)
            if (*process[k] != MPR_NO_PROCESS) *process[k] = number[*process[k]];
    }
    free(number);
    return out;
}

const struct mpr_process_run *mpr_processes_run_of(const struct mpr_processes *all,
                                                   const char *path)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->at[i].summary.path, path) != 0) continue;
        for (size_t k = 0; k < all->runs; k++)
            if (mpr_process_is_in(&all->at[i], &all->run[k])) return &all->run[k];
    }
    return NULL;
}
