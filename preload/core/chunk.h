/* Chunks of the journal, and the state of each: data only. pool.h has the functions.
 *
 * All places are in one row, so a place is found by its number. Addresses are reserved only
 * together with memory, because reserved addresses count against the program's limits: the row
 * begins far from other mappings. */
#ifndef MP_CHUNK_H
#define MP_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/queue.h"
#include "base/sys.h"
#include "mpf/slot.h"

/* The maximum, 512 MiB. Memory is mapped as threads start, and used one chunk at a time. */
#define MP_POOL_PLACES 16384u
#define MP_POOL_FILE   1536u /* maximum in the journal file: 48 MiB */
#define MP_POOL_STEP   16u   /* places mapped at a time */
/* Chunks in addition to one per thread: 5 MiB between hooks and encoder. */
#define MP_POOL_RESERVE 160u
/* The same if the program's memory is limited (RLIMIT_AS, RLIMIT_DATA). */
#define MP_POOL_LIMITED 64u

struct mp_chunk_meta {
    uint32_t next;    /* chunk after this one in the thread's list: index + 1 */
    uint32_t used;    /* slots in use, once `next` is set: the rest of the chunk is empty */
    uint32_t ready;   /* the encoder's: slots known to be committed */
    uint32_t drained; /* the encoder's: slots in the log */
    uint32_t pending; /* the encoder's: slots in the log once the frame at hand is written */
    uint32_t filled;  /* slots from this one on are empty, whatever the chunk was used for before */
    uint8_t tag;      /* of the chunk's last use */
    /* A thread that was given up may still write one of its slots, so it is never used again. */
    uint8_t retired;
};

struct mp_pool {
    struct mpf_journal *head; /* before the chunks, in separate pages */
    uint8_t *base;            /* the chunks */
    struct mp_queue free;
    struct mp_cell free_cell[MP_POOL_PLACES];
    uint32_t chunks;  /* number of places that were ever used */
    uint32_t spoiled; /* retired places */
    uint32_t mapped;  /* places that memory is mapped for */
    uint32_t alive;   /* number of threads with a record at the encoder's last look, */
    uint32_t looks;   /* and number of these looks */
    uint32_t why;     /* enum mpf_loss: why the last request for a place failed */
    uint32_t in_use;
    uint32_t on_the_way; /* full chunks in a frame that is not written yet */
    uint32_t frames;     /* number of frames written or lost */
    uint32_t released;   /* futex: incremented when chunks are returned */
    uint32_t waits;      /* total number of times that a thread waited for a chunk */
    /* 1 + the value of `released` when a thread began to wait for a chunk; 0 if none ever did */
    uint32_t wanted;
    uint32_t stalled; /* 1 + the value of `released` at which a thread gave up waiting */
    uint32_t refused; /* 1 + the value of `frames` when there was no memory for another place */
    uint64_t seq;
    struct mp_lock grow;
    struct mp_chunk_meta meta[MP_POOL_PLACES];
};

/* Return the chunk with number `index` of the pool, and the number of a chunk. */
static inline struct mpf_chunk *mp_pool_chunk(const struct mp_pool *pool, uint32_t index)
{
    return (struct mpf_chunk *)(pool->base + (size_t)index * MPF_CHUNK_BYTES);
}
static inline uint32_t mp_pool_index(const struct mp_pool *pool, const struct mpf_chunk *chunk)
{
    return (uint32_t)(((const uint8_t *)chunk - pool->base) / MPF_CHUNK_BYTES);
}

#endif
