/* Walks the frames of a log, one at a time, and goes on after damage.
 *
 * Invariants: `at` never goes back; at most one frame is decoded at any time.  The rest of a log
 * that would cost far more work than its size explains is taken for damage. */
#ifndef MPR_FRAMES_H
#define MPR_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "mpf/frame.h"

#define MPR_NO_OFFSET UINT64_MAX

struct mpr_frames {
    const uint8_t *data;
    size_t size, at;
    int fd; /* of the file that data is */
    ZSTD_DCtx *zstd;
    uint8_t *payload; /* of the current frame */
    size_t payload_cap;
    uint64_t work, cost; /* done so far; of the newest attempt */
    uint64_t next_seq; /* one more than the newest frame's; the number of frames that the log should
                          hold */

    uint64_t good;        /* frames read */
    uint64_t damaged;     /* stretches of bytes that are no frames */
    uint64_t missing;     /* frames that the numbers say should be there */
    uint64_t bad_offset;  /* the first such place; MPR_NO_OFFSET: none */
    bool hole;            /* some of the missing are where the file has zeros: room given back */
    bool cut;             /* the log ends inside a frame */
    uint64_t cut_offset;  /* where that frame begins */
    uint8_t major, minor; /* of the newest frame */
};

/* The map stays the caller's.  0 or MPF_ERR_SPACE. */
int mpr_frames_open(struct mpr_frames *f, const struct mpr_map *map);
/* Goes on in another file of the same log, or after its size has changed. */
void mpr_frames_turn(struct mpr_frames *f, const struct mpr_map *map, size_t at);
/* The same file has grown: the frame that it ended in may be whole now. */
void mpr_frames_grow(struct mpr_frames *f, const struct mpr_map *map);
void mpr_frames_close(struct mpr_frames *f);
/* Next whole frame; its body is valid until the next call.  1, 0 at the end, MPF_ERR_VERSION (at
 * `at`), MPF_ERR_SPACE. */
int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame);
/* Returns the CLOCK_MONOTONIC ns at which a frame of events was made, or 0 for other frames. */
uint64_t mpr_frames_made(const struct mpf_frame *frame);
/* Tells that the frame just read makes no sense although its checksum is right. */
void mpr_frames_reject(struct mpr_frames *f, uint64_t offset);

#endif
