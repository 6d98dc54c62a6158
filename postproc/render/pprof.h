/* A profile for pprof (profile.proto, packed by gzip) of one or more processes.  A sample is a call
 * stack below its heap, and has heap, range, thread, rank and pid as labels. */
#ifndef MPR_PPROF_H
#define MPR_PPROF_H

#include "arena.h"
#include "blob.h"
#include "index.h"

struct mpr_profile;

struct mpr_pprof {
    struct mpr_blob profile, message, inside; /* each is a part of the one before it */
    struct mpr_arena arena;
    const char **text; /* by number */
    uint32_t texts, text_cap;
    struct mpr_index text_number; /* by hash: number + 1 */
    struct mpr_index function;    /* by numbers of name and file: its id */
    struct mpr_index heap;        /* by id of its function: the id of its location */
    uint32_t functions, locations, mappings;
    uint32_t *of_frame, *of_module; /* ids of locations and mappings of the log that is added */
    uint32_t frames, modules;
    uint64_t begin_ns, end_ns; /* CLOCK_REALTIME; end_ns 0: no log was added */
};

void mpr_pprof_begin(struct mpr_pprof *p);
void mpr_pprof_add(struct mpr_pprof *p, const struct mpr_profile *profile);
/* Writes the profile; errors stay in the stream. */
void mpr_pprof_end(struct mpr_pprof *p, FILE *out);
void mpr_pprof_free(struct mpr_pprof *p);

#endif
