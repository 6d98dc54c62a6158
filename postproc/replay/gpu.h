/* Events of device memory, and of what belongs to it: gpu.c takes them, and its parts, one a file,
 * what is theirs. */
#ifndef MPR_GPU_H
#define MPR_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "replay_state.h"

void mpr_gpu_init(struct mpr_gpu *g);
void mpr_gpu_free(struct mpr_gpu *g);
/* Every event of a heap from MPF_HEAP_PINNED on, and every operation from 48 on. */
void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

/* ---- gpu_comms.c: whose blocks NCCL's are: its ranges name the communicator at work. */

/* A PUSH, POP or RANGE_DATA has been applied. */
void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The block is the communicator's, unless that is told later. */
void mpr_gpu_suppose(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm);
/* The block's communicator may be told later; object: its number where it has a handle, else 0. */
void mpr_gpu_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object);

/* ---- gpu_graphs.c: captures, the graphs' executables, and who holds the memory pool that a
 * capture allocated from. */

/* CAPTURE_BEGIN, TORCH_CAPTURE; CAPTURE_END, TORCH_CAPTURE_END. */
void mpr_graph_capture(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_graph_capture_end(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Number of the capture that what the thread makes now belongs to; 0: none. */
uint32_t mpr_graph_under_way(const struct mpr_thread *t);
/* The block was made; is it a capture's? */
void mpr_graph_count(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch);
/* PyTorch's graph object gives up its pool. */
void mpr_graph_reset(struct mpr_gpu *g, uint64_t graph, uint64_t time);
/* A GPU_RETURN, and the growth of used bytes that belongs to it. */
void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                    int64_t growth);
/* Until when a graph holds the memory that was made in the capture, ns; UINT64_MAX: still.  After
 * that it is the allocator's to reuse.  Pools are shared: the last graph decides.  capture 0: no
 * graph's. */
uint64_t mpr_graph_until(const struct mpr_gpu *g, uint32_t capture);
/* Does it then? */
bool mpr_graph_holds(const struct mpr_gpu *g, uint32_t capture, uint64_t time);

/* ---- gpu_handles.c: physical memory with handles (cuMemCreate): references and mappings are
 * counted, and the bytes leave the books with the last of them.  What is mapped where memory of the
 * same library was unmapped is that memory, awake: PyTorch's segment or its communicator's. */

bool mpr_handle_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_handle_import(struct mpr_replay *r, const struct mpf_event *e);
/* One more reference; the handle may be a new name of the memory that is mapped at `at`. */
void mpr_handle_retain(struct mpr_replay *r, uint64_t handle, uint64_t at);
void mpr_handle_drop(struct mpr_replay *r, uint64_t handle);
void mpr_handle_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes);
void mpr_handle_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes);

/* ---- gpu_hidden.c: memory that no allocation names: how much more is used after a call than
 * before, less what was tracked meanwhile. */

void mpr_hidden_enter(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_hidden_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Cuts parts of the device to what the process itself can have; returns true if it did. */
bool mpr_hidden_cut(const struct mpr_gpu_device *d, int64_t *part);
/* The driver refused memory while `used` bytes of the device were in use. */
void mpr_hidden_refused(struct mpr_replay *r, unsigned device, uint64_t used);
/* NVML's measurement. */
void mpr_hidden_sample(struct mpr_replay *r, const struct mpf_event *e);

/* ---- gpu_ooms.c: lack of device memory: a refusal of the driver is hard until who asked gets what
 * it wanted; PyTorch gives back its cache and asks again, and says itself when it gives up. */

/* GPU_FAIL */
void mpr_oom_driver(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* TORCH_OOM */
void mpr_oom_torch(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The thread has freed a driver block: after a refusal that is PyTorch giving back its cache. */
void mpr_oom_freed(struct mpr_replay *r, const struct mpr_thread *t, uint64_t bytes);
/* The thread has made a block. */
void mpr_oom_got_over(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b,
                      bool torch);
/* The newest that nobody got over; NULL: none. */
const struct mpr_oom *mpr_oom_newest(const struct mpr_gpu *g);
/* What the driver would have had to give for it: to PyTorch a segment. */
uint64_t mpr_oom_needed(const struct mpr_oom *oom);

/* ---- gpu_pools.c: stream-ordered pools and the memory of graphs: how much of a device each holds,
 * by who made it grow. */

/* A GPU_LEVEL: what was added belongs to its thread's ranges and to the call stack of its newest
 * block of a pool; what was given back is the newest. */
void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The device's pools and blocks together hold at most `limit` bytes: takes the excess from the
 * pools. In logs before 1.11 no event tells that the driver trimmed a pool. */
void mpr_pools_limit(struct mpr_replay *r, unsigned device, uint64_t limit);
void mpr_pools_free(struct mpr_gpu *g);

#endif
