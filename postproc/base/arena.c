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
    size_t bytes;
    _Alignas(ALIGN) char data[];
};

static void add_block(struct mpr_arena *arena, size_t bytes)
{
    if (bytes < BLOCK_BYTES) bytes = BLOCK_BYTES;
    if (bytes > SIZE_MAX - sizeof(struct mpr_arena_block)) mpr_alloc_end();
    struct mpr_arena_block *block = mpr_alloc(1, sizeof *block + bytes);
    block->older = arena->newest;
    block->bytes = arena->left = bytes;
    arena->newest = block;
}

void *mpr_arena_alloc(struct mpr_arena *arena, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->newest || bytes > arena->left) add_block(arena, bytes);
    arena->left -= bytes;
    return arena->newest->data + arena->left;
}

const char *mpr_arena_text(struct mpr_arena *arena, const char *text)
{
    return text ? strcpy(mpr_arena_alloc(arena, strlen(text) + 1), text) : "";
}

const char *mpr_arena_vformat(struct mpr_arena *arena, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const size_t bytes = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
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
