/* Texts that go on below where a line has no more room.  Private to this layer. */
#ifndef MPR_WRAP_H
#define MPR_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* A line that is being written. */
struct mpr_wrap {
    FILE *out;
    size_t width;  /* columns that it has; 0: as many as it takes */
    size_t hang;   /* what goes on below begins in this column */
    size_t column; /* where it ends */
};

/* Writes a harmless text behind what is there.  Words are never parted, short phrases between two
 * blanks and two blanks neither: what is too wide for any line stays whole, for it may be a path
 * that somebody copies. */
void mpr_wrap_words(struct mpr_wrap *wrap, const char *text);

#endif
