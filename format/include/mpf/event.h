/* Operations, heaps and the decoded event: the words that the capture library and the report tool share. */
#ifndef MPF_EVENT_H
#define MPF_EVENT_H

#include <stdint.h>

enum mpf_op {
#define MPF_OP(code, name, class, text) MPF_OP_##name = code,
#include "mpf/events.def"
#undef MPF_OP
    MPF_OP_CONT = 255,      /* a slot that carries 16 bytes of the data of the DATA event before it; chunks only */
};

/* What happens to a block of the host or of PyTorch: the codes are in a row. */
enum { MPF_OPS_OF_BLOCKS = 4 };
_Static_assert(MPF_OP_FREE == MPF_OP_ALLOC + 1 && MPF_OP_MOVE_BEGIN == MPF_OP_ALLOC + 2 && MPF_OP_MOVE_END == MPF_OP_ALLOC + 3, "in a row");
static inline int mpf_op_is_of_block(unsigned op) { return op - MPF_OP_ALLOC < MPF_OPS_OF_BLOCKS; }

enum mpf_class { MPF_CLASS_NONE, MPF_CLASS_BLOCK, MPF_CLASS_REF, MPF_CLASS_REGION, MPF_CLASS_VALUE, MPF_CLASS_DATA };

/* X(code, NAME, "name"): a heap is one row of the report.  Codes are on disk.  The heaps of a GPU, codes 8 to 15, carry
 * the device's index in the process (0 to 15) above: code | index << 4; "device" of index 1 is gpu1/device. */
#define MPF_HEAPS(X)              \
    X(0, NONE,   "")              \
    X(1, HOST,   "host/heap")     \
    X(2, MMAP,   "host/mmap")     \
    X(3, SHM,    "host/shm")      \
    X(4, PINNED, "host/pinned")
#define MPF_GPU_HEAPS(X)          \
    X(8,  DEVICE,  "device")      \
    X(9,  POOL,    "pool")        \
    X(10, TORCH,   "torch")       \
    X(11, MANAGED, "managed")     \
    X(12, USED,    "used")

enum mpf_heap {
#define X(code, name, text) MPF_HEAP_##name = code,
    MPF_HEAPS(X)
    MPF_GPU_HEAPS(X)
#undef X
};

#define MPF_GPUS 16
static inline unsigned mpf_heap_gpu(enum mpf_heap heap, unsigned device) { return heap | device << 4; }
static inline int mpf_heap_is_gpu(unsigned heap) { return (heap & 8) != 0; }
static inline unsigned mpf_heap_code(unsigned heap) { return mpf_heap_is_gpu(heap) ? heap & 15 : heap; }
static inline unsigned mpf_heap_device(unsigned heap) { return heap >> 4; }

/* why events are missing */
enum mpf_loss {
    MPF_LOSS_STALLED = 1,   /* the encoder did not free a chunk in time (a disk that hangs, no encoder where the program forbids one) */
    MPF_LOSS_TORN,          /* a thread never finished writing a slot (jumped out of a signal handler) */
    MPF_LOSS_WRITE,         /* a frame could not be written (disk full); UNWRITTEN says when and why */
    MPF_LOSS_MEMORY,        /* no memory for a thread's buffer (RLIMIT_AS, RLIMIT_DATA) */
    MPF_LOSS_NAMES,         /* more distinct range names than the limit: shown as one name */
    MPF_LOSS_THREADS,       /* more threads at once than there can be buffers for */
};

/* One decoded event.  time in ns since the process started (header's clock); thread is memprof's number for it,
 * 1 and up in order of first event. `data` points into the frame's body and lives as long as that. */
struct mpf_event {
    uint64_t time;
    uint64_t addr;
    uint64_t size;
    const uint8_t *data;
    uint32_t thread;
    uint8_t op;
    uint8_t heap;
};

/* The class of an operation, MPF_CLASS_NONE for an unknown one. */
enum mpf_class mpf_op_class(unsigned op);
/* Short name ("ALLOC") and explanation; NULL for an unknown one. */
const char *mpf_op_name(unsigned op);
const char *mpf_op_text(unsigned op);
/* "host/heap", "gpu0/device", ...; NULL for an unknown one. */
const char *mpf_heap_name(unsigned heap);

#endif
