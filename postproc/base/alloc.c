#include "alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 16 };

static void (*at_end)(void);
static const char *reading;

void mpr_alloc_on_failure(void (*end)(void)) { at_end = end; }

void mpr_alloc_fail(void)
{
    if (at_end) at_end();
    abort();
}

void mpr_alloc_set_path(const char *path) { reading = path; }
const char *mpr_alloc_path(void) { return reading; }

static void *checked(void *memory)
{
    if (!memory) mpr_alloc_fail();
    return memory;
}

void *mpr_alloc(size_t count, size_t size) { return checked(calloc(count ? count : 1, size)); }

void *mpr_resize(void *array, size_t count, size_t size)
{
    return checked(reallocarray(array, count ? count : 1, size));
}

char *mpr_text_copy(const char *text) { return checked(strdup(text)); }
char *mpr_text_copy_part(const char *text, size_t bytes) { return checked(strndup(text, bytes)); }

char *mpr_text_format(const char *format, ...)
{
    va_list list;
    char *text;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) mpr_alloc_fail();
    va_end(list);
    return text;
}

FILE *mpr_text_open(char **text, size_t *bytes) { return checked(open_memstream(text, bytes)); }

void mpr_text_close(FILE *stream)
{
    if (fclose(stream) != 0) mpr_alloc_fail();
}

/* Returns a capacity of at least @needed, and twice the old one if that is not above @max. */
static size_t next_capacity(size_t cap, size_t needed, size_t max)
{
    if (needed > max) mpr_alloc_fail();
    const size_t doubled = cap <= max / 2 ? cap * 2 : max;
    return doubled > needed ? doubled : needed;
}

void *mpr_grow(void *array, size_t *cap, size_t max, size_t size)
{
    if (*cap == max) mpr_alloc_fail();
    const size_t new_cap = next_capacity(*cap, MIN_CAPACITY, max);
    void *larger = mpr_resize(array, new_cap, size);
    *cap = new_cap;
    return larger;
}

void *mpr_reach(void *array, size_t index, size_t *count, size_t max, size_t size)
{
    if (index >= max) mpr_alloc_fail();
    const size_t needed = index < MIN_CAPACITY ? MIN_CAPACITY : index + 1;
    const size_t new_count = next_capacity(*count, needed, max);
    char *larger = mpr_resize(array, new_count, size);
    memset(larger + *count * size, 0, (new_count - *count) * size);
    *count = new_count;
    return larger;
}
