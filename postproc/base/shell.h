/* Command lines that a person can copy into a shell. */
#ifndef MPR_SHELL_H
#define MPR_SHELL_H

#include "arena.h"

/* Quotes a word for a shell, if it must be: with single quotes, or with bash's $'...' if it has
 * characters that cannot be shown.  The result is never empty. */
const char *mpr_shell_word(struct mpr_arena *arena, const char *word);

#endif
