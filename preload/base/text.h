/* Short texts, built in a buffer and read: no allocation, no locale, any context. */
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

/* Append; the text always ends with 0, and `full` says that something did not fit. */
void mp_text_bytes(struct mp_text *t, const char *bytes, size_t n);
void mp_text_str(struct mp_text *t, const char *text);
void mp_text_u64(struct mp_text *t, uint64_t value);
/* "12.3 MiB" */
void mp_text_size(struct mp_text *t, uint64_t bytes);

/* "3.12.1 (main, ...)": 3 and 12; false: it does not begin with a version, or with one of numbers
 * from 100 on. */
bool mp_text_version(const char *text, unsigned part[2]);

/* Reads "from-to", hexadecimal, as lines of /proc/PID/maps begin. */
void mp_text_range(const char *text, uint64_t *from, uint64_t *to);

#endif
