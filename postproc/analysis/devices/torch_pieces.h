/* Where PyTorch's segments lie, as its allocator sees them (torch_trace.h): pieces of memory by
 * address.  Private to this layer. */
#ifndef MPR_TORCH_PIECES_H
#define MPR_TORCH_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "intervals.h"

struct mpr_torch_piece {
    uint32_t site, capture;
    bool expandable;
    bool sleeps; /* a plug-in's: it may be unmapped, and is a segment as long as its addresses */
    bool gone;   /* the driver has its memory back, or it was never seen: blocks hold it */
    uint64_t blocks; /* live, that begin in it */
    uint32_t next_free;
};

/* Told of each that comes, and of each that goes, by address. */
struct mpr_torch_pieces {
    void (*comes)(void *arg, uint64_t addr, uint64_t size, const struct mpr_torch_piece *piece);
    void (*goes)(void *arg, uint64_t addr, uint64_t size, const struct mpr_torch_piece *piece);
    void *arg;
    struct mpr_intervals at; /* of pieces, by index */
    struct mpr_torch_piece *piece;
    uint32_t pieces, cap, free; /* free: number of a place that can be used again, from 1 */
};

void mpr_torch_pieces_free(struct mpr_torch_pieces *p);
/* Memory of a segment is there: what of it is not there yet comes. */
void mpr_torch_pieces_add(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size,
                          const struct mpr_torch_piece *piece);
/* The driver has it back: pieces that hold no blocks go, the others once they hold none.  Those
 * that sleep go only when their addresses are given back, too. */
void mpr_torch_pieces_drop(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size);
void mpr_torch_pieces_forget(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size);
/* A block is made: where no piece is, one comes.  It goes. */
void mpr_torch_pieces_hold(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size);
void mpr_torch_pieces_leave(struct mpr_torch_pieces *p, uint64_t addr);

#endif
