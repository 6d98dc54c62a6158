/* Characters of names, which may be any bytes. */
#ifndef MPF_UTF8_H
#define MPF_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Next code point of *at, which is moved on.  False for a byte that is not part of valid UTF-8:
 * *code is that byte. */
bool mpf_utf8_next(const char **at, uint32_t *code);
/* Must not be shown as it is: controls, marks that turn the direction of text, and what cannot be
 * seen. */
bool mpf_utf8_unsafe(uint32_t code);

#endif
