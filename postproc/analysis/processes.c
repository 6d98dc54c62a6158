#include "processes.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "index.h"
#include "labels.h"
#include "reader.h"
#include "reading.h"

void mpr_processes_free(struct mpr_processes *all)
{
    free(all->at);
    mpr_arena_free(&all->arena);
}

/* ---- one log */

static const char *title_of(struct mpr_arena *arena, const struct mpr_process_info *p)
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

static void fill_heaps(struct mpr_arena *arena, const struct mpr_books *books,
                       struct mpr_process *out)
{
    out->heap = mpr_arena_alloc(arena, MPR_HEAPS * sizeof *out->heap);
    out->host.name = out->gpu.name = "";
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &books->heap[i];
        if (!h->used) continue;
        const struct mpr_process_heap heap = { mpr_label_heap(arena, (uint8_t)i), h->peak_bytes,
                                               h->peak_time, h->bytes };
        out->heap[out->heaps++] = heap;
        if (heap.peak_bytes > out->peak_bytes) out->peak_bytes = heap.peak_bytes;
        if (i == MPF_HEAP_HOST) out->host = heap;
        if (mpf_heap_code(i) == MPF_HEAP_DEVICE && heap.peak_bytes > out->gpu.peak_bytes)
            out->gpu = heap;
    }
}

int mpr_processes_add(struct mpr_processes *all, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    MPR_GROW(all->at, all->count, all->cap);
    struct mpr_process *out = &all->at[all->count++];
    *out = (struct mpr_process){ .parent = MPR_NO_PROCESS,
                                 .executed = MPR_NO_PROCESS,
                                 .image_of = MPR_NO_PROCESS };
    mpr_reader_summary(&reader, path, &all->arena, &out->summary);
    out->title = title_of(&all->arena, &out->summary.process);
    fill_heaps(&all->arena, &reader.replay.books, out);
    out->rss_high = mpr_reading_rss_high(&reader.replay.samples, out->summary.hwm);
    mpr_reader_close(&reader);
    return 0;
}

/* ---- who is whose */

static int by_start(const void *left, const void *right)
{
    const struct mpr_summary *a = &((const struct mpr_process *)left)->summary,
                             *b = &((const struct mpr_process *)right)->summary;
    if (a->process.start_ns != b->process.start_ns)
        return a->process.start_ns < b->process.start_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* The logs before the one that is looked at, by the name of the file and by host and number. */
struct known {
    const struct mpr_process *at;
    struct mpr_index by_name, by_number;
};

static uint64_t number_key(const char *host, uint64_t pid)
{
    return mpr_hash_text(host) ^ mpr_hash(pid);
}

static size_t named(const struct known *k, const char *log)
{
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&k->by_name, mpr_hash_text(mpr_basename(log)));
         (number = mpr_probe_next(&p));)
        if (strcmp(mpr_basename(k->at[number - 1].summary.path), mpr_basename(log)) == 0)
            return number - 1;
    return MPR_NO_PROCESS;
}

/* The newest of that number: numbers are used again. */
static size_t numbered(const struct known *k, const char *host, uint64_t pid)
{
    const uint32_t number = pid ? mpr_index_get(&k->by_number, number_key(host, pid)) : 0;
    const struct mpr_process_info *p = number ? &k->at[number - 1].summary.process : NULL;
    return p && p->pid == pid && strcmp(p->host, host) == 0 ? number - 1 : MPR_NO_PROCESS;
}

static void relate(struct known *k, struct mpr_process *p, size_t index)
{
    const struct mpr_process_info *who = &p->summary.process;
    const size_t before = numbered(k, who->host, who->pid);
    if (before != MPR_NO_PROCESS && strcmp(k->at[before].summary.end_reason, "exec") == 0) {
        p->image_of = before;
        p->parent = k->at[before].parent;
    } else if (*who->parent_log) p->parent = named(k, who->parent_log);
    else p->parent = numbered(k, who->host, who->ppid);
    mpr_index_add(&k->by_name, mpr_hash_text(mpr_basename(p->summary.path)), (uint32_t)index + 1);
    if (who->pid)
        mpr_index_set(&k->by_number, number_key(who->host, who->pid), (uint32_t)index + 1);
}

/* A parent is before its child: claims of logs cannot make a circle. */
void mpr_processes_finish(struct mpr_processes *all)
{
    struct known k = { .at = all->at };
    if (all->count) qsort(all->at, all->count, sizeof *all->at, by_start);
    for (size_t i = 0; i < all->count; i++) {
        relate(&k, &all->at[i], i);
        if (all->at[i].image_of != MPR_NO_PROCESS) all->at[all->at[i].image_of].executed = i;
    }
    mpr_index_free(&k.by_name);
    mpr_index_free(&k.by_number);
}

void mpr_processes_read(struct mpr_processes *all, const char *const *path, size_t paths,
                        const struct mpr_progress *progress)
{
    struct mpr_error none;
    *all = (struct mpr_processes){ 0 };
    for (size_t i = 0; i < paths; i++) mpr_processes_add(all, path[i], progress, &none);
    mpr_processes_finish(all);
}
