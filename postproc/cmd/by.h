/* --by and --heap of the reports that have them. */
#ifndef MPR_BY_H
#define MPR_BY_H

#include <argp.h>

#include "group.h"

#define MPR_BY_HELP \
    "auto (default: what tells most, of the program's ranges, PyTorch's, Python's call stacks, native ones, libraries), range, " \
    "stack, python, library, thread, size, heap or, of device memory, comm (NCCL's communicators) or graph (CUDA graphs' captures)"

#define MPR_BACKWARD_OF_HELP "memory that PyTorch's backward pass takes stands under the forward operator whose backward it is"

/* A usage error unless the text names a group. */
enum mpr_group mpr_by_parse(const char *arg, struct argp_state *state);
/* The name of a heap; a usage error that says what is wanted unless there is one of this name. */
const char *mpr_heap_parse(const char *arg, const char *wanted, struct argp_state *state);

#endif
