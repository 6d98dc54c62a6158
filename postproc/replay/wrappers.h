/* Ranges of PyTorch that stand for a call of Python, as "DistributedDataParallel.forward" does:
 * what is inside of them goes on with the frames inside that call, or everything that a wrapped
 * model does would have the wrapper's name. */
#ifndef MPR_WRAPPERS_H
#define MPR_WRAPPERS_H

#include <stdint.h>

#include "ranges.h"

enum { MPR_WRAPPER_PATHS = 1024 };

/* Paths that were found before: a block's is asked for each time.  All zero at first. */
struct mpr_wrappers {
    struct {
        uint32_t node, python, path;
    } found[MPR_WRAPPER_PATHS];
};

/* The node's path, with the frames of the Python path inside the one that has the name of the
 * node's range, if one has. */
uint32_t mpr_wrappers_path(struct mpr_wrappers *w, struct mpr_ranges *ranges, uint32_t node,
                           uint32_t python);

#endif
