#include "breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "lives.h"
#include "roles.h"

void mpr_breakdown_free(struct mpr_breakdown *breakdown) { mpr_arena_free(&breakdown->arena); }

/* A block at the instant, with what decides its role. */
struct told {
    const struct mpr_block_life *life;
    struct mpr_role_life of;
    enum mpr_role role;
    uint32_t key;           /* node of its Python stack, else of its ranges */
    uint64_t bytes, blocks; /* of this role; blocks 0: it is counted with another part of it */
};

/* ---- roles */

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* PyTorch's allocator splits off no rest below 1 MiB, so blocks of one request may differ by less
 * than that (c10/cuda/CUDACachingAllocator.cpp). */
static bool is_as_large(const uint64_t *size, size_t sizes, uint64_t wanted)
{
    const uint64_t rest = wanted > UINT64_C(1) << 20 ? (UINT64_C(1) << 20) - 1 : 0;
    size_t low = 0, high = sizes;
    while (low < high) { /* the first that is not too small */
        const size_t middle = low + (high - low) / 2;
        if (size[middle] + rest < wanted) low = middle + 1;
        else high = middle;
    }
    return low < sizes && size[low] <= wanted + rest;
}

/* What may have a gradient: parameters; where the only pass does not tell them all, what was there
 * before it. */
static bool has_gradient(const struct told *told)
{
    return told->role == MPR_ROLE_PARAMETERS ||
           (told->of.only_pass && told->of.made.phase == MPR_PHASE_SETUP);
}

/* What a backward pass made and nobody gave back: gradients that are set to zero, or workspaces. */
static void tell_kept(struct told *told, size_t count)
{
    uint64_t *size = mpr_alloc(count, sizeof *size);
    size_t sizes = 0;
    for (size_t i = 0; i < count; i++)
        if (has_gradient(&told[i])) size[sizes++] = told[i].life->block.size;
    qsort(size, sizes, sizeof *size, by_number);
    for (size_t i = 0; i < count; i++) {
        if (!mpr_role_is_left_by_backward(&told[i].of)) continue;
        told[i].of.as_parameter = is_as_large(size, sizes, told[i].life->block.size);
        told[i].role = mpr_role_of(&told[i].of);
    }
    free(size);
}

static int by_stack(const void *left, const void *right)
{
    const struct told *a = *(struct told *const *)left, *b = *(struct told *const *)right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->life->block.size != b->life->block.size)
        return a->life->block.size < b->life->block.size ? -1 : 1;
    return 0;
}

