/* A snapshot of PyTorch's allocator, in the format of torch.cuda.memory._dump_snapshot.  Traces of
 * all devices come first, then annotations, then segments. */
#ifndef MPR_TORCH_SNAPSHOT_H
#define MPR_TORCH_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "index.h"

struct mpr_code;
struct mpr_range_turn;
struct mpr_torch_entry;
struct mpr_torch_state;

struct mpr_torch_snapshot {
    FILE *out;
    const struct mpr_code *code; /* owned by the caller */
    uint64_t start_ns;           /* the process's start, CLOCK_REALTIME */
    uint32_t memos;              /* values that Python keeps, to be written again by number */
    struct mpr_index word;       /* by address of a literal: memo + 1 */
    uint32_t *stack, *frame;     /* by number: memo + 1 */
    uint32_t stacks, frames;
    bool expandable; /* some segments are expandable */
};

/* code: the call stacks of what will be written. */
void mpr_torch_snapshot_begin(struct mpr_torch_snapshot *s, FILE *out, const struct mpr_code *code,
                              uint64_t start_ns);
/* The traces of devices, from device 0 on. */
void mpr_torch_snapshot_trace(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_entry(struct mpr_torch_snapshot *s, const struct mpr_torch_entry *entry);
void mpr_torch_snapshot_trace_end(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_annotations(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_turn(struct mpr_torch_snapshot *s, const struct mpr_range_turn *turn);
void mpr_torch_snapshot_segments(struct mpr_torch_snapshot *s);
void mpr_torch_snapshot_state(struct mpr_torch_snapshot *s, unsigned device,
                              const struct mpr_torch_state *state);
void mpr_torch_snapshot_end(struct mpr_torch_snapshot *s);
/* Also frees a snapshot that was not ended. */
void mpr_torch_snapshot_free(struct mpr_torch_snapshot *s);

#endif
