/* Walks the frames of a log, one at a time, and continues after damage.
 *
 * Invariants: `at` never decreases; at most one frame is decoded at any time.  If decoding costs
 * far more work than the size of the log can explain, the rest of the log counts as damaged. */
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
    int fd; /* the file that `data` maps */
    ZSTD_DCtx *zstd;
    uint8_t *payload; /* the current frame's */
    size_t payload_cap;
    uint64_t work, cost; /* bytes of payload decoded so far, and in the last attempt */
    uint64_t next_seq;   /* 1 + the newest frame's number, so the frames that the log should have */

    uint64_t good;        /* frames read */
    uint64_t damaged;     /* runs of bytes that are not frames */
    uint64_t missing;     /* frames that must exist, according to the numbers of the others */
    uint64_t bad_offset;  /* the first such place, or MPR_NO_OFFSET */
    bool hole;            /* at the place of some missing frames the file has zeros */
    bool cut;             /* the log ends inside a frame */
    uint64_t cut_offset;  /* offset of that frame */
    uint8_t major, minor; /* format of the newest frame */
};

/* The map stays the caller's.  Returns 0 or MPF_ERR_SPACE. */
int mpr_frames_open(struct mpr_frames *f, const struct mpr_map *map);
/* Continues in another file of the same log, or in the same file with another size. */
void mpr_frames_turn(struct mpr_frames *f, const struct mpr_map *map, size_t at);
/* Continues after the file has grown: the frame that was cut may be complete now. */
void mpr_frames_grow(struct mpr_frames *f, const struct mpr_map *map);
void mpr_frames_close(struct mpr_frames *f);
/* Reads the next whole frame; its body is valid until the next call.  Returns 1, 0 at the end,
 * MPF_ERR_VERSION (for the frame at `at`) or MPF_ERR_SPACE. */
int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame);
/* Returns the CLOCK_MONOTONIC ns at which a frame of events was made, or 0 for other frames. */
uint64_t mpr_frames_made(const struct mpf_frame *frame);
/* Counts the frame just read as damaged: its checksum is right, but its contents make no sense. */
void mpr_frames_reject(struct mpr_frames *f, uint64_t offset);

#endif
