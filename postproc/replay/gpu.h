/* Device memory: events, queries, peaks and snapshots.
 *
 * A device's peak is the instant at which most of it was used: the newest measurement plus what was
 * allocated since; of equal ones, the instant at which PyTorch held most. Its snapshot lists the
 * blocks that were live then. */
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
/* Takes every event of a heap from MPF_HEAP_PINNED on, and every operation from 48 on. */
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
/* Describes the block that the event makes in *out and adds it to the accounts. */
void mpr_gpu_account(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                     struct mpr_gpu_block *out);
/* Removes the block from its cell. */
void mpr_gpu_accounts_remove(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Informs observers that the block got its address. @from: ns since when it is live. */
void mpr_gpu_observe_mapped(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from);

void mpr_gpu_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_gpu_torch_free(struct mpr_replay *r, const struct mpf_event *e);
/* A free by the driver: its call, its return, and a call that failed. */
void mpr_gpu_free_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_gpu_free_end(struct mpr_replay *r, struct mpr_thread *t);
void mpr_gpu_free_failed(struct mpr_replay *r, struct mpr_thread *t);
/* The context was destroyed: frees its blocks. */
void mpr_gpu_free_context(struct mpr_replay *r, uint64_t context);
/* GPU_LEVEL. Growth is attributed to the thread's ranges and to the call stack of its newest pool
 * block. The newest growth shrinks first. */
void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The device's pools and blocks hold at most `limit` bytes together: takes the excess from the
 * pools. Logs before 1.11 have no event for pools that the driver trims. */
void mpr_pools_limit(struct mpr_replay *r, unsigned device, uint64_t limit);

/* ---- communicators of NCCL's blocks (gpu_blocks.c) */

/* SCHEMA. */
void mpr_comms_schema(struct mpr_comms *c, const struct mpf_event *e);
/* A PUSH, POP or RANGE_DATA has been applied. */
void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Assigns the block to the communicator if its current one is a guess. It stays a guess. */
void mpr_gpu_suppose(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm);
/* Remembers a block whose communicator is a guess. @object: its number if it has a handle, else 0.
 */
void mpr_gpu_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object);

/* ---- captures, executable graphs, and the pools that captures allocate from (gpu_graphs.c) */

/* Takes the events of captures, and TORCH_GRAPH_RESET. */
void mpr_graph_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* Counts a new block in its capture, if it has one. @torch: it is one of PyTorch's allocator. */
void mpr_graph_count(struct mpr_gpu *g, const struct mpr_gpu_block *b, bool torch);
/* GPU_RETURN. @growth: of used bytes, by this call. */
void mpr_graph_call(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                    int64_t growth);
/* Returns until when (ns) a graph holds memory that was made in the capture, UINT64_MAX if it still
 * does. Then the allocator reuses it. Pools may be shared: the last graph decides. 0 for capture 0.
 */
uint64_t mpr_graph_until(const struct mpr_gpu *g, uint32_t capture);
/* Returns true if a graph holds that memory at `time`. */
static inline bool mpr_graph_holds(const struct mpr_gpu *g, uint32_t capture, uint64_t time)
{
    return mpr_graph_until(g, capture) > time;
}

/* ---- physical memory with handles, from cuMemCreate (gpu_handles.c) */

/* Takes the events of handles. */
void mpr_handle_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

/* ---- used bytes, and memory that only measurements show (gpu.c) */

/* Returns true if the log has anything about the device. */
bool mpr_gpu_is_there(const struct mpr_replay *r, unsigned device);
/* Returns the bytes of gpuN/device. */
static inline uint64_t mpr_gpu_tracked(const struct mpr_replay *r, unsigned device)
{
    return r->accounts.heap[mpf_heap_gpu(MPF_HEAP_DEVICE, device)].bytes;
}
/* Returns the newest measurement plus what changed since, or the tracked bytes without one. */
static inline uint64_t mpr_gpu_used(const struct mpr_replay *r, unsigned device)
{
    const uint64_t tracked = mpr_gpu_tracked(r, device),
                   used = mpr_gpu_device_used(&r->gpu.device[device], tracked);
    return used == MPF_UNKNOWN ? tracked : used;
}
/* Tracked bytes changed. A measurement of at most MPR_IN_FLIGHT_NS ago may already have the change.
 */
#define MPR_IN_FLIGHT_NS UINT64_C(100000000)
void mpr_gpu_explain(struct mpr_replay *r, unsigned device, int64_t change);
/* Cuts the parts of the device to what the process itself can have. Returns true if it did. */
bool mpr_hidden_cut(const struct mpr_gpu_device *d, int64_t *part);
/* Returns the process's own bytes on the device: tracked and hidden ones. */
uint64_t mpr_gpu_own(const struct mpr_replay *r, unsigned device);

/* ---- out-of-memory events (gpu.c) */

/* The thread has made a block. */
void mpr_oom_got_over(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b,
                      bool torch);
/* Returns the newest failure that the program did not recover from, or NULL. */
const struct mpr_oom *mpr_oom_newest(const struct mpr_gpu *g);
/* Returns the bytes that the driver would have had to give: a segment if PyTorch asked. */
uint64_t mpr_oom_needed(const struct mpr_oom *oom);

/* ---- snapshots (gpu_snapshots.c) */

/* A snapshot is begun, gets copies of blocks that are removed or lose their address, and is
 * finished after the last event. `take` does all at once. The caller frees the snapshot. */
void mpr_device_snapshot_begin(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                               unsigned device, uint64_t time);
void mpr_device_snapshot_take(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                              unsigned device, uint64_t time);
void mpr_device_snapshot_free(struct mpr_device_snapshot *p);
/* Adds the range to `ever`, the address ranges that were ever unmapped. */
void mpr_device_snapshot_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to);

/* ---- when snapshots are taken: peaks, windows and the selected instant */

/* The used bytes may be a new maximum. @measured: only a measurement changed. If less is tracked
 * than at the maximum so far, a slightly larger measurement does not count. */
void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured);
/* Call before an event that may shrink what is live. */
void mpr_gpu_take_snapshots(struct mpr_replay *r);
/* A block of device memory is removed or loses its address: open snapshots keep a copy. */
void mpr_gpu_removed(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* The selected instant begins: devices have no peaks yet. Then what they hold counts as of `time`.
 * Then the instant ends. */
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
 * Their number is limited, however long the run is. If there are too many, those are dropped that
 * are closer to the previous one than evenly spread ones would be. Some are kept whatever their
 * distance: the instants at which PyTorch held most of a device, and requested ones, at most a
 * quarter of all. A snapshot keeps copies of blocks that are removed after it, so memory grows with
 * the live blocks at the kept instants. */

/* @limit: number of instants that are kept, even. @from, @to: ns, both included. */
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
/* Returns true if it is kept whatever its distance. */
bool mpr_device_snapshots_is_kept(const struct mpr_device_snapshots *instants, size_t index);
/* Returns since when (ns) the devices were in that state. */
uint64_t mpr_device_snapshots_since(const struct mpr_device_snapshots *instants, size_t index);
/* Returns a device's snapshot, gathered after the last event. The caller frees it. It is not valid
 * if the device was not used yet. */
struct mpr_device_snapshot mpr_device_snapshots_get(const struct mpr_device_snapshots *instants,
                                                    size_t index, unsigned device,
                                                    const struct mpr_replay *r);

#endif
