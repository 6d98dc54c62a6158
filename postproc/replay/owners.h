/* Whose code allocated: object files, call stacks, and the first object file on a stack that is not CUDA's own or ours. */
#ifndef MPR_OWNERS_H
#define MPR_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#include "notes.h"

/* Kinds of owners.  PyTorch's caching allocator is libc10_cuda; libtorch_cuda's own allocations are a library's. */
enum mpr_owner { MPR_OWNER_PROGRAM, MPR_OWNER_TORCH, MPR_OWNER_NCCL, MPR_OWNER_LIBRARY, MPR_OWNERS };

struct mpr_module { uint64_t from, to; char *name; };

/* Files by name, without path and version: "libnccl"; number 0 is nobody known. */
struct mpr_file { char *name; enum mpr_owner kind; };

struct mpr_owners {
    struct mpr_module *module;      /* by `from` */
    size_t modules, module_cap;
    struct mpr_file *file;
    size_t files, file_cap;
    struct mpr_notes stacks;
};

void mpr_owners_free(struct mpr_owners *o);
/* The data of a MODULE event. */
void mpr_owners_module(struct mpr_owners *o, uint64_t from, const uint8_t *data, size_t bytes);
/* Number of the file that owns what is allocated in that call stack; 0: not known. */
uint32_t mpr_owners_of(struct mpr_owners *o, uint64_t stack);
enum mpr_owner mpr_owners_kind(const struct mpr_owners *o, uint32_t file);
/* NULL for number 0. */
const char *mpr_owners_name(const struct mpr_owners *o, uint32_t file);

#endif
