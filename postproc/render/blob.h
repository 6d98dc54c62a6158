/* Columns of numbers for the page: LEB128, packed by gzip, written as base64 (the browser's own
 * decoders read both). */
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
/* Writes what was collected and frees it. */
void mpr_blob_write(struct mpr_blob *blob, FILE *out);

#endif
