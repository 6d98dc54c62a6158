#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGN 16u

struct mpr_arena_block {
    struct mpr_arena_block *older;
    size_t bytes;
    _Alignas(ALIGN) char data[];
};

static int add_block(struct mpr_arena *arena, size_t bytes)
{
    if (bytes < BLOCK_BYTES) bytes = BLOCK_BYTES;
    struct mpr_arena_block *block = calloc(1, sizeof *block + bytes);
    if (!block) return -1;
    block->older = arena->newest;
    block->bytes = arena->left = bytes;
    arena->newest = block;
    return 0;
}

void *mpr_arena_alloc(struct mpr_arena *arena, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((!arena->newest || bytes > arena->left) && add_block(arena, bytes) != 0) {
        arena->failed = true;
        return NULL;
    }
    arena->left -= bytes;
    return arena->newest->data + arena->left;
}

const char *mpr_arena_text(struct mpr_arena *arena, const char *text)
{
    if (!text) return "";
    char *copy = mpr_arena_alloc(arena, strlen(text) + 1);
    return copy ? strcpy(copy, text) : "";
}

const char *mpr_arena_format(struct mpr_arena *arena, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0) text = NULL;
    va_end(list);
    if (!text) arena->failed = true;
    const char *copy = mpr_arena_text(arena, text);
    free(text);
    return copy;
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
