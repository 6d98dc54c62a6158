/* Reads the frames of a log one after another, and continues after damage.
 *
 * A file is read once, and only one frame is in memory.  If decoding costs far more work than the
 * size of the log can explain, the rest of the log counts as damaged. */
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
    uint64_t next_seq;   /* 1 + the number of the newest frame */

    uint64_t good;        /* frames read */
    uint64_t damaged;     /* places with bytes that are not frames */
    uint64_t missing;     /* frames that must exist, according to the numbers of the others */
    uint64_t bad_offset;  /* offset of the first damage or missing frame, or MPR_NO_OFFSET */
    bool hole;            /* the file has zeros where some frames are missing */
    bool cut;             /* the log ends inside a frame */
    uint64_t cut_offset;  /* offset of that frame */
    uint8_t major, minor; /* format of the newest frame */
};

/* The caller closes the map after the frames.  Returns 0 or MPF_ERR_SPACE. */
int mpr_frames_open(struct mpr_frames *f, const struct mpr_map *map);
/* Continues at an offset of another map: of another file of the log, or of the same file with
 * another size.  If the last frame was cut, it counts as damaged. */
void mpr_frames_continue(struct mpr_frames *f, const struct mpr_map *map, size_t at);
/* Continues in the map of the same file after it has grown: the frame that was cut may be complete
 * now. */
void mpr_frames_grow(struct mpr_frames *f, const struct mpr_map *map);
void mpr_frames_close(struct mpr_frames *f);
/* Reads the next whole frame; its body is valid until the next call.  Returns 1, 0 at the end,
 * MPF_ERR_VERSION (for the frame at `at`) or MPF_ERR_SPACE. */
int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame);
/* Returns the CLOCK_MONOTONIC ns at which a frame of events was written, or 0 for other frames. */
uint64_t mpr_frame_time(const struct mpf_frame *frame);
/* Counts the frame just read as damaged: its checksum is right, but its contents are not. */
void mpr_frames_reject(struct mpr_frames *f, uint64_t offset);

#endif
