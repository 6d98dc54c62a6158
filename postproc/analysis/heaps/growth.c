#include "growth.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "mpf/sample.h"
#include "reader.h"

void mpr_growth_add(struct mpr_growth *g, struct mpr_path path, uint64_t before, uint64_t after,
                    bool estimated)
{
    g->row[g->rows++] = (struct mpr_growth_row){ .path = path,
                                                 .before = mpr_saturating_signed(before),
                                                 .after = mpr_saturating_signed(after),
                                                 .estimated = estimated };
}

MPR_COMPARE(by_path, struct mpr_growth_row, mpr_frame_compare_paths(a->path, b->path))

MPR_COMPARE(by_change, struct mpr_growth_row,
            mpr_compare_signed(llabs(mpr_signed_sub(b->after, b->before)),
                               llabs(mpr_signed_sub(a->after, a->before)))
                ?: by_path(a, b))

void mpr_growth_end(struct mpr_growth *g)
{
    struct mpr_growth_row *row = g->row;
    size_t merged = 0;
    qsort(row, g->rows, sizeof *row, by_path);
    for (size_t i = 0; i < g->rows; i++) {
        if (!merged || by_path(&row[merged - 1], &row[i]) != 0) {
            row[merged++] = row[i];
            continue;
        }
        row[merged - 1].before = mpr_signed_add(row[merged - 1].before, row[i].before);
        row[merged - 1].after = mpr_signed_add(row[merged - 1].after, row[i].after);
        row[merged - 1].blocks_before += row[i].blocks_before;
        row[merged - 1].blocks_after += row[i].blocks_after;
        row[merged - 1].estimated |= row[i].estimated;
    }
    g->rows = 0;
    for (size_t i = 0; i < merged; i++)
        if (row[i].before != row[i].after) row[g->rows++] = row[i];
    qsort(row, g->rows, sizeof *row, by_change);
}

/* ---- two snapshots of a device */

static uint64_t driver_bytes(const struct mpr_gpu_block *b)
{
    return mpf_heap_code(b->heap) == MPF_HEAP_DEVICE ? b->size : 0;
}

const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_device_snapshot *p, bool torch,
                                        size_t *rows)
{
    if (torch)
        return mpr_device_block_rows(arena, reader, p->torch, p->torches, mpr_gpu_backed, rows);
    return mpr_device_block_rows(arena, reader, p->driver, p->drivers, driver_bytes, rows);
}

void mpr_growth_snapshots(struct mpr_growth *out, struct mpr_arena *arena,
                          const struct mpr_reader *reader, const struct mpr_device_snapshot *before,
                          const struct mpr_device_snapshot *after)
{
    struct mpr_device_state old, new;
    size_t old_rows, new_rows;
    const bool torch = before->torches || after->torches;
    mpr_device_fill_state(&old, arena, reader, before);
    mpr_device_fill_state(&new, arena, reader, after);
    const struct mpr_row *old_row = mpr_growth_blocks(arena, reader, before, torch, &old_rows),
                         *new_row = mpr_growth_blocks(arena, reader, after, torch, &new_rows);
    if (!old.valid || !new.valid) return;
    const bool measured = old.used != MPF_UNKNOWN && new.used != MPF_UNKNOWN;
    *out = (struct mpr_growth){ .valid = true,
                                .time = before->time,
                                .before = measured ? old.used : old.tracked,
                                .after = measured ? new.used : new.tracked };
    out->row = mpr_arena_alloc(arena, (old_rows + new_rows + new.parts) * sizeof *out->row);
    for (size_t i = 0; i < old_rows; i++)
        mpr_growth_add(out, old_row[i].path, old_row[i].bytes, 0, false);
    for (size_t i = 0; i < new_rows; i++)
        mpr_growth_add(out, new_row[i].path, 0, new_row[i].bytes, false);
    mpr_growth_end(out);
    /* parts of the account that the rows by range do not include */
    for (size_t i = 0; i < new.parts; i++) {
        const struct mpr_device_part *p = &new.part[i];
        const int64_t bytes_before = mpr_device_bytes(&old, p->use);
        const bool is_by_range = torch
                                     ? p->use == MPR_USE_TORCH_LIVE
                                     : p->use >= MPR_USE_NCCL && p->use <= MPR_USE_OTHER_LIBRARIES;
        if (is_by_range || bytes_before == p->bytes) continue;
        out->row[out->rows++] =
            (struct mpr_growth_row){ .key = p->key,
                                     .name = mpr_frame_named(arena, MPR_FRAME_LABEL, p->name),
                                     .before = bytes_before,
                                     .after = p->bytes };
    }
    qsort(out->row, out->rows, sizeof *out->row, by_change);
}
