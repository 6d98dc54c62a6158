/* The table of blocks: an unordered array that is searched from the newest block. */
#include <stdlib.h>
#include <sys/mman.h>

#include "fake.h"

static struct fake_block *blocks;
static size_t count, capacity;

struct fake_block *fake_block_find(CUdeviceptr address)
{
    for (size_t i = count; i-- > 0;) {
        if (blocks[i].address == address) return &blocks[i];
    }
    return NULL;
}

struct fake_block *fake_block_around(CUdeviceptr address)
{
    for (size_t i = count; i-- > 0;) {
        if (address - blocks[i].address < blocks[i].size) return &blocks[i];
    }
    return NULL;
}

CUresult fake_block_add(struct fake_block block)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 1024;
        blocks = realloc(blocks, capacity * sizeof *blocks);
        if (!blocks) abort();
    }
    blocks[count++] = block;
    return CUDA_SUCCESS;
}

void fake_block_remove(struct fake_block *block) { *block = blocks[--count]; }

void fake_block_free(struct fake_block *block)
{
    switch (block->kind) {
    case FAKE_DEVICE:
    case FAKE_ARRAY:
        fake_give(fake_device(block->context->device), block->size);
        fake_address_give(block->address, block->size);
        break;
    case FAKE_MANAGED:
    case FAKE_PINNED: munmap((void *)block->address, block->size); break;
    case FAKE_POOLED:
        fake_pool_give_back(block->pool, block->size);
        fake_address_give(block->address, block->size);
        break;
    case FAKE_GRAPH: fake_graph_memory_free(block); break;
    case FAKE_REGISTERED: break;
    }
    fake_block_remove(block);
}

void fake_block_end_context(CUcontext context)
{
    for (size_t i = count; i-- > 0;) {
        if (blocks[i].context == context) fake_block_free(&blocks[i]);
    }
}

struct fake_block *fake_block_of_exec(uint32_t exec)
{
    for (size_t i = count; i-- > 0;) {
        if (blocks[i].kind == FAKE_GRAPH && blocks[i].exec == exec) return &blocks[i];
    }
    return NULL;
}
