#include "info.h"

#include <stdlib.h>

#include "amount.h"
#include "labels.h"
#include "reader.h"
#include "replay.h"

struct mpr_info_thread mpr_info_thread(struct mpr_arena *arena, const struct mpr_replay *r,
                                       uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    struct mpr_info_thread thread = { .name = mpr_label_thread(arena, r, number),
                                      .number = number,
                                      .ended_ns = UINT64_MAX };
    if (!t) return thread;
    thread.tid = t->tid;
    thread.first_ns = t->first_ns;
    thread.ended = t->ended;
    if (t->ended) thread.ended_ns = t->ended_ns;
    return thread;
}

struct mpr_info_thread *mpr_info_threads(struct mpr_arena *arena, const struct mpr_replay *r,
                                         size_t *threads)
{
    struct mpr_info_thread *thread = mpr_arena_alloc(arena, r->threads.count * sizeof *thread);
    *threads = 0;
    for (uint32_t i = 0; i < r->threads.count; i++)
        if (r->threads.at[i]) thread[(*threads)++] = mpr_info_thread(arena, r, i);
    return thread;
}

/* ---- heaps that libraries registered with NVTX */

static const char *heap_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name)
{
    switch (name) {
    case MPR_NVTX_UNNAMED: return "(no name)";
    case MPR_NVTX_PROCESS: return "(in no heap)";
    case MPR_NVTX_UNREGISTERED: return "(heap not known)";
    case MPR_NVTX_OTHER: return "(further heaps)";
    default: return mpr_label_name(arena, r, name, 0);
    }
}

MPR_COMPARE(by_peak, struct mpr_info_nvtx,
            mpr_compare(b->peak_bytes, a->peak_bytes)
                ?: mpr_compare(b->allocations, a->allocations))

static const struct mpr_info_nvtx *nvtx_heaps(struct mpr_arena *arena, const struct mpr_replay *r,
                                              size_t *count)
{
    *count = r->nvtx.rows;
    if (!*count) return NULL;
    struct mpr_info_nvtx *sum = mpr_arena_alloc(arena, *count * sizeof *sum);
    for (uint32_t i = 0; i < *count; i++) {
        const struct mpr_nvtx_row *row = &r->nvtx.row[i];
        sum[i] = (struct mpr_info_nvtx){ .heap = heap_name(arena, r, row->name),
                                         .heaps = row->heaps,
                                         .resets = row->resets,
                                         .size = row->most_bytes };
        if (!r->nvtx.accounts) continue; /* no heap has a region */
        const struct mpr_heap *heap = &r->nvtx.accounts->heap[i + 1];
        sum[i].peak_bytes = heap->peak_bytes;
        sum[i].peak_blocks = heap->peak_blocks;
        sum[i].peak_time = heap->peak_time;
        sum[i].end_bytes = heap->bytes;
        sum[i].end_blocks = heap->blocks;
        sum[i].allocations = heap->allocations;
    }
    qsort(sum, *count, sizeof *sum, by_peak);
    return sum;
}

/* Returns the named regions, and the regions without a name of heaps that have named ones. */
static const struct mpr_info_nvtx *nvtx_regions(struct mpr_arena *arena, const struct mpr_replay *r,
                                                size_t *count)
{
    const struct mpr_accounts *accounts = r->nvtx.accounts;
    bool named[MPR_HEAPS] = { false };
    *count = 0;
    if (!accounts) return NULL;
    for (uint32_t i = 0; i < accounts->cells; i++)
        if (accounts->cell[i].key != MPR_NVTX_UNNAMED) named[accounts->cell[i].heap] = true;
    struct mpr_info_nvtx *sum = mpr_arena_alloc(arena, accounts->cells * sizeof *sum);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        const uint32_t name = (uint32_t)cell->key;
        if (!named[cell->heap] || !cell->allocations) continue;
        sum[(*count)++] = (struct mpr_info_nvtx){
            .heap = heap_name(arena, r, r->nvtx.row[cell->heap - 1].name),
            .region = name ? mpr_label_name(arena, r, name, 0) : "(no name)",
            .peak_bytes = mpr_accounts_at_peak(accounts, cell).bytes,
            .peak_blocks = mpr_accounts_at_peak(accounts, cell).blocks,
            .peak_time = accounts->heap[cell->heap].peak_time,
            .end_bytes = cell->bytes,
            .end_blocks = cell->blocks,
            .allocations = cell->allocations,
        };
    }
    qsort(sum, *count, sizeof *sum, by_peak);
    return sum;
}

/* ---- all */

int mpr_info_read(struct mpr_info *info, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    struct mpr_reader reader;
    *info = (struct mpr_info){ 0 };
    if (mpr_reader_run(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    const struct mpr_replay *r = &reader.replay;
    const struct mpr_header *header = mpr_log_header(reader.log);
    mpr_reader_summary(&reader, path, &info->arena, &info->summary);
    info->header = mpr_arena_alloc(&info->arena, header->pairs * sizeof *info->header);
    for (size_t i = 0; i < header->pairs; i++)
        info->header[info->headers++] =
            (struct mpr_info_pair){ mpr_arena_text(&info->arena, header->pair[i].key),
                                    mpr_arena_text(&info->arena, header->pair[i].value) };
    info->count = mpr_arena_alloc(&info->arena, 256 * sizeof *info->count);
    for (unsigned op = 0; op < 256; op++) {
        if (!r->count[op]) continue;
        const char *name = mpf_op_name(op), *text = mpf_op_text(op);
        info->count[info->counts++] =
            (struct mpr_info_count){ name ? name
                                          : mpr_arena_format(&info->arena, "operation %u", op),
                                     text ? text : "of a newer memprof; not used", r->count[op] };
    }
    info->thread = mpr_info_threads(&info->arena, r, &info->threads);
    info->heap = nvtx_heaps(&info->arena, r, &info->heaps);
    info->region = nvtx_regions(&info->arena, r, &info->regions);
    info->names = r->ranges.names.count;
    info->domains = r->ranges.domains.count;
    info->paths = r->ranges.nodes - 1;
    info->own_memory = r->samples.source[MPR_SOURCE_RSS].largest.value[MPF_RSS_MEMPROF];
    mpr_reader_close(&reader);
    return 0;
}

void mpr_info_free(struct mpr_info *info) { mpr_arena_free(&info->arena); }
