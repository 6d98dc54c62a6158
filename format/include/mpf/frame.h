/* Frames: a log is a row of independent zstd frames, each with one payload: this head, then a body.
 *
 * No frame needs another one to be decoded; events in later frames are never older than events in
 * earlier ones. The caller brings all buffers and the zstd contexts; nothing here allocates, locks
 * or touches a file. */
#ifndef MPF_FRAME_H
#define MPF_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "mpf/slot.h"

#define MPF_FRAME_MAGIC 0x3146504dU /* "MPF1" */
#define MPF_FRAME_HEAD  32          /* bytes of the head in the payload */
#define MPF_BODY_MAX    (64u << 20) /* a larger body is damage */

enum mpf_frame_kind {
    MPF_FRAME_HEADER = 1, /* first frame: pairs of NUL-terminated strings (mpf/header.h) */
    MPF_FRAME_EVENTS,     /* columns (mpf/columns.h) */
    MPF_FRAME_SLOTS,      /* raw slots, recovered from a journal */
    MPF_FRAME_END,        /* the log is whole; pairs of strings */
    MPF_FRAME_FOLD, /* the following frames represent more frames, thinned; pairs of strings */
};

struct mpf_frame {
    uint8_t major, minor, kind;
    uint64_t seq; /* 0, 1, 2, ... without a hole */
    const uint8_t *body;
    size_t body_bytes;
};

enum mpf_error {
    MPF_OK = 0,
    MPF_ERR_TRUNCATED = -1, /* the bytes end inside a frame */
    MPF_ERR_DAMAGED = -2,   /* checksum, magic or lengths are wrong */
    MPF_ERR_VERSION = -3,   /* a newer major version */
    MPF_ERR_SPACE = -4,     /* the caller's buffer is too small */
};
const char *mpf_error_text(int error);

/* Compresses the payload as one zstd frame with a checksum into out.  The payload is MPF_FRAME_HEAD
 * bytes that this fills in, then the body (frame->body is not used).  ctx may live in static memory
 * of ZSTD_estimateCCtxSize(level). Returns the frame's length, or an mpf_error. */
long mpf_frame_write(ZSTD_CCtx *ctx, int level, const struct mpf_frame *frame, uint8_t *payload,
                     uint8_t *out, size_t cap);
/* Bytes that mpf_frame_write may need at most. */
size_t mpf_frame_bound(size_t body_bytes);

/* Length of the zstd frame that starts at in[0], without decoding it; or an mpf_error. */
long mpf_frame_length(const uint8_t *in, size_t bytes);
/* Bytes that the payload of the frame at in[0] needs; or an mpf_error (more than MPF_BODY_MAX is
 * damage). */
long mpf_frame_payload(const uint8_t *in, size_t bytes);
/* Decodes the frame at in[0..bytes) into buf and fills *frame (body points into buf).  0 or an
 * mpf_error. */
int mpf_frame_read(ZSTD_DCtx *ctx, const uint8_t *in, size_t bytes, uint8_t *buf, size_t cap,
                   struct mpf_frame *frame);
/* Offset of the next place at or after `from` where a frame may start (for going on after damage);
 * bytes if none. */
size_t mpf_frame_resync(const uint8_t *in, size_t bytes, size_t from);

#endif
