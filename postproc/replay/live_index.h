/* An index of live blocks, for observers of replay that need the time, size and cell of each; and
 * the ledger, an observer that reports every block once.
 *
 * Blocks are identified by heap and address (blocks.h).  Places are reused.  Memory for each live
 * block: a place and two entries of the index, and twice that just after both have grown: 56 to 112
 * bytes. */
#ifndef MPR_LIVE_INDEX_H
#define MPR_LIVE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"

struct mpr_live_block {
    uint64_t time, size;
    uint32_t cell; /* MPR_NO_CELL: an unused place */
    union {
        uint32_t marks; /* the observer's marks before it was made */
        uint32_t next;  /* of an unused place: the next unused one + 1 */
    };
};
#define MPR_NO_CELL UINT32_MAX

/* All zero: empty. */
struct mpr_live_index {
    struct mpr_live_block *at; /* live blocks and unused places */
    uint32_t count, cap, free;
    struct mpr_index number; /* by key: place + 1 */
};

void mpr_live_index_free(struct mpr_live_index *live);
/* Adds a block.  Replaces one that is already at that key: its free was not recorded. */
void mpr_live_index_add(struct mpr_live_index *live, uint64_t key,
                        const struct mpr_live_block *block);
/* Moves the block into *block.  Returns false if it is unknown. */
bool mpr_live_index_take(struct mpr_live_index *live, uint64_t key, struct mpr_live_block *block);

/* ---- the ledger: an observer that reports every block once, when it is freed, or at the end if it
 * is still live.  Memory that is counted by pages (host/mmap, host/shm) has no blocks. */

#define MPR_NOBODY UINT32_MAX

/* The thread that freed a block, and the path of its open ranges.  thread is MPR_NOBODY if it is
 * unknown, or the block was not freed. */
struct mpr_freer {
    uint32_t thread, node;
};

struct mpr_ledger_entry {
    uint64_t key;            /* of blocks.h */
    uint64_t size, from, to; /* ns; to is UINT64_MAX for a live block */
    uint32_t cell;
    struct mpr_freer freer;
};

struct mpr_ledger {
    void (*report)(void *arg, const struct mpr_ledger_entry *entry);
    void (*allocated)(void *arg, uint64_t key, const struct mpr_live_block *block); /* or NULL */
    void *arg;
    struct mpr_live_index live; /* the caller frees it */
};

void mpr_ledger_remove(struct mpr_ledger *ledger, uint64_t key, uint64_t time,
                       struct mpr_freer freer);
/* Call after the last event: reports the live blocks, in no order. */
void mpr_ledger_end(struct mpr_ledger *ledger);

#endif
