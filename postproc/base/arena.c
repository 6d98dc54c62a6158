#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGN       16u

struct mpr_arena_block {
    struct mpr_arena_block *older;
    _Alignas(ALIGN) char data[]; /* used from the end to the beginning */
};

void *mpr_arena_alloc(struct mpr_arena *arena, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->newest || bytes > arena->left) {
        const size_t block_bytes = bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;
        if (block_bytes > SIZE_MAX - sizeof(struct mpr_arena_block)) mpr_alloc_fail();
        struct mpr_arena_block *block = mpr_alloc(1, sizeof *block + block_bytes);
        block->older = arena->newest;
        arena->newest = block;
        arena->left = block_bytes;
    }
    arena->left -= bytes;
    return arena->newest->data + arena->left;
}

const char *mpr_arena_text(struct mpr_arena *arena, const char *text)
{
    return text ? strcpy(mpr_arena_alloc(arena, strlen(text) + 1), text) : "";
}

const char *mpr_arena_vformat(struct mpr_arena *arena, const char *format, va_list list)
{
    va_list copy;
    va_copy(copy, list);
    const size_t bytes = (size_t)vsnprintf(NULL, 0, format, copy) + 1;
    va_end(copy);
    char *text = mpr_arena_alloc(arena, bytes);
    vsnprintf(text, bytes, format, list);
    return text;
}

const char *mpr_arena_format(struct mpr_arena *arena, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *text = mpr_arena_vformat(arena, format, list);
    va_end(list);
    return text;
}

void mpr_arena_free(struct mpr_arena *arena)
{
    while (arena->newest) {
        struct mpr_arena_block *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    *arena = (struct mpr_arena){ 0 };
}
