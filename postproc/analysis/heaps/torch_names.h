/* What the names of PyTorch's ranges and of Python's frames say of memory: by node of the ranges,
 * each looked at once.  Private to this layer. */
#ifndef MPR_TORCH_NAMES_H
#define MPR_TORCH_NAMES_H

#include <stdint.h>

#include "ranges.h"

enum mpr_torch_says {
    MPR_SAYS_OPTIMIZER = 1, /* a range "Optimizer.step#..." is open */
    MPR_SAYS_BACKWARD = 2,  /* the run of a node of autograd is */
    MPR_SAYS_GATHER = 4,    /* one in which FSDP puts parameters together from their shards */
    MPR_SAYS_FORWARD = 8,   /* the stack has a call of an nn.Module */
    MPR_SAYS_MODULE = 16,   /* a method of a module, or what makes an object */
    MPR_SAYS_CACHE = 32,    /* its innermost calls are a cache's */
    MPR_SAYS_BUCKET = 64,   /* its innermost call is DistributedDataParallel's own */
    MPR_SAYS_BUILT = 128,   /* what makes a module of PyTorch's, or moves one, is in the stack */
    MPR_SAYS_LOOKED = 256
};

/* Zero before its first use. */
struct mpr_torch_names {
    uint16_t *says; /* by node */
    uint32_t nodes;
};

/* What the path says but for CACHE and BUCKET; 0 is said of the empty one alone.  node: of the
 * ranges, or of a Python stack. */
unsigned mpr_torch_says(struct mpr_torch_names *names, const struct mpr_ranges *ranges,
                        uint32_t node);
/* CACHE and BUCKET, of a Python stack. */
unsigned mpr_torch_innermost_says(const struct mpr_ranges *ranges, uint32_t node);
void mpr_torch_names_free(struct mpr_torch_names *names);

#endif
