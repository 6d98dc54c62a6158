/* Who made and who held memory, by call stack: a profile for tools that take such.  Behind
 * `memprof-report export --to pprof`.  Lives until mpr_profile_free. */
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

/* Blocks that were made in the span that is asked for, with their bytes; and those that lived at
 * the instant.  What is counted by pages has no blocks that were made. */
enum mpr_profile_value {
    MPR_PROFILE_MADE_BLOCKS,
    MPR_PROFILE_MADE_BYTES,
    MPR_PROFILE_LIVE_BLOCKS,
    MPR_PROFILE_LIVE_BYTES,
    MPR_PROFILE_VALUES
};

struct mpr_profile_options {
    uint8_t heap; /* only this one; MPF_HEAP_NONE: all */
    struct mpr_instant at;
    uint64_t from_ns, until_ns;
};

/* Of one heap, range, thread and stack; over a heap live bytes sum to its bytes at the instant. */
struct mpr_profile_sample {
    uint8_t heap;
    const char *range, *thread; /* range: its path, "outer > inner" */
    uint32_t stack; /* of `code`; where no call stack is known, the range's; 0: none either */
    uint64_t value[MPR_PROFILE_VALUES];
};

/* An object file of native frames. */
struct mpr_profile_module {
    const char *path, *build_id; /* hexadecimal; "": not known */
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

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_profile_read(struct mpr_profile *profile, const char *path,
                     const struct mpr_profile_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error);
void mpr_profile_free(struct mpr_profile *profile);

#endif
