/* PyTorch's segments at instants that a page keeps whole: those that its links go to, and of those
 * that are spread over the run as many as there is room for.  Part of the result of timeline. */
#ifndef MPR_SEGMENTS_KEPT_H
#define MPR_SEGMENTS_KEPT_H

#include "segments.h"

struct mpr_segments_then {
    struct mpr_segments segments; /* of one device */
    uint64_t since; /* ns: so they were all the time from `since` (after its events) on */
    size_t number;  /* from 1, of those that are spread; 0: a link goes there */
};

struct mpr_segments_kept {
    size_t most;                  /* segments of all instants */
    size_t rows, stride;          /* so many there are; of the spread ones each so-manieth stays */
    struct mpr_segments_then *at; /* by device, the spread ones in order of time */
    size_t count, cap;
};

/* With too many segments every second of those that are spread goes. */
void mpr_segments_keep(struct mpr_segments_kept *kept, const struct mpr_reader *reader,
                       const struct mpr_picture *picture, uint64_t since, size_t number);
void mpr_segments_kept_free(struct mpr_segments_kept *kept);

#endif
