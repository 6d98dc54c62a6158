/* Device memory: events, queries, peaks and snapshots.
 *
 * A device's peak is the instant of its maximum used bytes, which are the newest measurement plus
 * the bytes allocated since then.  Of several such instants it is the one at which PyTorch held
 * most. Its snapshot has the blocks that were live at that instant. */
#ifndef MPR_GPU_H
#define MPR_GPU_H

#include <string.h>

#include "replay.h"

/* Returns the i-th u64 of an event's data, MPF_UNKNOWN if the data is shorter. */
static inline uint64_t mpr_gpu_word(const struct mpf_event *e, unsigned i)
{
    uint64_t v = MPF_UNKNOWN;
    if ((i + 1) * sizeof v <= e->size) memcpy(&v, e->data + i * sizeof v, sizeof v);
    return v;
}
/* Returns true if the event is about a block of PyTorch's allocator. */
static inline bool mpr_gpu_of_torch(const struct mpf_event *e)
{
    return mpf_heap_is_gpu(e->heap) && mpf_heap_code(e->heap) == MPF_HEAP_TORCH;
}

void mpr_gpu_init(struct mpr_gpu *g);
void mpr_gpu_free(struct mpr_gpu *g);
/* Applies an event of a heap from MPF_HEAP_PINNED on, or of an operation from 48 on. */
void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

/* ---- blocks and pools (gpu_blocks.c) */

/* Returns the Python stack of the block, or of its forward operator; 0 if neither is known. */
static inline uint32_t mpr_gpu_backward_python(const struct mpr_replay *r,
                                               const struct mpr_gpu_block *b)
{
    return mpr_sites_of(&r->sites, b->backward_site).python;
}
/* Returns the key of the block's cell. */
uint64_t mpr_gpu_key(const struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Fills *out with the block that the event allocates, and adds it to the accounts. */
void mpr_gpu_account(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                     struct mpr_gpu_block *out);
/* Removes the block from its cell. */
void mpr_gpu_accounts_remove(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Informs observers that the block got its address.  @from: when it became live, ns. */
void mpr_gpu_observe_mapped(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from);

void mpr_gpu_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_gpu_torch_free(struct mpr_replay *r, const struct mpf_event *e);
/* Free a block of the driver: when the call begins, when it returns, and when it failed. */
void mpr_gpu_free_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_gpu_free_end(struct mpr_replay *r, struct mpr_thread *t);
void mpr_gpu_free_failed(struct mpr_replay *r, struct mpr_thread *t);
/* Frees the blocks of a context that was destroyed. */
void mpr_gpu_free_context(struct mpr_replay *r, uint64_t context);
/* Applies GPU_LEVEL.  Growth is attributed to the thread's ranges and to the call stack of its
 * newest block of a pool.  The newest growth shrinks first. */
void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Shrinks the pools of a device, if pools and blocks together have more than `limit` bytes.  Logs
 * before 1.11 have no event for pools that the driver trims. */
void mpr_pools_limit(struct mpr_replay *r, unsigned device, uint64_t limit);

/* ---- communicators of NCCL's blocks (gpu_blocks.c) */

/* Applies SCHEMA. */
void mpr_comms_schema(struct mpr_comms *c, const struct mpf_event *e);
/* Call after a PUSH, POP or RANGE_DATA was applied. */
void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Changes the guessed communicator of a block.  One that is known stays. */
void mpr_gpu_guess_comm(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm);
/* Lists a block whose communicator is a guess.  @object: its number if it has a handle, else 0. */
void mpr_gpu_list_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object);

/* ---- captures, executable graphs, and the pools that captures allocate from (gpu_graphs.c) */

/* Applies the events of captures, and TORCH_GRAPH_RESET. */
void mpr_graph_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Counts a new block in its capture, if it has one.  @torch: true for a block of PyTorch. */
void mpr_graph_add_block(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch);
/* Applies GPU_RETURN.  @growth: of used bytes, by this call. */
void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                    int64_t growth);
/* Returns the time (ns) until which graphs hold the memory of a capture, or UINT64_MAX to the end
 * of the log, or 0 for capture 0.  Of graphs that share a pool, the last one counts.  Later the
 * allocator reuses the memory. */
uint64_t mpr_graph_until(const struct mpr_gpu *g, uint32_t capture);
/* Returns true if a graph holds that memory at `time`. */
static inline bool mpr_graph_holds(const struct mpr_gpu *g, uint32_t capture, uint64_t time)
{
    return mpr_graph_until(g, capture) > time;
}

/* ---- physical memory with handles, from cuMemCreate (gpu_handles.c) */

/* Applies the events of handles. */
void mpr_handle_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

/* ---- used bytes, and memory that only measurements show (gpu.c) */

/* Returns true if the device occurs in the log. */
bool mpr_gpu_is_known(const struct mpr_replay *r, unsigned device);
/* Returns the bytes of gpuN/device. */
static inline uint64_t mpr_gpu_tracked(const struct mpr_replay *r, unsigned device)
{
    return r->accounts.heap[mpf_heap_gpu(MPF_HEAP_DEVICE, device)].bytes;
}
/* Returns the newest measurement plus the change of the tracked bytes since then, or the tracked
 * bytes if there is no measurement. */
