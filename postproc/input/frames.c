#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mpr_frames_open(struct mpr_frames *f, const struct mpr_map *map)
{
    *f = (struct mpr_frames){ .bad_offset = MPR_NO_OFFSET };
    mpr_frames_turn(f, map, 0);
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

/* A file that another follows is not cut but damaged. */
void mpr_frames_turn(struct mpr_frames *f, const struct mpr_map *map, size_t at)
{
    if (f->cut) note_bad(f, f->cut_offset);
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
    mpr_frames_turn(f, map, at);
}

/* The frames that a log's fold stands for are not missing: it comes behind the header. */
static bool is_fold(const struct mpr_frames *f, const struct mpf_frame *frame)
{
    return frame->kind == MPF_FRAME_FOLD && f->next_seq == 1;
}

static void accept(struct mpr_frames *f, const struct mpf_frame *frame, size_t length)
{
    if (frame->seq > f->next_seq && !is_fold(f, frame)) {
        f->missing += frame->seq - f->next_seq;
        if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = f->at;
    }
    f->next_seq = frame->seq + 1;
    f->major = frame->major;
    f->minor = frame->minor;
    f->at += length;
    f->good++;
}

/* Bytes that no frame begins with: room that was given back. */
static bool is_empty(const struct mpr_frames *f, size_t at)
{
    static const uint8_t zeros[4];
    return f->size - at >= sizeof zeros && memcmp(f->data + at, zeros, sizeof zeros) == 0;
}

/* Where the next frame may begin; holes are not looked through. */
static size_t next_place(const struct mpr_frames *f)
{
    size_t at = f->at + 1;
    while (at < f->size) {
        const off_t data = lseek(f->fd, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) return f->size;
        const off_t hole = data >= 0 ? lseek(f->fd, data, SEEK_HOLE) : -1;
        const size_t end = hole > data && (size_t)hole < f->size ? (size_t)hole : f->size;
        if (data > (off_t)at) at = (size_t)data;
        at = at < end ? mpf_frame_resync(f->data, end, at) : end;
        if (at < end) return at;
    }
    return f->size;
}

static void accept_behind(struct mpr_frames *f, const struct mpf_frame *frame, size_t length,
                          size_t start)
{
    const bool missing = frame->seq > f->next_seq;
    if (missing && is_empty(f, start)) f->hole = true;
    else note_bad(f, start);
    accept(f, frame, length);
}

int mpr_frames_next(struct mpr_frames *f, struct mpf_frame *frame)
{
    const size_t start = f->at;
    long first_error = 0;
    while (f->at < f->size && !is_worn_out(f)) {
        const long length = read_here(f, frame);
        if (length > 0) {
            f->work += f->cost;
            if (first_error) accept_behind(f, frame, (size_t)length, start);
            else accept(f, frame, (size_t)length);
            return 1;
        }
        if (length == MPF_ERR_VERSION || length == MPF_ERR_SPACE) return (int)length;
        if (!first_error) first_error = length;
        f->work += FAILURE * f->cost;
        f->at = is_worn_out(f) ? f->size : next_place(f);
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

uint64_t mpr_frames_made(const struct mpf_frame *frame)
{
    struct mpf_clock clock[2]; /* from, to: the body begins with them */
    if (frame->kind != MPF_FRAME_EVENTS || frame->body_bytes < sizeof clock) return 0;
    memcpy(clock, frame->body, sizeof clock);
    return clock[1].mono;
}
