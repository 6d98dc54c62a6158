/* Bytes that are collected in memory: columns of numbers for the page, and messages of Protocol
 * Buffers.  A blob of zeros is empty. */
#ifndef MPR_BLOB_H
#define MPR_BLOB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"
#include "index.h"

struct mpr_blob {
    uint8_t *at;
    size_t bytes, cap;
};

/* Adds a number as LEB128. */
void mpr_blob_number(struct mpr_blob *blob, uint64_t number);
/* Adds number - before, in zigzag code. */
void mpr_blob_delta(struct mpr_blob *blob, uint64_t number, uint64_t before);
void mpr_blob_bytes(struct mpr_blob *blob, const void *bytes, size_t count);
/* Write the blob packed by gzip, and free it.  mpr_blob_write writes it in base64, for a browser.
 */
void mpr_blob_write(struct mpr_blob *blob, FILE *out);
void mpr_blob_gzip(struct mpr_blob *blob, FILE *out);
void mpr_blob_free(struct mpr_blob *blob);

/* ---- fields of a protobuf message, with the numbers of its .proto file */

/* Adds an integer, an enum or a flag; a signed integer must not be negative. */
void mpr_protobuf_number(struct mpr_blob *message, unsigned field, uint64_t number);
/* Invalid UTF-8 in the text is replaced. */
void mpr_protobuf_text(struct mpr_blob *message, unsigned field, const char *text);
/* Adds @inside, which is complete, to @message as a field, and empties @inside for reuse. */
void mpr_protobuf_message(struct mpr_blob *message, unsigned field, struct mpr_blob *inside);

/* ---- texts that a file has once, and refers to by number.  All zeros at first. */

struct mpr_strings {
    struct mpr_arena arena;
    const char **at; /* by number - 1 */
    uint32_t count, cap;
    struct mpr_index number; /* by hash */
};
/* Returns the number of the text, from 1.  A new one is added, and is the last. */
uint32_t mpr_strings_number(struct mpr_strings *strings, const char *text);
void mpr_strings_free(struct mpr_strings *strings);

#endif