static inline uint64_t mpr_gpu_used(const struct mpr_replay *r, unsigned device)
{
    const uint64_t tracked = mpr_gpu_tracked(r, device),
                   used = mpr_gpu_device_used(&r->gpu.device[device], tracked);
    return used == MPF_UNKNOWN ? tracked : used;
}
/* Call after the tracked bytes changed.  A measurement that is at most this old may include the
 * change. */
#define MPR_IN_FLIGHT_NS UINT64_C(100000000)
void mpr_gpu_match_change(struct mpr_replay *r, unsigned device, int64_t change);
/* Limits the parts of the device to the bytes that the process itself can have.  Returns true if
 * any part was reduced. */
bool mpr_gpu_limit_parts(const struct mpr_gpu_device *d, int64_t *part);
/* Returns the process's own bytes on the device: tracked and hidden ones. */
uint64_t mpr_gpu_own(const struct mpr_replay *r, unsigned device);

/* ---- out-of-memory events (gpu.c) */

/* Call after the thread has allocated a block: a failure may be over. */
void mpr_oom_recover(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b,
                     bool torch);
/* Returns the newest failure with a snapshot that the program did not recover from, or NULL. */
const struct mpr_oom *mpr_oom_newest(const struct mpr_gpu *g);
/* Returns the bytes that were requested from the driver: those of a segment if PyTorch asked. */
uint64_t mpr_oom_needed(const struct mpr_oom *oom);

/* ---- snapshots (gpu_snapshots.c) */

/* A snapshot is begun, gets copies of blocks that are removed or lose their address, and is
 * finished after the last event.  `take` does all at once.  The caller frees the snapshot. */
void mpr_device_snapshot_begin(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                               unsigned device, uint64_t time);
void mpr_device_snapshot_take(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                              unsigned device, uint64_t time);
void mpr_device_snapshot_free(struct mpr_device_snapshot *p);
/* Adds the range to `ever`, the address ranges that were ever unmapped. */
void mpr_device_snapshot_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to);

/* ---- when snapshots are taken: peaks, windows and the selected instant */

/* Call when the used bytes have changed: they may be a new maximum.
 * @measured: only a measurement changed.  A slightly larger one does not count if fewer bytes are
 * tracked than at the maximum so far */
void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured);
/* Call before an event after which fewer blocks or bytes may be live. */
void mpr_gpu_take_snapshots(struct mpr_replay *r);
/* Call before a block of device memory is removed or loses its address: open snapshots copy it. */
void mpr_gpu_removed(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* For the selected instant.  When it begins, devices have no peaks; then their state at `time`
 * counts; at its end the peaks are final. */
void mpr_gpu_instant_begin(struct mpr_replay *r);
void mpr_gpu_instant_carry(struct mpr_replay *r, uint64_t time);
void mpr_gpu_instant_end(struct mpr_replay *r);
/* Call before an event: finishes windows that are over. */
void mpr_gpu_close_windows(struct mpr_replay *r);
/* Call after the last event. */
void mpr_gpu_finish(struct mpr_replay *r);

/* ---- snapshots at instants that are spread over the run
 *
 * Each is taken just before an event of a device, after nothing has changed for a while.
 *
 * Their number is limited, however long the run is.  If there are too many, those are dropped that
 * are closer to the previous one than evenly spread ones would be.  Some are kept at any distance:
 * the instants at which PyTorch held most of a device, and requested ones, at most a quarter of
 * all. A snapshot has copies of blocks that are removed after it, so memory grows with the live
 * blocks at the kept instants. */

/* @limit: an even number, of instants that are kept.  @from, @to: ns, both included */
struct mpr_device_snapshots *mpr_device_snapshots_new(size_t limit, uint64_t from, uint64_t to);
void mpr_device_snapshots_free(struct mpr_device_snapshots *instants);

/* Call before an event of a device. */
void mpr_device_snapshots_before_event(struct mpr_device_snapshots *instants,
                                       const struct mpr_replay *r);
/* Requests the state after the current event, if it lasts for a while. */
void mpr_device_snapshots_request(struct mpr_device_snapshots *instants);
/* Call after the last event. */
void mpr_device_snapshots_finish(struct mpr_device_snapshots *instants, const struct mpr_replay *r);

/* Returns how many there are, in order of time: at most `limit`, plus one, plus one for each
 * device. */
size_t mpr_device_snapshots_count(const struct mpr_device_snapshots *instants);
/* Returns true if the instant is kept, however close others are. */
bool mpr_device_snapshots_is_kept(const struct mpr_device_snapshots *instants, size_t index);
/* Returns the time (ns) since which the devices were in that state. */
uint64_t mpr_device_snapshots_since(const struct mpr_device_snapshots *instants, size_t index);
/* Returns a device's snapshot.  Call after the last event.  The caller frees it.  It is not valid
 * if the device had not been used yet. */
struct mpr_device_snapshot mpr_device_snapshots_get(const struct mpr_device_snapshots *instants,
                                                    size_t index, unsigned device,
                                                    const struct mpr_replay *r);

#endif
