#include "gpu_blocks.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_gpu_blocks_free(struct mpr_gpu_blocks *b)
{
    free(b->at);
    mpr_index_free(&b->number);
}

struct mpr_gpu_block *mpr_gpu_blocks_find(const struct mpr_gpu_blocks *b, uint64_t addr)
{
    const uint32_t number = mpr_index_get(&b->number, addr);
    return number ? &b->at[number - 1] : NULL;
}

void mpr_gpu_blocks_put(struct mpr_gpu_blocks *b, const struct mpr_gpu_block *block)
{
    MPR_GROW(b->at, b->live, b->cap);
    b->at[b->live++] = *block;
    mpr_index_set(&b->number, block->addr, b->live);
}

bool mpr_gpu_blocks_take(struct mpr_gpu_blocks *b, uint64_t addr, struct mpr_gpu_block *out)
{
    struct mpr_gpu_block *at = mpr_gpu_blocks_find(b, addr);
    if (!at) return false;
    *out = *at;
    *at = b->at[--b->live];
    mpr_index_set(&b->number, at->addr, (uint32_t)(at - b->at) + 1);
    mpr_index_set(&b->number, addr, 0);
    return true;
}
