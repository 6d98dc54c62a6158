/* Every block, told once: when it is gone, or at the end where it lives.  An observer of replay;
 * what is counted by pages (host/mmap, host/shm) has no blocks.
 *
 * Memory: that of births.h a live block. */
#ifndef MPR_LEDGER_H
#define MPR_LEDGER_H

#include "births.h"

#define MPR_NOBODY UINT32_MAX

/* Who gave a block back: the thread, and the node of the ranges that were open on it.  thread
 * MPR_NOBODY: nobody did, or it is not known who. */
struct mpr_freer {
    uint32_t thread, node;
};

struct mpr_ledger_entry {
    uint64_t key;            /* of blocks.h */
    uint64_t size, from, to; /* ns; to UINT64_MAX: it lives */
    uint32_t cell;
    struct mpr_freer freer;
};

struct mpr_ledger {
    void (*tell)(void *arg, const struct mpr_ledger_entry *entry);
    void *arg;
    struct mpr_births live;
};

void mpr_ledger_free(struct mpr_ledger *ledger);
void mpr_ledger_born(struct mpr_ledger *ledger, uint64_t key, uint64_t size, uint32_t cell,
                     uint64_t time);
void mpr_ledger_gone(struct mpr_ledger *ledger, uint64_t key, uint64_t time,
                     struct mpr_freer freer);
/* After the last event: those that live, in no order. */
void mpr_ledger_end(struct mpr_ledger *ledger);

#endif
