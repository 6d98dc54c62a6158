#include "alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 16 };

static void (*at_end)(void);
static const char *reading;

void mpr_alloc_at_end(void (*end)(void)) { at_end = end; }

void mpr_alloc_end(void)
{
    if (at_end) at_end();
    abort();
}

void mpr_alloc_for(const char *path) { reading = path; }
const char *mpr_alloc_path(void) { return reading; }

static void *given(void *memory)
{
    if (!memory) mpr_alloc_end();
    return memory;
}

void *mpr_alloc(size_t count, size_t size) { return given(calloc(count ? count : 1, size)); }

void *mpr_resize(void *array, size_t count, size_t size)
{
    return given(reallocarray(array, count ? count : 1, size));
}

char *mpr_text_copy(const char *text) { return given(strdup(text)); }
char *mpr_text_part(const char *text, size_t bytes) { return given(strndup(text, bytes)); }

char *mpr_text_format(const char *format, ...)
{
    va_list list;
    char *text;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) mpr_alloc_end();
    va_end(list);
    return text;
}

FILE *mpr_text_open(char **text, size_t *bytes) { return given(open_memstream(text, bytes)); }

void mpr_text_close(FILE *stream)
{
    if (fclose(stream) != 0) mpr_alloc_end();
}

/* Room for more than `cap`, and at least for `least`. */
static size_t more_than(size_t cap, size_t least, size_t most)
{
    if (least > most) mpr_alloc_end();
    const size_t doubled = cap <= most / 2 ? cap * 2 : most;
    return doubled > least ? doubled : least;
}

void *mpr_grow(void *array, size_t *cap, size_t most, size_t size)
{
    if (*cap == most) mpr_alloc_end();
    const size_t more = more_than(*cap, FIRST, most);
    void *larger = mpr_resize(array, more, size);
    *cap = more;
    return larger;
}

void *mpr_reach(void *array, size_t index, size_t *count, size_t most, size_t size)
{
    if (index >= most) mpr_alloc_end();
    const size_t more = more_than(*count, index < FIRST ? FIRST : index + 1, most);
    char *larger = mpr_resize(array, more, size);
    memset(larger + *count * size, 0, (more - *count) * size);
    *count = more;
    return larger;
}
