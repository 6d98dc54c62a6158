/* Allocated and live memory by call stack in the form of profilers' files: used by
 * `memprof-report export --to pprof`. Lives until mpr_profile_free. */
#ifndef MPR_PROFILE_H
#define MPR_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "code.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* Blocks that were allocated in the requested span, and blocks that were live at the instant.
 * For memory that is counted by pages no allocated blocks are known. */
enum mpr_profile_value {
    MPR_PROFILE_MADE_BLOCKS,
    MPR_PROFILE_MADE_BYTES,
    MPR_PROFILE_LIVE_BLOCKS,
    MPR_PROFILE_LIVE_BYTES,
    MPR_PROFILE_VALUES
};

struct mpr_profile_options {
    uint8_t heap; /* MPF_HEAP_NONE: all */
    struct mpr_instant at;
    uint64_t from_ns, until_ns;
};

/* The memory of one heap, range, thread and stack. The live bytes of a heap's samples sum to its
 * bytes at the instant. */
struct mpr_profile_sample {
    uint8_t heap;
    const char *range, *thread; /* range: its path, "outer > inner" */
    uint32_t stack; /* number of the call stack in `code`, else of the range's stack, or 0 */
    uint64_t value[MPR_PROFILE_VALUES];
};

/* An object file of native frames. */
struct mpr_profile_module {
    const char *path, *build_id; /* hexadecimal, or "" if unknown */
    uint64_t from, to;
};

struct mpr_profile {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_code code;
    struct mpr_profile_sample *sample;
    size_t samples;
    struct mpr_profile_module *module; /* by number - 1 */
    size_t modules;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_profile_read(struct mpr_profile *profile, const char *path,
                     const struct mpr_profile_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error);
void mpr_profile_free(struct mpr_profile *profile);

#endif
