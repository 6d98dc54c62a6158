/* Captures, the graphs' executables, and who holds the memory pool that a capture allocated from. */
#ifndef MPR_GPU_GRAPHS_H
#define MPR_GPU_GRAPHS_H

#include "replay_state.h"

/* CAPTURE_BEGIN, TORCH_CAPTURE; CAPTURE_END, TORCH_CAPTURE_END. */
void mpr_graph_capture(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_graph_capture_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The block was made; is it a capture's? */
void mpr_graph_count(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch);
/* PyTorch's graph object gives up its pool. */
void mpr_graph_reset(struct mpr_gpu *g, uint64_t graph, uint64_t time);
/* A GPU_RETURN, and the growth of used bytes that belongs to it. */
void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e, int64_t growth);
/* Does a graph hold the memory that was made in the capture, or is it the allocator's to reuse?  Pools are shared: the last
 * graph decides.  capture 0: no graph's. */
bool mpr_graph_holds(const struct mpr_gpu *g, uint32_t capture, uint64_t time);

#endif
