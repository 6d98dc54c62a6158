/* Builds and parses short texts in a buffer: no allocation, no locale, any context. */
#ifndef MP_TEXT_H
#define MP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mp_text {
    char *buf;
    size_t cap, bytes;
    bool full;
};
#define MP_TEXT(array)                                                                             \
    {                                                                                              \
        (array), sizeof(array), 0, false                                                           \
    }

/* Append to the text, which always ends with 0. `full` is set if something did not fit. */
void mp_text_bytes(struct mp_text *t, const char *bytes, size_t n);
void mp_text_str(struct mp_text *t, const char *text);
void mp_text_u64(struct mp_text *t, uint64_t value);
/* Appends a size such as "12.3 MiB". */
void mp_text_size(struct mp_text *t, uint64_t bytes);

/* Parses "3.12.1 (main, ...)" as 3 and 12. Returns false if the text does not begin with a version,
 * or with numbers of 100 or more. */
bool mp_text_version(const char *text, unsigned part[2]);

/* Return the number that the text begins with, or 0 if it begins with none. */
uint64_t mp_text_decimal(const char *text);
uint64_t mp_text_hex(const char *text);

/* Parses the hexadecimal "from-to" at the beginning of a line of /proc/PID/maps. */
void mp_text_range(const char *text, uint64_t *from, uint64_t *to);

#endif
