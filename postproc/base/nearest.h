/* Finds the word of a list that is most similar to a given word, to suggest it in a message. */
#ifndef MPR_NEAREST_H
#define MPR_NEAREST_H

#include <stddef.h>

/* From the nearest to the farthest. */
enum mpr_nearness {
    MPR_NEAR_EQUAL,
    MPR_NEAR_PREFIX,  /* the word begins with the text */
    MPR_NEAR_NUMBERS, /* they differ only in numbers */
    MPR_NEAR_LETTERS  /* at most 2 letters, and fewer than half of the word's, were added, left out
                         or changed */
};

struct mpr_nearest {
    const char *text; /* the given word */
    const char *word; /* the nearest word so far, or NULL */
    enum mpr_nearness nearness;
    size_t letters; /* the number of different letters */
};

/* Keeps the word if it is nearer than the nearest so far.  Among words of the same nearness, one
 * with fewer different letters is nearer. */
void mpr_nearest_try(struct mpr_nearest *nearest, const char *word);

#endif
