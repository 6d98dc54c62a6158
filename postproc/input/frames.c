#include "frames.h"

#include <stdlib.h>

int mpr_frames_open(struct mpr_frames *f, const uint8_t *data, size_t size)
{
    *f = (struct mpr_frames){ .data = data, .size = size, .bad_offset = MPR_NO_OFFSET };
    f->zstd = ZSTD_createDCtx();
    return f->zstd ? 0 : MPF_ERR_SPACE;
}

void mpr_frames_close(struct mpr_frames *f)
{
    ZSTD_freeDCtx(f->zstd);
    free(f->payload);
    *f = (struct mpr_frames){ 0 };
}

/* Work is bounded by the file, in bytes of payload: no frame of ours unpacks to 4,096 times its
 * size.  A place that looks like a frame and is none costs as much as 64 that are. */
#define UNPACKED        4096u
#define FAILURE         64u
#define FREE_WORK       (UINT64_C(1) << 30)
#define ZSTD_HEADER_MAX 18u

static bool is_worn_out(const struct mpr_frames *f)
{
    return f->work > FREE_WORK + UNPACKED * (uint64_t)f->size;
}

static int make_room(struct mpr_frames *f, size_t bytes)
{
    if (bytes <= f->payload_cap) return 0;
    uint8_t *grown = realloc(f->payload, bytes);
    if (!grown) return MPF_ERR_SPACE;
    f->payload = grown;
    f->payload_cap = bytes;
    return 0;
}

/* Decodes the frame at `at`: its length in the file, or an mpf_error. */
static long read_here(struct mpr_frames *f, struct mpf_frame *frame)
{
    const uint8_t *in = f->data + f->at;
    const size_t left = f->size - f->at;
    const long payload = mpf_frame_payload(in, left);
    const size_t most =
        payload < 0 ? ZSTD_HEADER_MAX : mpf_frame_bound((size_t)payload - MPF_FRAME_HEAD);
    f->cost = most;
    const long length = mpf_frame_length(in, left < most ? left : most);
    if (length == MPF_ERR_TRUNCATED && left > most) return MPF_ERR_DAMAGED;
    if (length <= 0) return length < 0 ? length : MPF_ERR_DAMAGED;
    if (payload < 0) return payload;
    if (make_room(f, (size_t)payload) != 0) return MPF_ERR_SPACE;
    const int error =
        mpf_frame_read(f->zstd, in, (size_t)length, f->payload, f->payload_cap, frame);
    return error ? error : length;
}

static void note_bad(struct mpr_frames *f, uint64_t offset)
{
    f->damaged++;
    if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = offset;
}

static void accept(struct mpr_frames *f, const struct mpf_frame *frame, size_t length)
{
    if (frame->seq > f->next_seq) {
        f->missing += frame->seq - f->next_seq;
        if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = f->at;
    }
    f->next_seq = frame->seq + 1;
    f->major = frame->major;
    f->minor = frame->minor;
    f->at += length;
    f->good++;
}

int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame)
{
    const size_t start = f->at;
    long first_error = 0;
    while (f->at < f->size && !is_worn_out(f)) {
        const long length = read_here(f, frame);
        if (length > 0) {
            if (first_error) note_bad(f, start);
            f->work += f->cost;
            accept(f, frame, (size_t)length);
            return 1;
        }
        if (length == MPF_ERR_VERSION || length == MPF_ERR_SPACE) return (int)length;
        if (!first_error) first_error = length;
        f->work += FAILURE * f->cost;
        f->at = is_worn_out(f) ? f->size : mpf_frame_resync(f->data, f->size, f->at + 1);
    }
    if (f->at < f->size && !first_error) first_error = MPF_ERR_DAMAGED;
    f->at = f->size;
    if (first_error == MPF_ERR_TRUNCATED) {
        f->cut = true;
        f->cut_offset = start;
    } else if (first_error) {
        note_bad(f, start);
    }
    return 0;
}

void mpr_frames_reject(struct mpr_frames *f, uint64_t offset) { note_bad(f, offset); }
