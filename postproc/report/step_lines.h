/* The instances of a repeated range as lines for people: those in a row that are alike are one, and
 * what stands out has a line of its own, however many there are. */
#ifndef MPR_STEP_LINES_H
#define MPR_STEP_LINES_H

#include "document.h"

/* An instance of a heap, or for people some in a row. */
struct mpr_step {
    uint8_t heap;
    const char *log, *range, *name, *last, *thread, *note;
    uint64_t number, count, begin_ns, end_ns;
    uint64_t peak_bytes, peak_time, peak_number, begin_bytes, end_bytes, allocations;
    int64_t kept, change; /* change: of the peak, against the instance before */
    bool unended, peak_out, kept_out, first;
    /* Of a line: */
    uint64_t least_bytes, joined, outs; /* the smallest peak; how many instances, or groups of them,
                                           it is of; how many of these stand out */
    bool told;                          /* a sentence names it */
    const struct mpr_frame *shown;      /* its name */
};

struct mpr_step_lines {
    const struct mpr_step *line;
    size_t lines;
    const size_t *order; /* the first `top` are shown, in the order of time */
};

/* `step` has what sentences name as told. */
struct mpr_step_lines mpr_step_lines(struct mpr_document *doc, const struct mpr_step *step,
                                     size_t steps, uint64_t median);
const char *mpr_step_names(struct mpr_document *doc, uint64_t count, const char *first,
                           const char *last);

#endif
