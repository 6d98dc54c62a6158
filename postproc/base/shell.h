/* Command lines that a person can copy into a shell. */
#ifndef MPR_SHELL_H
#define MPR_SHELL_H

#include "arena.h"

/* The word as a shell reads it: as it is where that is the same, else in single quotes; with
 * control characters, and others that cannot be shown there, in bash's $'...'.  Never empty. */
const char *mpr_shell_word(struct mpr_arena *arena, const char *word);

#endif
