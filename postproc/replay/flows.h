/* When blocks came and went: of each cell, how many bytes of blocks that came in one slice of the
 * run went in another one.  An observer of replay: it sees the births and ends of blocks.
 *
 * A heap's slices hold so many of its changes each, a power of two: one, until they are too many.
 * So sums are exact for any span that begins and ends with slices.  Memory is bounded but for
 * that of births.h a live block; a heap of more than MPR_FLOWS_BIRTHS blocks is no longer looked
 * at. */
#ifndef MPR_FLOWS_H
#define MPR_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "births.h"

enum { MPR_FLOW_SLICES = 1024, MPR_FLOW_ROWS = 1 << 17, MPR_FLOWS_BIRTHS = 1 << 24 };
#define MPR_FLOW_LIVES UINT32_MAX

struct mpr_flow {
    uint32_t whose;      /* a cell, or what the caller makes of it */
    uint32_t born, gone; /* slices; gone MPR_FLOW_LIVES: live at the end */
    uint64_t bytes, blocks;
};

/* Rows of one key are one. */
struct mpr_flow_table {
    struct mpr_flow *flow;
    uint32_t flows, cap;
    struct mpr_index number;        /* by hash of whose, born and gone: place + 1 */
    uint64_t time[MPR_FLOW_SLICES]; /* of each slice's first change, ns */
    uint32_t slices;
    unsigned shift; /* a slice holds 2^shift changes */
};

struct mpr_flow_heap {
    struct mpr_flow_table table;
    uint64_t changes, births;
    bool dropped;
};

struct mpr_flows {
    struct mpr_flow_heap *heap[256]; /* NULL: no block of it was seen */
    struct mpr_births live;          /* their times are numbers of changes */
};

struct mpr_flows *mpr_flows_new(void);
void mpr_flows_free(struct mpr_flows *flows);
/* key: of blocks.h */
void mpr_flows_born(struct mpr_flows *flows, uint64_t key, uint64_t size, uint32_t cell,
                    uint64_t time);
void mpr_flows_gone(struct mpr_flows *flows, uint64_t key, uint64_t time);
/* A heap that holds more than blocks, such as what pools keep: what blocks do is not all that
 * changes it. */
void mpr_flows_leave_out(struct mpr_flows *flows, uint8_t heap);
/* The blocks that live now: rows of each heap. */
void mpr_flows_end(struct mpr_flows *flows);

void mpr_flow_add(struct mpr_flow_table *table, const struct mpr_flow *flow);
/* Two slices become one. */
void mpr_flow_widen(struct mpr_flow_table *table);
void mpr_flow_table_free(struct mpr_flow_table *table);

#endif
