/* The sample of resident memory by kind of mapping (enum mpf_sample_resident) with the largest sum.
 */
#ifndef MPR_RESIDENT_H
#define MPR_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/sample.h"

enum { MPR_RESIDENT_KINDS = MPF_RESIDENT_MEMPROF + 1, MPR_RESIDENT_PATH = 128 };

/* The file with the most resident bytes of a kind of mapping. */
struct mpr_resident_file {
    uint64_t bytes;               /* 0: none is known */
    char path[MPR_RESIDENT_PATH]; /* only its end if it is longer */
};

/* The large blocks and mappings of one cell of the accounts. */
struct mpr_resident_cell {
    uint64_t bytes, resident, huge; /* huge: resident bytes in anonymous huge pages */
    uint32_t cell;                  /* number of the cell in the accounts */
    uint32_t replayed;              /* its number in the replay, before a projection */
};
enum { MPR_RESIDENT_CELLS = 32, MPR_RESIDENT_MAPPINGS = 16 };

struct mpr_resident {
    bool valid;
    uint64_t time;                      /* ns */
    uint64_t value[MPF_RESIDENT_COUNT]; /* bytes, and a number of stacks; 0: not known */
    uint64_t sum;                       /* of the kinds: RSS, bytes */
    uint64_t page_tables;               /* bytes, not in RSS; MPF_UNKNOWN */
    uint64_t anonymous; /* RSS that no file backs, as of the sample of RSS before it; MPF_UNKNOWN */
    uint64_t live_blocks, live_mappings; /* bytes of host/heap and host/mmap at that time */
    struct mpr_resident_file file[MPR_RESIDENT_KINDS];
    struct mpr_resident_cell cell[MPR_RESIDENT_CELLS]; /* owners of the largest mappings */
    unsigned cells, mappings;                          /* mappings: that were examined */
};

#endif
