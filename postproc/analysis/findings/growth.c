#include "growth.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "mpf/sample.h"

void mpr_growth_begin(struct mpr_growth_builder *b, struct mpr_arena *arena, size_t max)
{
    *b = (struct mpr_growth_builder){ .row = mpr_arena_alloc(arena, max * sizeof *b->row),
                                      .max = max };
}

void mpr_growth_add(struct mpr_growth_builder *b, struct mpr_path path, uint64_t before,
                    uint64_t after, bool estimated)
{
    if (b->rows < b->max)
        b->row[b->rows++] = (struct mpr_growth_row){ .path = path,
                                                     .before = mpr_saturating_signed(before),
                                                     .after = mpr_saturating_signed(after),
                                                     .estimated = estimated };
}

static int by_path(const void *left, const void *right)
{
    const struct mpr_growth_row *a = left, *b = right;
    return mpr_frame_compare_paths(a->path, b->path);
}

static int by_change(const void *left, const void *right)
{
    const struct mpr_growth_row *a = left, *b = right;
    const int64_t x = llabs(mpr_signed_sub(a->after, a->before)),
                  y = llabs(mpr_signed_sub(b->after, b->before));
    if (x != y) return x > y ? -1 : 1;
    return by_path(left, right);
}

void mpr_growth_end(struct mpr_growth_builder *b, struct mpr_growth *out)
{
    struct mpr_growth_row *row = out->row = b->row;
    size_t merged = 0;
    qsort(row, b->rows, sizeof *row, by_path);
    for (size_t i = 0; i < b->rows; i++) {
        if (!merged || by_path(&row[merged - 1], &row[i]) != 0) {
            row[merged++] = row[i];
            continue;
        }
        row[merged - 1].before = mpr_signed_add(row[merged - 1].before, row[i].before);
        row[merged - 1].after = mpr_signed_add(row[merged - 1].after, row[i].after);
        row[merged - 1].estimated |= row[i].estimated;
    }
    out->rows = 0;
    for (size_t i = 0; i < merged; i++)
        if (row[i].before != row[i].after) row[out->rows++] = row[i];
    qsort(row, out->rows, sizeof *row, by_change);
}

/* ---- two snapshots of a device */

const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_device_snapshot *p, bool torch,
                                        size_t *rows)
{
    if (torch) return mpr_device_torch_rows(arena, reader, p, mpr_gpu_backed, rows);
    struct mpr_gpu_block *block = mpr_alloc(p->drivers, sizeof *block);
    size_t blocks = 0;
    for (size_t i = 0; i < p->drivers; i++)
        if (mpf_heap_code(p->driver[i].heap) == MPF_HEAP_DEVICE) block[blocks++] = p->driver[i];
    const struct mpr_row *row = mpr_device_block_rows(arena, reader, block, blocks, rows);
    free(block);
    return row;
}

/* Adds the parts of the account whose bytes are not in the rows by range. */
static void add_parts(struct mpr_growth *out, struct mpr_arena *arena,
                      const struct mpr_device_state *before, const struct mpr_device_state *after,
                      bool torch)
{
    for (size_t i = 0; i < after->parts; i++) {
        const struct mpr_device_part *p = &after->part[i];
        const int64_t bytes_before = mpr_device_bytes(before, p->use);
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

void mpr_growth_pictures(struct mpr_growth *out, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_device_snapshot *before,
                         const struct mpr_device_snapshot *after)
{
    struct mpr_device_state old, new;
    struct mpr_growth_builder b;
    size_t old_rows, new_rows;
    const bool torch = before->torches || after->torches;
    mpr_device_fill_state(&old, arena, reader, before);
    mpr_device_fill_state(&new, arena, reader, after);
    const struct mpr_row *old_row = mpr_growth_blocks(arena, reader, before, torch, &old_rows),
                         *new_row = mpr_growth_blocks(arena, reader, after, torch, &new_rows);
    if (!old.valid || !new.valid) return;
    mpr_growth_begin(&b, arena, old_rows + new_rows + new.parts + old.parts);
    for (size_t i = 0; i < old_rows; i++)
        mpr_growth_add(&b, old_row[i].path, old_row[i].bytes, 0, false);
    for (size_t i = 0; i < new_rows; i++)
        mpr_growth_add(&b, new_row[i].path, 0, new_row[i].bytes, false);
    mpr_growth_end(&b, out);
    const bool measured = old.used != MPF_UNKNOWN && new.used != MPF_UNKNOWN;
    out->before = measured ? old.used : old.tracked;
    out->after = measured ? new.used : new.tracked;
    add_parts(out, arena, &old, &new, torch);
    out->valid = true;
    out->time = before->time;
}
