/* The word of a list that is nearest to a word that is not in it, for "is ... meant?". */
#ifndef MPR_NEAREST_H
#define MPR_NEAREST_H

#include <stddef.h>

/* From the nearest to the least near. */
enum mpr_nearness {
    MPR_NEAR_EQUAL,
    MPR_NEAR_PREFIX,  /* the word begins with the text */
    MPR_NEAR_NUMBERS, /* they differ only in numbers */
    MPR_NEAR_LETTERS  /* at most 2 letters, and fewer than half of the word's, were added, left out
                         or changed */
};

struct mpr_nearest {
    const char *text; /* that was given */
    const char *word; /* the nearest so far; NULL: none is near */
    enum mpr_nearness nearness;
    size_t letters; /* that differ */
};

/* Takes the word if it is nearer than the nearest so far.  Of words of the same nearness the one
 * with the fewest other letters is the nearest, then the first. */
void mpr_nearest_try(struct mpr_nearest *nearest, const char *word);

#endif
