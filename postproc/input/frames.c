#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"

/* The limit of the work, in bytes of payload: memprof's frames unpack to less than MAX_RATIO times
 * their size.  A frame that cannot be decoded counts FAILURE_FACTOR times. */
#define MAX_RATIO       4096u
#define FAILURE_FACTOR  64u
#define FREE_WORK       (UINT64_C(1) << 30)
#define ZSTD_HEADER_MAX 18u

int mpr_frames_open(struct mpr_frames *f, const struct mpr_map *map)
{
    *f = (struct mpr_frames){ .bad_offset = MPR_NO_OFFSET };
    mpr_frames_continue(f, map, 0);
    f->zstd = ZSTD_createDCtx();
    return f->zstd ? 0 : MPF_ERR_SPACE;
}

void mpr_frames_close(struct mpr_frames *f)
{
    ZSTD_freeDCtx(f->zstd);
    free(f->payload);
    *f = (struct mpr_frames){ 0 };
}

void mpr_frames_reject(struct mpr_frames *f, uint64_t offset)
{
    f->damaged++;
    if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = offset;
}

void mpr_frames_continue(struct mpr_frames *f, const struct mpr_map *map, size_t at)
{
    if (f->cut) mpr_frames_reject(f, f->cut_offset);
    f->cut = false;
    f->data = map->data;
    f->size = map->size;
    f->at = at < map->size ? at : map->size;
    f->fd = map->fd;
}

void mpr_frames_grow(struct mpr_frames *f, const struct mpr_map *map)
{
    const size_t at = f->cut ? (size_t)f->cut_offset : f->at;
    f->cut = false;
    mpr_frames_continue(f, map, at);
}

/* Decodes the frame at `at`.  Returns its length in the file, or an mpf_error. */
static long decode(struct mpr_frames *f, struct mpf_frame *frame)
{
    const uint8_t *in = f->data + f->at;
    const size_t left = f->size - f->at;
    const long payload = mpf_frame_payload(in, left);
    const size_t max =
        payload < 0 ? ZSTD_HEADER_MAX : mpf_frame_bound((size_t)payload - MPF_FRAME_HEAD);
    f->cost = max;
    const long length = mpf_frame_length(in, left < max ? left : max);
    if (length == MPF_ERR_TRUNCATED && left > max) return MPF_ERR_DAMAGED;
    if (length <= 0) return length < 0 ? length : MPF_ERR_DAMAGED;
    if (payload < 0) return payload;
    if ((size_t)payload > f->payload_cap) {
        uint8_t *larger = realloc(f->payload, (size_t)payload);
        if (!larger) return MPF_ERR_SPACE;
        f->payload = larger;
        f->payload_cap = (size_t)payload;
    }
    const int error =
        mpf_frame_read(f->zstd, in, (size_t)length, f->payload, f->payload_cap, frame);
    return error ? error : length;
}

/* Counts a frame that was read, and the frames missing before it.  Between the header and a mark
 * none are missing: those were thinned. */
static void count_frame(struct mpr_frames *f, const struct mpf_frame *frame, size_t length)
{
    const bool is_mark = frame->kind == MPF_FRAME_FOLD && f->next_seq == 1;
    if (frame->seq > f->next_seq && !is_mark) {
        f->missing += frame->seq - f->next_seq;
        if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = f->at;
    }
    f->next_seq = frame->seq + 1;
    f->major = frame->major;
    f->minor = frame->minor;
    f->at += length;
    f->good++;
}

/* Returns the offset after `at` at which the next frame may begin.  Holes are skipped. */
static size_t find_next(const struct mpr_frames *f)
{
    size_t end;
    for (size_t at = f->at + 1; at < f->size; at = end) {
        at = mpr_file_skip_hole(f->fd, at, f->size, &end);
        if (at < end) at = mpf_frame_resync(f->data, end, at);
        if (at < end) return at;
    }
    return f->size;
}

static bool is_too_much_work(const struct mpr_frames *f)
{
    return f->work > FREE_WORK + MAX_RATIO * (uint64_t)f->size;
}

/* No frame begins with zeros: if frames are missing where there are zeros, their disk space was
 * released by thinning. */
int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame)
{
    static const uint8_t zeros[4];
    const size_t start = f->at;
    long first_error = 0;
    while (f->at < f->size && !is_too_much_work(f)) {
        const long length = decode(f, frame);
        if (length > 0) {
            f->work += f->cost;
            const bool is_hole = f->size - start >= sizeof zeros &&
                                 memcmp(f->data + start, zeros, sizeof zeros) == 0;
            if (first_error && frame->seq > f->next_seq && is_hole) f->hole = true;
            else if (first_error) mpr_frames_reject(f, start);
            count_frame(f, frame, (size_t)length);
            return 1;
        }
        if (length == MPF_ERR_VERSION || length == MPF_ERR_SPACE) return (int)length;
        if (!first_error) first_error = length;
        f->work += FAILURE_FACTOR * f->cost;
        f->at = is_too_much_work(f) ? f->size : find_next(f);
    }
    if (f->at < f->size && !first_error) first_error = MPF_ERR_DAMAGED;
    f->at = f->size;
    if (first_error == MPF_ERR_TRUNCATED) {
        f->cut = true;
        f->cut_offset = start;
    } else if (first_error) mpr_frames_reject(f, start);
    return 0;
}

uint64_t mpr_frame_time(const struct mpf_frame *frame)
{
    struct mpf_clock clock[2]; /* the body begins with the times of its first and last event */
    if (frame->kind != MPF_FRAME_EVENTS || frame->body_bytes < sizeof clock) return 0;
    memcpy(clock, frame->body, sizeof clock);
    return clock[1].mono;
}
