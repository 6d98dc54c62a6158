#include "growth.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "mpf/sample.h"

void mpr_growth_begin(struct mpr_growth_builder *b, struct mpr_arena *arena, size_t most)
{
    *b = (struct mpr_growth_builder){ .row = mpr_arena_alloc(arena, most * sizeof *b->row),
                                      .most = most };
}

void mpr_growth_add(struct mpr_growth_builder *b, struct mpr_path path, uint64_t before,
                    uint64_t after, bool estimated)
{
    if (b->rows < b->most)
        b->row[b->rows++] = (struct mpr_growth_row){ .path = path,
                                                     .before = mpr_amount(before),
                                                     .after = mpr_amount(after),
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
    const int64_t x = llabs(mpr_minus(a->after, a->before)),
                  y = llabs(mpr_minus(b->after, b->before));
    if (x != y) return x > y ? -1 : 1;
    return by_path(left, right);
}

static size_t merge(struct mpr_growth_row *row, size_t rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        if (n && by_path(&row[n - 1], &row[i]) == 0) {
            row[n - 1].before = mpr_plus(row[n - 1].before, row[i].before);
            row[n - 1].after = mpr_plus(row[n - 1].after, row[i].after);
            row[n - 1].estimated |= row[i].estimated;
        } else row[n++] = row[i];
    }
    return n;
}

static size_t drop_unchanged(struct mpr_growth_row *row, size_t rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++)
        if (row[i].before != row[i].after) row[n++] = row[i];
    return n;
}

void mpr_growth_end(struct mpr_growth_builder *b, struct mpr_growth *out)
{
    qsort(b->row, b->rows, sizeof *b->row, by_path);
    b->rows = drop_unchanged(b->row, merge(b->row, b->rows));
    out->row = b->row;
    out->rows = b->rows;
    qsort(out->row, out->rows, sizeof *out->row, by_change);
}

/* ---- two pictures */

const struct mpr_row *mpr_growth_blocks(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_picture *p, bool torch, size_t *rows)
{
    if (torch) return mpr_composition_torch(arena, reader, p, mpr_gpu_backed, rows);
    struct mpr_gpu_block *block = mpr_alloc(p->drivers, sizeof *block);
    size_t n = 0;
    for (size_t i = 0; i < p->drivers; i++)
        if (mpf_heap_code(p->driver[i].heap) == MPF_HEAP_DEVICE) block[n++] = p->driver[i];
    const struct mpr_row *row = mpr_composition_rows(arena, reader, block, n, rows);
    free(block);
    return row;
}

/* Do the rows above have these bytes already? */
static bool is_broken_down(enum mpr_use use, bool torch)
{
    return torch ? use == MPR_USE_TORCH_LIVE
                 : use >= MPR_USE_NCCL && use <= MPR_USE_OTHER_LIBRARIES;
}

static void add_parts(struct mpr_growth *out, struct mpr_arena *arena,
                      const struct mpr_device_state *before, const struct mpr_device_state *after,
                      bool torch)
{
    for (size_t i = 0; i < after->parts; i++) {
        const struct mpr_device_part *p = &after->part[i];
        const int64_t was = mpr_device_bytes(before, p->use);
        if (is_broken_down(p->use, torch) || was == p->bytes) continue;
        out->row[out->rows++] =
            (struct mpr_growth_row){ .key = p->key,
                                     .name = mpr_frame_named(arena, MPR_FRAME_LABEL, p->name),
                                     .before = was,
                                     .after = p->bytes };
    }
    qsort(out->row, out->rows, sizeof *out->row, by_change);
}

void mpr_growth_pictures(struct mpr_growth *out, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_picture *before,
                         const struct mpr_picture *after)
{
    struct mpr_device_state was, is;
    struct mpr_growth_builder b;
    size_t rows[2];
    const bool torch = before->torches || after->torches;
    mpr_composition(&was, arena, reader, before);
    mpr_composition(&is, arena, reader, after);
    const struct mpr_row *then = mpr_growth_blocks(arena, reader, before, torch, &rows[0]),
                         *now = mpr_growth_blocks(arena, reader, after, torch, &rows[1]);
    if (!was.valid || !is.valid) return;
    mpr_growth_begin(&b, arena, rows[0] + rows[1] + is.parts + was.parts);
    for (size_t i = 0; i < rows[0]; i++) mpr_growth_add(&b, then[i].path, then[i].bytes, 0, false);
    for (size_t i = 0; i < rows[1]; i++) mpr_growth_add(&b, now[i].path, 0, now[i].bytes, false);
    mpr_growth_end(&b, out);
    const bool measured = was.used != MPF_UNKNOWN && is.used != MPF_UNKNOWN;
    out->before = measured ? was.used : was.tracked;
    out->after = measured ? is.used : is.tracked;
    add_parts(out, arena, &was, &is, torch);
    out->valid = true;
    out->time = before->time;
}
