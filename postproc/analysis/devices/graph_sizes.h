/* Graphs by the number that varies in their ranges' names: a server captures one for each batch
 * size, "capture bs=8".  Private to this layer. */
#ifndef MPR_GRAPH_SIZES_H
#define MPR_GRAPH_SIZES_H

#include "arena.h"
#include "graphs.h"

/* Fills in the burst's sizes from its rows; none where no number varies. */
void mpr_graph_sizes(struct mpr_graph_burst *burst, struct mpr_arena *arena);

#endif
