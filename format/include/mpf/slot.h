/* Slots, chunks and the journal: events as the program's threads store them, in pages that survive
 * SIGKILL.
 *
 * A journal is a file mapped MAP_SHARED: one page of struct mpf_journal, then chunks of
 * MPF_CHUNK_BYTES.  A chunk belongs to one thread at a time, which fills its slots in order.  A
 * slot is committed when its head carries the chunk's tag: the head is stored last, so a reader
 * never sees half an event.  FORMAT.md says every byte. */
#ifndef MPF_SLOT_H
#define MPF_SLOT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MPF_JOURNAL_MAGIC "MEMPROFJ"
#define MPF_MAJOR         1 /* a reader refuses a newer one */
#define MPF_MINOR         13

struct mpf_slot {
    uint64_t time; /* ticks (struct mpf_clock) */
    uint64_t addr;
    uint64_t head; /* op | heap << 8 | tag << 16 | size << 24; stored last */
};

/* The largest size that a head holds; larger ones are stored as this */
#define MPF_SIZE_MAX ((UINT64_C(1) << 40) - 1)

static inline uint64_t mpf_slot_head(unsigned op, unsigned heap, unsigned tag, uint64_t size)
{
    return op | (uint64_t)heap << 8 | (uint64_t)tag << 16 | size << 24;
}
static inline unsigned mpf_slot_op(uint64_t head) { return head & 0xff; }
static inline unsigned mpf_slot_heap(uint64_t head) { return head >> 8 & 0xff; }
static inline unsigned mpf_slot_tag(uint64_t head) { return head >> 16 & 0xff; }
static inline uint64_t mpf_slot_size(uint64_t head) { return head >> 24; }

/* Data of a DATA event: 16 bytes in the time and addr words of each CONT slot that follows its
 * first one. */
#define MPF_CONT_BYTES 16
static inline uint32_t mpf_data_slots(uint64_t bytes)
{
    return (uint32_t)((bytes + MPF_CONT_BYTES - 1) / MPF_CONT_BYTES);
}
#define MPF_DATA_MAX 4096 /* bytes of data in one event */

enum {
    MPF_CHUNK_BYTES = 32768,
    MPF_CHUNK_HEAD = 64,
    MPF_CHUNK_SLOTS = (MPF_CHUNK_BYTES - MPF_CHUNK_HEAD) / sizeof(struct mpf_slot)
};
enum mpf_chunk_state { MPF_CHUNK_FREE, MPF_CHUNK_USED };

struct mpf_chunk {
    uint64_t seq;    /* chunks of one thread are in order of seq */
    uint32_t thread; /* memprof's number */
    uint8_t state;   /* enum mpf_chunk_state, stored last */
    uint8_t tag;     /* 1 to 255; committed slots carry it */
    uint16_t reserved0;
    uint32_t drained;      /* slots [0, drained) are in the log up to frame `frame` - 1 */
    uint32_t drained_next; /* and [0, drained_next) once the log holds frame `frame` */
    uint64_t frame;
    uint8_t reserved1[32];
    struct mpf_slot slot[MPF_CHUNK_SLOTS];
};
static_assert(sizeof(struct mpf_slot) == 24, "on disk");
static_assert(offsetof(struct mpf_chunk, slot) == MPF_CHUNK_HEAD, "on disk");
static_assert(sizeof(struct mpf_chunk) <= MPF_CHUNK_BYTES, "a chunk fits its place");

/* The chunk of a slot, where chunks are aligned to their size. */
static inline const struct mpf_chunk *mpf_slot_chunk(const struct mpf_slot *slot)
{
    return (const struct mpf_chunk *)((uintptr_t)slot & ~(uintptr_t)(MPF_CHUNK_BYTES - 1));
}

/* One instant on three clocks: ticks of the event clock (TSC or ns), CLOCK_MONOTONIC ns,
 * CLOCK_REALTIME ns. */
struct mpf_clock {
    uint64_t ticks;
    uint64_t mono;
    uint64_t real;
};

/* Frames one after another that could not be written: their events are lost. */
struct mpf_unwritten {
    uint64_t error; /* errno of the first of them */
    /* CLOCK_MONOTONIC ns: no event of the first is older, none of the last is newer. */
    uint64_t from, to;
    uint64_t events, bytes; /* events in them; bytes that they would have had in the log */
};

/* Identifies a file on its file system. */
struct mpf_file {
    uint64_t dev, ino;
};

/* Identifies a process across reuses of its number. Zeros: not known. */
struct mpf_identity {
    uint8_t boot[16];       /* of the kernel */
    uint64_t pidns, timens; /* inodes of its namespaces of process numbers and of time */
    /* Clock ticks since boot, as its namespace of time counts: field 22 of /proc/PID/stat. */
    uint64_t started;
};

enum mpf_journal_flags {
    /* Byte 0 is locked (F_OFD_SETLK, one byte) as long as the memory of the process is there. */
    MPF_JOURNAL_LOCKED = 1,
};

struct mpf_journal {
    char magic[8];
    uint16_t major, minor;
    uint32_t head_bytes; /* offset of the first chunk */
    uint32_t chunk_bytes, slot_bytes;
    uint8_t id[16]; /* the same as the header's: ties journal and log */
    uint64_t pid;
    struct mpf_clock start; /* of the process's log */
    /* of the newest frame; may be torn, so the reader checks it against start */
    struct mpf_clock last;
    uint32_t chunks; /* chunks that may be in use; those behind are not touched */
    uint32_t reserved;
    uint64_t lost; /* events lost so far */
    uint64_t unused;
    /* failed writes that no UNWRITTEN event reports yet; events is 0 if there are none */
    struct mpf_unwritten unwritten;
    uint32_t flags; /* enum mpf_journal_flags */
    uint32_t reserved1;
    uint64_t beat; /* CLOCK_MONOTONIC ns of the process's last sign of life */
    struct mpf_identity process;
    struct mpf_file self; /* this very file: of a copy, the flags say nothing */
    struct mpf_file log;  /* that it belongs to */
    struct mpf_file heir; /* that a recovery puts in the log's place */
};
#define MPF_JOURNAL_HEAD 4096
/* Size of the head before version 1.2; the remainder reads as zeros. */
#define MPF_JOURNAL_HEAD_1_1 offsetof(struct mpf_journal, unwritten)
static_assert(sizeof(struct mpf_journal) == 264 && MPF_JOURNAL_HEAD_1_1 == 120, "on disk");

#endif
