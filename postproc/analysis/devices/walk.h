/* A walk over PyTorch's segments in a picture, by address: pieces of an expandable segment that
 * follow each other are one.  PyTorch gives back a piece in which nothing lives, wherever it lies
 * (unmap_block in c10/cuda/CUDACachingAllocator.cpp), and of other segments the whole.  Private to
 * this layer. */
#ifndef MPR_WALK_H
#define MPR_WALK_H

#include "reader.h"

struct mpr_walked {
    const struct mpr_gpu_block *piece; /* the first; a segment that does not expand is one */
    size_t pieces;
    bool expandable;
    uint64_t bytes, live, blocks;       /* blocks: that begin in it */
    uint64_t idle;                      /* bytes of pieces in which nothing lives */
    uint64_t hole, split_hole;          /* largest one; outside of idle pieces */
    const struct mpr_gpu_block *oldest; /* of those that lie in it; NULL: none does */
    size_t from, to;                    /* of the picture's PyTorch blocks: those that lie in it */
};

/* Zero but for these two before the first. */
struct mpr_walk {
    const struct mpr_sites *sites;
    const struct mpr_picture *picture;
    size_t driver, torch;
};

/* The next segment; false: there is none. */
bool mpr_walk_next(struct mpr_walk *w, struct mpr_walked *s);
/* Is this driver block one of PyTorch's segments, or a piece of one? */
bool mpr_walk_is_segment(const struct mpr_picture *p, const struct mpr_gpu_block *b);
/* Is memory that the library maps a piece of a segment?  PyTorch itself maps memory to let a
 * segment grow; a plug-in maps a segment at once. */
bool mpr_walk_expands(const struct mpr_sites *sites, uint32_t library);

#endif
