/* A log as the fuzzer of reports has it: its frames as they were before they were compressed, so
 * that what is changed in them has a right checksum again.
 *
 * Bytes: which command is to read it (one byte), then the frames: kind (one byte), length (four
 * bytes, least first), body. */
#ifndef PACKED_H
#define PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { PACKED_HEAD = 5, PACKED_FRAMES = 256, PACKED_MAX = 1 << 20 };

struct packed {
    size_t at, bytes; /* of the body */
    uint8_t kind;
};

/* The frames of the bytes; what is no whole frame at their end is left out.  Their number. */
size_t packed_frames(const uint8_t *data, size_t size, struct packed frame[PACKED_FRAMES]);
/* Appends a frame.  The new size; 0: there is no room. */
size_t packed_add(uint8_t *data, size_t size, size_t cap, uint8_t kind, const uint8_t *body,
                  size_t bytes);
/* The log, as it would be in a file.  Its size; 0: none of it could be written. */
size_t packed_log(const uint8_t *data, size_t size, uint8_t *log, size_t cap);

#endif
