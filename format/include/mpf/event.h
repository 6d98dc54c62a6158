/* Operations, heaps and the decoded event: the words that the capture library and the report tool
 * share. */
#ifndef MPF_EVENT_H
#define MPF_EVENT_H

#include <assert.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mpf_op {
#define MPF_OP(code, name, class, text) MPF_OP_##name = code,
#include "mpf/events.def"
#undef MPF_OP
    /* A slot that carries 16 bytes of the data of the DATA event before it; chunks only. */
    MPF_OP_CONT = 255,
};

/* What happens to a block of the host or of PyTorch: the codes are in a row. */
enum { MPF_OPS_OF_BLOCKS = 4 };
#if defined __cplusplus || __STDC_VERSION__ >= 201112L /* C99 has none */
static_assert(MPF_OP_FREE == MPF_OP_ALLOC + 1 && MPF_OP_MOVE_BEGIN == MPF_OP_ALLOC + 2 &&
                  MPF_OP_MOVE_END == MPF_OP_ALLOC + 3,
              "in a row");
#endif
static inline int mpf_op_is_of_block(unsigned op) { return op - MPF_OP_ALLOC < MPF_OPS_OF_BLOCKS; }

enum mpf_class {
    MPF_CLASS_NONE,
    MPF_CLASS_BLOCK,
    MPF_CLASS_REF,
    MPF_CLASS_REGION,
    MPF_CLASS_VALUE,
    MPF_CLASS_DATA
};

/* X(code, NAME, "name"): a heap is one row of the report.  Codes are on disk.  The heaps of a GPU,
 * codes 8 to 15, carry the device's index in the process (0 to 15) above: code | index << 4;
 * "device" of index 1 is gpu1/device. */
#define MPF_HEAPS(X)                                                                               \
    X(0, NONE, "")                                                                                 \
    X(1, HOST, "host/heap")                                                                        \
    X(2, MMAP, "host/mmap")                                                                        \
    X(3, SHM, "host/shm")                                                                          \
    X(4, PINNED, "host/pinned")                                                                    \
    X(5, PYTHON, "host/python")                                                                    \
    X(6, PART, "host/part")                                                                        \
    X(7, NVTX, "nvtx/regions")
#define MPF_GPU_HEAPS(X, device)                                                                   \
    X(8, DEVICE, "device", device)                                                                 \
    X(9, POOL, "pool", device)                                                                     \
    X(10, TORCH, "torch", device)                                                                  \
    X(11, MANAGED, "managed", device)                                                              \
    X(12, USED, "used", device)

enum mpf_heap {
#define X(code, name, ...) MPF_HEAP_##name = code,
    MPF_HEAPS(X) MPF_GPU_HEAPS(X, )
#undef X
};

/* Does a FAIL of that heap end a realloc that is under way?  A mapping may be refused to a signal
 * handler that comes between. */
static inline int mpf_fail_ends_move(unsigned heap)
{
    return heap != MPF_HEAP_MMAP && heap != MPF_HEAP_SHM;
}

/* A failed allocation of huge pages, by MAP_HUGETLB or in a file of hugetlbfs, has this bit of the
 * addr word: the pool of huge pages was too small, which says nothing about other memory. */
#define MPF_FAIL_HUGE_PAGES (UINT64_C(1) << 63)

/* Returns the bytes that a FAIL asked for, from its addr and size words. */
static inline uint64_t mpf_fail_bytes(uint64_t addr, uint64_t size)
{
    return size | addr >> 32 << 40; /* bits 56 to 63 of the addr word drop out */
}

/* The function of the frame without a file that marks a mapping of CPython's allocator of small
 * objects. */
#define MPF_PYMALLOC_ARENA "pymalloc arena"

#define MPF_GPUS 16
static inline uint8_t mpf_heap_gpu(enum mpf_heap heap, unsigned device)
{
    return (uint8_t)(heap | device << 4);
}
/* Allocations of the host's own functions: codes in a row. host/pinned is the driver's. */
#if defined __cplusplus || __STDC_VERSION__ >= 201112L /* C99 has none */
static_assert(MPF_HEAP_MMAP == MPF_HEAP_HOST + 1 && MPF_HEAP_SHM == MPF_HEAP_HOST + 2 &&
                  MPF_HEAP_PINNED > MPF_HEAP_SHM,
              "in a row");
#endif
static inline int mpf_heap_is_host(unsigned heap)
{
    return heap >= MPF_HEAP_HOST && heap <= MPF_HEAP_SHM;
}
static inline int mpf_heap_is_gpu(unsigned heap) { return (heap & 8) != 0; }
static inline unsigned mpf_heap_code(unsigned heap)
{
    return mpf_heap_is_gpu(heap) ? heap & 15 : heap;
}
static inline unsigned mpf_heap_device(unsigned heap) { return heap >> 4; }

/* X(code, NAME, "why events are missing").  Codes are on disk.
 *   STALLED: a disk that hangs, no encoder where the program forbids one.  TORN: it jumped out of a
 * signal handler. WRITE: a full disk; UNWRITTEN says when and why.  MEMORY: RLIMIT_AS, RLIMIT_DATA.
 * NAMES: shown as one name.  SAMPLES: they are in the totals.  HANDLERS: a filter of the program's
 * refuses to block signals, and one came while memprof was at work in its thread. */
// clang-format off
#define MPF_LOSSES(X)                                                   \
    X(1, STALLED, "the encoder did not keep up")                        \
    X(2, TORN,    "a thread did not finish writing them")               \
    X(3, WRITE,   "the log could not be written")                       \
    X(4, MEMORY,  "no memory for a thread's buffer")                    \
    X(5, NAMES,   "more range names than the limit")                    \
    X(6, THREADS, "more threads at once than the limit")                \
    X(7, SAMPLES, "more sampled blocks than the limit")                 \
    X(8, HANDLERS, "signals could not be blocked")

enum mpf_loss {
#define X(code, name, text) MPF_LOSS_##name = code,
    MPF_LOSSES(X)
#undef X
    MPF_LOSS_CODES,         /* each is below */
};
// clang-format on

/* X(code, NAME, text): why the outermost frame of a call stack is not where its thread began.  The
 * text is what reports show instead of the missing callers.  Codes are on disk.
 *   DEPTH: more frames than are kept.  RULE: nothing says how to find the caller of the outermost
 * frame.  LOST: it was not found where it should be. */
#define MPF_CUT_BEGIN "(stack cut"
#define MPF_CUTS(X)                                                                                \
    X(1, DEPTH, MPF_CUT_BEGIN ": depth limit)")                                                    \
    X(2, RULE, MPF_CUT_BEGIN ": no unwind information)")                                           \
    X(3, LOST, MPF_CUT_BEGIN ": caller not found)")

enum mpf_cut {
    MPF_CUT_NONE,
#define X(code, name, text) MPF_CUT_##name = code,
    MPF_CUTS(X)
#undef X
};

/* One decoded event. Time is in ns since the process started (header's clock). Threads are numbered
 * from 1 in the order of their first event. `data` points into the frame's body and lives as long
 * as it does. */
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
/* Text of an enum mpf_cut; of an unknown one a text that names no reason. */
const char *mpf_cut_text(uint64_t cut);
/* "host/heap", "gpu0/device", ...; NULL for an unknown one. */
const char *mpf_heap_name(unsigned heap);
/* Returns the heap of that name, or MPF_HEAP_NONE. */
unsigned mpf_heap_named(const char *name);
/* Why events are missing; NULL for an unknown reason. */
const char *mpf_loss_text(unsigned reason);

#ifdef __cplusplus
}
#endif

#endif