/* Rejects workspaces that the same calls made more than once. */
static void tell_repeated(struct told *told, size_t count)
{
    struct told **kept = mpr_alloc(count, sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (told[i].role == MPR_ROLE_WORKSPACES) kept[n++] = &told[i];
    qsort(kept, n, sizeof *kept, by_stack);
    for (size_t i = 0; i < n; i++) {
        kept[i]->of.repeated = (i && by_stack(&kept[i - 1], &kept[i]) == 0) ||
                               (i + 1 < n && by_stack(&kept[i], &kept[i + 1]) == 0);
        kept[i]->role = mpr_role_of(&kept[i]->of);
    }
    free(kept);
}

static struct told *tell(struct mpr_lives *lives, const struct mpr_replay *r, bool broken_off,
                         const struct mpr_block_life *life, size_t count)
{
    struct told *told = mpr_alloc(2 * count, sizeof *told); /* a part of a block may sleep */
    const bool trains = lives->phases.now.passes || lives->phases.now.steps;
    for (size_t i = 0; i < count; i++) {
        const struct mpr_gpu_block *b = &life[i].block;
        const unsigned says = mpr_torch_says(&lives->phases.names, &r->ranges, b->python) |
                              mpr_torch_innermost_says(&r->ranges, b->python);
        const bool went_last = mpr_lives_went_last(lives, &life[i]);
        const struct mpr_role_life of = { .made = life[i].made,
                                          .gone = life[i].gone,
                                          .lives = life[i].lives || (!trains && went_last),
                                          .went_last = went_last,
                                          .says = says,
                                          .no_pass = lives->phases.now.phase == MPR_PHASE_SETUP,
                                          .only_pass = lives->phases.now.passes == 1,
                                          .broken_off = broken_off,
                                          .captured = life[i].captured,
                                          .under = life[i].under };
        told[i] = (struct told){ .life = &life[i],
                                 .of = of,
                                 .role = mpr_role_of(&of),
                                 .key = b->python ? b->python : b->node,
                                 .bytes = b->size,
                                 .blocks = 1 };
    }
    if (!lives->returns_grads || lives->phases.now.passes == 1) tell_kept(told, count);
    tell_repeated(told, count);
    return told;
}

/* ---- what sleeps */

static int by_address(const void *key, const void *block)
{
    const uint64_t a = *(const uint64_t *)key, b = ((const struct mpr_gpu_block *)block)->addr;
    return a < b ? -1 : a > b;
}

/* Of a block's bytes in the picture; 0: it is not in it. */
static uint64_t asleep_in(const struct mpr_picture *p, const struct mpr_gpu_block *b)
{
    const struct mpr_gpu_block *then =
        p->torches ? bsearch(&b->addr, p->torch, p->torches, sizeof *p->torch, by_address) : NULL;
    return then && then->birth == b->birth ? then->asleep : 0;
}

/* Whatever a block is for, what of it sleeps is a role of its own.  Returns how many there are. */
static size_t take_asleep(struct told *told, size_t count, const struct mpr_picture *p)
{
    size_t all = count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t asleep = asleep_in(p, &told[i].life->block);
        struct told *part = &told[i];
        if (!asleep) continue;
        if (asleep < part->bytes) {
            part->bytes -= asleep;
            part = &told[all++];
            *part = told[i];
            part->bytes = asleep;
            part->blocks = 0;
        }
        part->role = MPR_ROLE_ASLEEP;
    }
    return all;
}

/* ---- sums */

static void add_up(struct mpr_role_share *share, const struct told *told)
{
    const struct mpr_gpu_block *b = &told->life->block;
    if (!share->bytes || b->time < share->oldest) share->oldest = b->time;
    if (!share->bytes || b->time > share->newest) share->newest = b->time;
    share->bytes += told->bytes;
    share->blocks += told->blocks;
}

static uint64_t bucket_bytes(const struct told *told, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (told[i].role == MPR_ROLE_GRADIENTS && told[i].of.says & MPR_SAYS_BUCKET)
            bytes += told[i].bytes;
    return bytes;
}

