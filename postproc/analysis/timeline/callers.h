/* Call stacks that a result speaks of, their frames named once.  Private to this layer. */
#ifndef MPR_CALLERS_H
#define MPR_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"
#include "reader.h"
#include "timeline_result.h"

struct mpr_callers {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    uint32_t *of_native, *of_python; /* a stack's number in the result, by node; 0: not asked for
                                        yet */
    const struct mpr_frame **frame;
    uint32_t frames, frame_cap;
    struct mpr_index frame_number; /* by hash of the text: number + 1 */
    struct mpr_call_stack *stack;  /* 0 is the empty one */
    uint32_t stacks, stack_cap;
};

void mpr_callers_init(struct mpr_callers *c, struct mpr_arena *arena,
                      const struct mpr_reader *reader);
void mpr_callers_free(struct mpr_callers *c);
/* Numbers in the result of a native stack and of a Python stack, by their nodes; 0 for node 0. */
uint32_t mpr_callers_native(struct mpr_callers *c, uint32_t node);
uint32_t mpr_callers_python(struct mpr_callers *c, uint32_t node);
/* The number of a frame, and a path as such numbers: no stack. */
uint32_t mpr_callers_frame(struct mpr_callers *c, const struct mpr_frame *frame);
struct mpr_call_stack mpr_callers_path(struct mpr_callers *c, struct mpr_path path);
/* Fills stacks and frames of the timeline. */
void mpr_callers_fill(const struct mpr_callers *c, struct mpr_timeline *out);

#endif
