/* PyTorch's segments at the instants that the page has them of: numbers in the order in which it
 * reads them.  Private to this layer. */
#ifndef MPR_HTML_SEGMENTS_H
#define MPR_HTML_SEGMENTS_H

#include "arena.h"
#include "json.h"
#include "segments.h"

struct mpr_naming;
struct mpr_timeline;

/* A device at one of them. */
struct mpr_page_then {
    uint64_t device, at_oom, since, time;
    uint64_t segments, bytes, live, split_free, idle, graph_free, outside;
    uint64_t rows, pins; /* that the page has of it */
};

/* Whose blocks keep split memory; path: of the list. */
struct mpr_page_pin {
    uint64_t path, free, segments, blocks, bytes;
};

struct mpr_page_segments {
    struct mpr_arena arena;
    struct mpr_page_then *then;
    size_t thens, then_cap;
    struct mpr_segment *row; /* of one instant after the other */
    size_t rows, row_cap;
    struct mpr_page_pin *pin;
    size_t pins, pin_cap;
    struct mpr_path *path; /* as people read them */
    size_t paths, path_cap;
};

/* Where memory ran out first, for `segments` opens there, then the peaks, then the others. */
void mpr_page_segments_fill(struct mpr_page_segments *out, const struct mpr_timeline *t,
                            const struct mpr_naming *naming);
void mpr_html_segments(struct mpr_json *j, const struct mpr_page_segments *segments);
void mpr_page_segments_free(struct mpr_page_segments *segments);

#endif
