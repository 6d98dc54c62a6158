/* PyTorch's allocator on one device, as PyTorch itself records it: each action in order, and its
 * segments and blocks at the end. Used by `memprof-report export --to torch-snapshot`.
 * If memory is unmapped below live blocks (sleep mode), its segment remains, as in PyTorch. If
 * the log has no segments, blocks are in made-up segments of whole pages of 2 MiB. Times are ns
 * since the process's start. */
#ifndef MPR_TORCH_TRACE_H
#define MPR_TORCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "code.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* Facts about a log that a caller needs before mpr_torch_trace_read. */
struct mpr_torch_survey {
    struct mpr_arena arena;
    struct mpr_summary summary;
    unsigned devices; /* the largest number of a device with PyTorch blocks, + 1, or 0 */
    struct mpr_torch_survey_device {
        const char *name;
        uint64_t total; /* bytes; 0 if unknown */
        bool used;      /* PyTorch has blocks on it */
    } * device;
    const char *step; /* the outermost range that repeats; NULL if none does, or if the program
                         names its steps for torch.profiler */
};
/* Returns 0, or -1 with *error filled and nothing to free. */
int mpr_torch_survey(struct mpr_torch_survey *survey, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error);
void mpr_torch_survey_free(struct mpr_torch_survey *survey);

enum mpr_torch_action {
    MPR_TORCH_ALLOC,
    MPR_TORCH_FREE, /* requested and completed, because the log has one time for both */
    MPR_TORCH_SEGMENT_ALLOC,
    MPR_TORCH_SEGMENT_FREE,
    MPR_TORCH_SEGMENT_MAP,
    MPR_TORCH_SEGMENT_UNMAP,
    MPR_TORCH_OOM,
    MPR_TORCH_REFUSAL /* the driver refused memory; only if they are requested */
};

struct mpr_torch_entry {
    enum mpr_torch_action action;
    uint64_t addr; /* OOM, REFUSAL: free bytes of the device, or UINT64_MAX if unknown */
    uint64_t size, time_ns;
    uint64_t stream;      /* the driver's, for memory of a graph capture, or 0 if unknown */
    uint32_t stack;       /* number in code.h, or 0 if unknown */
    uint32_t pool;        /* private pool of a graph capture, numbered from 1, or 0 */
    uint32_t site;        /* number of the call stacks in this log (sites.h), or 0 if unknown */
    bool before_capture;  /* ALLOC: made while PyTorch began a capture, which switches the stream,
                           * but not yet in the capture's pool */
    bool supposed;        /* SEGMENT_MAP: the memory was not recorded, only blocks in it */
    uint64_t device_free; /* unused bytes of the device, or UINT64_MAX if unknown */
};

struct mpr_torch_block {
    uint64_t addr, size;
    uint32_t stack;
};

struct mpr_torch_segment {
    uint64_t addr, size, stream;
    uint64_t pool[2]; /* a graph's pool, as PyTorch numbers it, or zeros */
    uint32_t stack;
    bool expandable, small;              /* small: PyTorch uses it for blocks of up to 1 MiB */
    const struct mpr_torch_block *block; /* live blocks, by address; they do not overlap */
    size_t blocks;
};

/* PyTorch's segments, by address. */
struct mpr_torch_state {
    struct mpr_arena arena;
    struct mpr_torch_segment *segment;
    size_t segments;
};

/* The callback gets entries for blocks of at least min_bytes, and times in [from_ns, until_ns].
 * The state is that of until_ns. */
struct mpr_torch_options {
    unsigned device;
    bool refusals; /* also entries for requests that the driver refused */
    uint64_t min_bytes, from_ns, until_ns;
    void (*report)(void *arg, const struct mpr_torch_entry *entry);
    void *arg;
};

/* Returns 0, or -1 with *error filled and nothing to free.
 * @code: receives the call stacks; if it is NULL, entries have none */
int mpr_torch_trace_read(struct mpr_torch_state *state, struct mpr_code *code, const char *path,
                         const struct mpr_torch_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error);
void mpr_torch_state_free(struct mpr_torch_state *state);

#endif
