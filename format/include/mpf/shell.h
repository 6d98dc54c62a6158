/* Words that a person can copy into a shell, made without an allocator, in any context. */
#ifndef MPF_SHELL_H
#define MPF_SHELL_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the most bytes that a quoted word of a text of @bytes bytes needs, including its end. */
#define MPF_SHELL_BYTES(bytes) (4 * (bytes) + 4)

/* The word as a shell reads it: as it is where that is the same, else in single quotes; with
 * characters that are not to be shown, and bytes that are none, in bash's $'...'.  Never empty. */
void mpf_shell_word(char *out, const char *word, bool (*is_shown)(uint32_t code));

#endif
