/* The state of the recorded process: data that the parts of the core share.
 *
 * All state of one process is in one MADV_WIPEONFORK mapping. In a forked child it reads as zeros
 * (MP_NEW), and the child's first event starts a new log. A vfork child shares the mapping: `pid`
 * is the owner. */
#ifndef MP_STATE_H
#define MP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"
#include "core/chunk.h"
#include "core/thread.h"
#include "core/worker.h"
#include "mpf/slot.h"

#define MP_WRITERS 4u /* threads that write frames concurrently */

enum mp_state { MP_NEW, MP_STARTING, MP_ON, MP_OFF, MP_CLOSED };
enum mp_encoder_state {
    MP_ENCODER_NONE,
    MP_ENCODER_STARTING,
    MP_ENCODER_RUNS,
    MP_ENCODER_FAILED,
    MP_ENCODER_GONE
};

struct mp_encoder {
    uint32_t state; /* enum mp_encoder_state */
    struct mp_raw_thread thread;
};

enum mp_away {
    MP_AWAY_NONE,
    MP_AWAY_JOURNAL,
    MP_AWAY_ALL
}; /* files that are removed before an exec, which would leave them behind */

#define MP_THREADS_MAX MP_POOL_PLACES /* maximum number of live threads; each has a chunk */
#define MP_LOSSES      16

struct mp_process {
    uint32_t state; /* enum mp_state */
    int32_t pid;
    bool root;     /* the user started this process (or the program that executed this one) */
    bool attached; /* it ran before, without memprof */
    uint64_t attached_bytes; /* of blocks of malloc at that time, or 0 if unknown */
    uint32_t inside;         /* number of threads between mp_process_enter and mp_process_exit */
    int32_t starter;         /* the thread that is in mp_process_start */
    bool start_overdue;      /* it hangs, so no thread waits for it any more */
    /* Set if the C library knows this process, that is, it is not a child of _Fork or a raw clone.
     * Such a child may end by a raw exit of its only thread, so no second thread may stay. */
    uint32_t known;
    struct mpf_clock start;
    struct mpf_identity identity;

    uint32_t thread_number;       /* number of threads numbered so far */
    uint32_t threads;             /* number of records ever used */
    struct mp_queue threads_free; /* records that can be reused */
    struct mp_cell threads_free_cell[MP_THREADS_MAX];

    struct mp_pool pool;

    struct mp_worker worker;
    struct mp_encoder encoder[MP_WRITERS]; /* the first encoder, and those that help it */
    uint32_t wake;                         /* futex: incremented to wake the encoders */
    /* No further frame may be written, usually because the log has its END. Changed under all
     * writers' locks. */
    uint32_t ended;
    uint32_t away; /* enum mp_away */
    uint32_t finishing;
    /* Held from the taking of slots for a frame until it is written. */
    struct mp_lock writer_lock[MP_WRITERS];
    struct mp_lock epoch_lock; /* for taking slots; taken within a writer's lock */
    struct mp_epoch *epoch;    /* the encoder's memory */
    unsigned tick_shift;
    /* Ticks: all events up to here are in the log or in frames that are being written. */
    uint64_t watermark;

    struct mp_totals made, freed; /* of threads that have ended */
    uint64_t events;              /* in the log */
    uint64_t lost[MP_LOSSES];     /* by enum mpf_loss, not in the log yet */
    uint64_t lost_total;
    struct mpf_unwritten unwritten; /* not in the log yet; under epoch_lock */
    /* The last frame could not be written; only the writer whose turn it is changes this. */
    bool losing;
};

extern struct mp_process *mp_process; /* NULL until the first event of the program */

/* The threads' records, at most MP_THREADS_MAX. Parts of the table are mapped when threads need
 * them, wiped on fork, and never unmapped. */
#define MP_THREADS_PART 1024u
extern void *mp_threads_part[MP_THREADS_MAX / MP_THREADS_PART];
/* @index: below mp_threads_ever(). */
static inline struct mp_thread *mp_thread_at(uint32_t index)
{
    struct mp_thread *const part = mp_threads_part[index / MP_THREADS_PART];
    return &part[index % MP_THREADS_PART];
}

/* Return a chunk of the pool and its metadata, by its index. */
static inline struct mpf_chunk *mp_chunk_at(uint32_t index)
{
    return mp_pool_chunk(&mp_process->pool, index);
}
static inline struct mp_chunk_meta *mp_meta_at(uint32_t index)
{
    return &mp_process->pool.meta[index];
}

#endif
