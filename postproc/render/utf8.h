/* Text of unknown origin: what a recorded program calls its ranges may be any bytes. */
#ifndef MPR_UTF8_H
#define MPR_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Next code point of *at, which is moved on.  False for a byte that is not part of valid UTF-8: *code is that byte. */
bool mpr_utf8_next(const char **at, uint32_t *code);
/* Code points of valid UTF-8: its columns, for text without wide characters. */
size_t mpr_utf8_length(const char *text);
/* Must not reach a terminal as it is: controls, and marks that turn the direction of text. */
bool mpr_utf8_unsafe(uint32_t code);

#endif
