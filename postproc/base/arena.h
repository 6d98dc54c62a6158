/* Memory that is freed all at once, with its arena.  An arena of zeros is empty. */
#ifndef MPR_ARENA_H
#define MPR_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct mpr_arena {
    struct mpr_arena_block *newest;
    size_t left; /* bytes of the newest block that are free */
};

/* Returns zeroed memory, aligned for any type. */
void *mpr_arena_alloc(struct mpr_arena *arena, size_t bytes);
/* Returns a copy of the text, or "" for NULL. */
const char *mpr_arena_text(struct mpr_arena *arena, const char *text);
const char *mpr_arena_format(struct mpr_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *mpr_arena_vformat(struct mpr_arena *arena, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
void mpr_arena_free(struct mpr_arena *arena);

#endif
