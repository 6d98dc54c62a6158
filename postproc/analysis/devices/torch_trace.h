/* PyTorch's allocator on one device as PyTorch itself tells of it: each thing that it did, in
 * order, and its segments and blocks at the end.  Behind `memprof-report export --to
 * torch-snapshot`.
 *
 * A segment that is unmapped below live blocks (sleep mode) stays, as PyTorch sees it.  Where
 * segments are not in the log, the pieces of 2 MiB that blocks touch stand for them: so each block
 * lies in a segment. */
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

/* What is asked of a log first. */
struct mpr_torch_survey {
    struct mpr_arena arena;
    struct mpr_summary summary;
    unsigned devices; /* up to the last one that PyTorch has blocks on; 0: it has none */
    const char *step; /* the outermost range that repeats; NULL: none does, or the program has
                         torch.profiler name its steps */
};
/* 0, or -1 with *error filled (nothing to free then). */
int mpr_torch_survey(struct mpr_torch_survey *survey, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error);
void mpr_torch_survey_free(struct mpr_torch_survey *survey);

enum mpr_torch_action {
    MPR_TORCH_ALLOC,
    MPR_TORCH_FREE, /* requested and completed: the log has one time for both */
    MPR_TORCH_SEGMENT_ALLOC,
    MPR_TORCH_SEGMENT_FREE,
    MPR_TORCH_SEGMENT_MAP,
    MPR_TORCH_SEGMENT_UNMAP,
    MPR_TORCH_OOM
};

struct mpr_torch_entry {
    enum mpr_torch_action action;
    uint64_t addr; /* of an OOM: free bytes of the device; UINT64_MAX: not known */
    uint64_t size, time_ns;
    uint64_t stream; /* the driver's, of what a capture made; else 0: not known */
    uint32_t stack;  /* of code.h; 0: not known */
};

struct mpr_torch_block {
    uint64_t addr, size;
    uint32_t stack;
};

struct mpr_torch_segment {
    uint64_t addr, size, stream;
    uint64_t pool[2]; /* of a graph, as PyTorch numbers it; zeros: of none, or not known */
    uint32_t stack;
    bool expandable, small;              /* small: PyTorch cuts blocks of up to 1 MiB out of it */
    const struct mpr_torch_block *block; /* live ones, by address; they do not overlap */
    size_t blocks;
};

/* By address. */
struct mpr_torch_state {
    struct mpr_arena arena;
    struct mpr_torch_segment *segment;
    size_t segments;
};

/* What is told: of blocks those of at least min_bytes, of times [from_ns, until_ns]; the state is
 * that of until_ns. */
struct mpr_torch_options {
    unsigned device;
    uint64_t min_bytes, from_ns, until_ns;
    void (*tell)(void *arg, const struct mpr_torch_entry *entry);
    void *arg;
};

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_torch_trace_read(struct mpr_torch_state *state, struct mpr_code *code, const char *path,
                         const struct mpr_torch_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error);
void mpr_torch_state_free(struct mpr_torch_state *state);

#endif
