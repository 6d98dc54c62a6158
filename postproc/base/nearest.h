/* Of many words the one that somebody may have meant by another one. */
#ifndef MPR_NEAREST_H
#define MPR_NEAREST_H

#include <stddef.h>

struct mpr_nearest {
    const char *text; /* what was given */
    const char *word; /* the nearest so far; NULL: none is near */
    size_t letters;   /* that differ */
};

/* Two letters differ at most (added, left out or changed), and fewer than half of the word's. */
void mpr_nearest_try(struct mpr_nearest *nearest, const char *word);

#endif
