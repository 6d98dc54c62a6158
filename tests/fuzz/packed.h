/* A log as the fuzzer of reports uses it: with uncompressed frames, so that mutated frames get
 * valid checksums when they are compressed.
 *
 * The bytes are: the command that reads it (one byte), then the frames: kind (one byte), length
 * (four bytes, little-endian), body. */
#ifndef PACKED_H
#define PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { PACKED_HEAD = 5, PACKED_FRAMES = 256, PACKED_MAX = 1 << 20 };

struct packed {
    size_t at, bytes; /* of the body */
    uint8_t kind;
};

/* Finds the frames in the bytes and returns their number. An incomplete frame at the end is
 * ignored. */
size_t packed_frames(const uint8_t *data, size_t size, struct packed frame[PACKED_FRAMES]);
/* Appends a frame. Returns the new size, or 0 if it does not fit. */
size_t packed_add(uint8_t *data, size_t size, size_t cap, uint8_t kind, const uint8_t *body,
                  size_t bytes);
/* Writes the log in the format of a file. Returns its size, or 0 if nothing could be written. */
size_t packed_log(const uint8_t *data, size_t size, uint8_t *log, size_t cap);

#endif