static int by_key(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_bytes(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

/* Of blocks of one role, sorted by key. */
static void fill_share(struct mpr_role_share *share, struct mpr_arena *arena,
                       const struct mpr_reader *reader, const struct told *told, size_t count)
{
    struct mpr_row *row = mpr_arena_alloc(arena, count * sizeof *row);
    for (size_t i = 0; i < count; i++) {
        if (!i || told[i].key != told[i - 1].key) {
            struct mpr_row *new = &row[share->rows++];
            new->path = mpr_label_node(arena, reader, told[i].key);
        }
        row[share->rows - 1].bytes += told[i].bytes;
        row[share->rows - 1].blocks += told[i].blocks;
        add_up(share, &told[i]);
    }
    qsort(row, share->rows, sizeof *row, by_bytes);
    share->row = row;
}

static void fill_heap(struct mpr_breakdown *breakdown, struct mpr_lives *lives,
                      const struct mpr_reader *reader, unsigned device)
{
    const struct mpr_replay *r = &reader->replay;
    const uint8_t code = mpf_heap_gpu(MPF_HEAP_TORCH, device);
    const struct mpr_heap *heap = &r->books.heap[code];
    size_t count;
    struct mpr_block_life *life = mpr_lives_end(lives, r, device, &count);
    const bool broken_off = breakdown->summary.end != MPF_END_EXIT;
    struct told *told = tell(lives, r, broken_off, life, count);
    const struct mpr_moment *instant = &lives->device[device].instant;
    struct mpr_breakdown_heap *out = &breakdown->heap[breakdown->heaps++];
    *out = (struct mpr_breakdown_heap){ .device = device,
                                        .heap = code,
                                        .bytes = heap->peak_bytes,
                                        .blocks = heap->peak_blocks,
                                        .time = heap->peak_time,
                                        .phase = instant->phase,
                                        .steps = instant->steps,
                                        .passes = instant->passes };
    const struct mpr_picture *picture = &r->gpu.device[device].peak;
    for (size_t i = 0; picture->valid && i < picture->torches; i++)
        out->asleep += picture->torch[i].asleep;
    out->asleep_time = picture->time;
    if (out->asleep && picture->mappings == lives->device[device].mappings)
        count = take_asleep(told, count, picture);
    out->bucket_bytes = bucket_bytes(told, count);
    qsort(told, count, sizeof *told, by_key);
    for (size_t i = 0, role = 0; role < MPR_ROLES; role++) {
        const size_t first = i;
        while (i < count && told[i].role == role) i++;
        out->role[role].role = (enum mpr_role)role;
        fill_share(&out->role[role], &breakdown->arena, reader, &told[first], i - first);
    }
    free(told);
    free(life);
}

/* ---- readings */

struct mpr_breakdown_reading {
    struct mpr_breakdown *out;
    struct mpr_lives lives;
    const char *path;
};

struct mpr_breakdown_reading *mpr_breakdown_begin_at(struct mpr_breakdown *breakdown,
                                                     const char *path, struct mpr_instant at)
{
    struct mpr_breakdown_reading *b = mpr_alloc(1, sizeof *b);
    *breakdown = (struct mpr_breakdown){ .at = at };
    *b = (struct mpr_breakdown_reading){ .out = breakdown, .path = path };
    return b;
}

void mpr_breakdown_see(void *reading, struct mpr_reader *reader)
{
    struct mpr_breakdown_reading *b = reading;
    mpr_lives_free(&b->lives);
    b->lives = (struct mpr_lives){ 0 };
    reader->replay.options.backward_of = true; /* what a backward pass makes is named by its module
                                                */
    reader->replay.watch = (struct mpr_watch){ mpr_lives_see, &b->lives };
}

void mpr_breakdown_fill(void *reading, const struct mpr_reader *reader)
{
    struct mpr_breakdown_reading *b = reading;
    struct mpr_breakdown *out = b->out;
    mpr_reader_summary(reader, b->path, &out->arena, &out->summary);
    out->steps = b->lives.phases.now.steps;
    out->passes = b->lives.phases.now.passes;
    out->ran = b->lives.phases.now.phase != MPR_PHASE_SETUP;
    out->heap = mpr_arena_alloc(&out->arena, MPF_GPUS * sizeof *out->heap);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (reader->replay.books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, i)].allocations)
            fill_heap(out, &b->lives, reader, i);
}

void mpr_breakdown_end(struct mpr_breakdown_reading *reading)
{
    mpr_lives_free(&reading->lives);
    free(reading);
}

int mpr_breakdown_read(struct mpr_breakdown *breakdown, const char *path, struct mpr_instant at,
                       bool without_malloc, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    struct mpr_reader reader;
    struct mpr_breakdown_reading *b = mpr_breakdown_begin_at(breakdown, path, at);
    int status = mpr_reader_open(&reader, path, MPR_GROUP_AUTO, at, error);
    if (status == 0) {
        reader.replay.options.without_malloc = without_malloc;
        mpr_breakdown_see(b, &reader);
        status = mpr_reader_replay(&reader, path, progress, error);
    }
    if (status == 0) {
        mpr_breakdown_fill(b, &reader);
        mpr_reader_close(&reader);
    }
    mpr_breakdown_end(b);
    return status;
}
