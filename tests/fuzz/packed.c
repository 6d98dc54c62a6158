#include "packed.h"

#include <string.h>

#include "mpf/frame.h"

static size_t length_at(const uint8_t *at)
{
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

size_t packed_frames(const uint8_t *data, size_t size, struct packed frame[PACKED_FRAMES])
{
    size_t n = 0, at = 1;
    while (n < PACKED_FRAMES && at + PACKED_HEAD <= size) {
        const struct packed f = { at + PACKED_HEAD, length_at(data + at + 1), data[at] };
        if (f.bytes > size - f.at) break;
        frame[n++] = f;
        at = f.at + f.bytes;
    }
    return n;
}

size_t packed_add(uint8_t *data, size_t size, size_t cap, uint8_t kind, const uint8_t *body,
                  size_t bytes)
{
    if (size > cap || cap - size < PACKED_HEAD || cap - size - PACKED_HEAD < bytes) return 0;
    uint8_t *at = data + size;
    at[0] = kind;
    for (int i = 0; i < 4; i++) at[1 + i] = (uint8_t)(bytes >> 8 * i);
    memcpy(at + PACKED_HEAD, body, bytes);
    return size + PACKED_HEAD + bytes;
}

size_t packed_log(const uint8_t *data, size_t size, uint8_t *log, size_t cap)
{
    static ZSTD_CCtx *zstd;
    static uint8_t payload[MPF_FRAME_HEAD + PACKED_MAX];
    struct packed at[PACKED_FRAMES];
    const size_t frames = packed_frames(data, size, at);
    size_t done = 0;
    if (!zstd) zstd = ZSTD_createCCtx();
    for (size_t i = 0; i < frames; i++) {
        const struct mpf_frame frame = { .major = MPF_MAJOR,
                                         .minor = MPF_MINOR,
                                         .kind = at[i].kind,
                                         .seq = i,
                                         .body_bytes = at[i].bytes };
        if (at[i].bytes > PACKED_MAX) break;
        memcpy(payload + MPF_FRAME_HEAD, data + at[i].at, at[i].bytes);
        const long n = mpf_frame_write(zstd, 1, &frame, payload, log + done, cap - done);
        if (n < 0) break;
        done += (size_t)n;
    }
    return done;
}
