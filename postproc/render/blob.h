/* Bytes that are collected: columns of numbers for the page, LEB128, packed by gzip, written as
 * base64 (the browser's own decoders read both), and messages of protobuf. */
#ifndef MPR_BLOB_H
#define MPR_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mpr_blob {
    uint8_t *at;
    size_t bytes, cap;
};

void mpr_blob_number(struct mpr_blob *blob, uint64_t number);
/* number - before, zigzag. */
void mpr_blob_delta(struct mpr_blob *blob, uint64_t number, uint64_t before);
void mpr_blob_bytes(struct mpr_blob *blob, const void *bytes, size_t count);
/* Writes what was collected, as base64 or as it is packed, and frees it. */
void mpr_blob_write(struct mpr_blob *blob, FILE *out);
void mpr_blob_gzip(struct mpr_blob *blob, FILE *out);
void mpr_blob_free(struct mpr_blob *blob);

#endif
