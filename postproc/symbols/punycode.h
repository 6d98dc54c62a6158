/* Punycode (RFC 3492), as Rust's symbols have it: "_" before the last part in place of "-". Private
 * to this folder. */
#ifndef MPR_PUNYCODE_H
#define MPR_PUNYCODE_H

#include <stddef.h>

/* Puts UTF-8, without a zero, into out: its bytes; 0: it is none, or does not fit. */
size_t mpr_punycode(const char *text, size_t bytes, char *out, size_t cap);

#endif
