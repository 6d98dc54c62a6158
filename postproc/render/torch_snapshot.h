/* A snapshot of PyTorch's allocator as torch.cuda.memory._dump_snapshot writes it: traces of the
 * devices, annotations, segments, in this order. */
#ifndef MPR_TORCH_SNAPSHOT_H
#define MPR_TORCH_SNAPSHOT_H

#include <stdio.h>

#include "pickle.h"

struct mpr_code;
struct mpr_range_turn;
struct mpr_torch_entry;
struct mpr_torch_state;

/* code: stacks of what is written. */
struct mpr_torch_snapshot {
    struct mpr_pickle pickle;
    const struct mpr_code *code;
    uint64_t start_ns;       /* of the clock, at the process's start */
    uint32_t *stack, *frame; /* by number: kept + 1 */
    uint32_t stacks, frames;
    bool expandable; /* there are segments that expand */
};

void mpr_torch_snapshot_begin(struct mpr_torch_snapshot *s, FILE *out, const struct mpr_code *code,
                              uint64_t start_ns);
/* Device by device, from 0 on. */
void mpr_torch_snapshot_trace(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_entry(struct mpr_torch_snapshot *s, const struct mpr_torch_entry *entry);
void mpr_torch_snapshot_trace_end(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_annotations(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_turn(struct mpr_torch_snapshot *s, const struct mpr_range_turn *turn);
void mpr_torch_snapshot_segments(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_state(struct mpr_torch_snapshot *s, unsigned device,
                              const struct mpr_torch_state *state);
void mpr_torch_snapshot_end(struct mpr_torch_snapshot *s);
/* Gives back what it has, whether it was ended or not. */
void mpr_torch_snapshot_free(struct mpr_torch_snapshot *s);

#endif
