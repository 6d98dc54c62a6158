#include "gpu_blocks.h"

#include <stdlib.h>

#include "hash.h"

enum { FIRST = 1024 };

int mpr_gpu_blocks_init(struct mpr_gpu_blocks *b)
{
    b->at = calloc(FIRST, sizeof *b->at);
    b->mask = FIRST - 1;
    b->live = 0;
    return b->at ? 0 : -1;
}

void mpr_gpu_blocks_free(struct mpr_gpu_blocks *b) { free(b->at); }

static struct mpr_gpu_block *place(const struct mpr_gpu_blocks *b, uint64_t addr)
{
    size_t i = mpr_hash(addr) & b->mask;
    while (b->at[i].addr && b->at[i].addr != addr) i = (i + 1) & b->mask;
    return &b->at[i];
}

struct mpr_gpu_block *mpr_gpu_blocks_find(const struct mpr_gpu_blocks *b, uint64_t addr)
{
    struct mpr_gpu_block *block = place(b, addr);
    return addr && block->addr ? block : NULL;
}

static int grow(struct mpr_gpu_blocks *b)
{
    const struct mpr_gpu_blocks old = *b;
    b->mask = old.mask * 2 + 1;
    b->at = calloc(b->mask + 1, sizeof *b->at);
    if (!b->at) {
        *b = old;
        return -1;
    }
    for (size_t i = 0; i <= old.mask; i++)
        if (old.at[i].addr) *place(b, old.at[i].addr) = old.at[i];
    free(old.at);
    return 0;
}

struct mpr_gpu_block *mpr_gpu_blocks_put(struct mpr_gpu_blocks *b, const struct mpr_gpu_block *block)
{
    if (b->live > b->mask / 2 && grow(b) != 0) return NULL;
    struct mpr_gpu_block *at = place(b, block->addr);
    *at = *block;
    b->live++;
    return at;
}

/* Closes the gap: moves back what would not be found behind it. */
static void close_gap(struct mpr_gpu_blocks *b, size_t gap)
{
    for (size_t i = (gap + 1) & b->mask; b->at[i].addr; i = (i + 1) & b->mask) {
        const size_t home = mpr_hash(b->at[i].addr) & b->mask;
        if (((i - home) & b->mask) < ((i - gap) & b->mask)) continue;
        b->at[gap] = b->at[i];
        gap = i;
    }
    b->at[gap].addr = 0;
}

bool mpr_gpu_blocks_take(struct mpr_gpu_blocks *b, uint64_t addr, struct mpr_gpu_block *out)
{
    struct mpr_gpu_block *at = mpr_gpu_blocks_find(b, addr);
    if (!at) return false;
    *out = *at;
    close_gap(b, (size_t)(at - b->at));
    b->live--;
    return true;
}
