#include "blob.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"

static void add(struct mpr_blob *blob, uint8_t byte)
{
    MPR_GROW(blob->at, blob->bytes, blob->cap);
    blob->at[blob->bytes++] = byte;
}

void mpr_blob_bytes(struct mpr_blob *blob, const void *bytes, size_t count)
{
    if (count > blob->cap - blob->bytes) {
        blob->cap = 2 * (blob->bytes + count);
        blob->at = mpr_resize(blob->at, blob->cap, 1);
    }
    if (count) memcpy(blob->at + blob->bytes, bytes, count);
    blob->bytes += count;
}

void mpr_blob_number(struct mpr_blob *blob, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) add(blob, (uint8_t)(number | 0x80));
    add(blob, (uint8_t)number);
}

void mpr_blob_delta(struct mpr_blob *blob, uint64_t number, uint64_t before)
{
    const int64_t delta = (int64_t)(number - before);
    mpr_blob_number(blob, (uint64_t)delta << 1 ^ (uint64_t)(delta >> 63));
}

/* The gzip file of the blob. */
static uint8_t *gzip(const struct mpr_blob *blob, size_t *bytes)
{
    enum { GZIP = 16 };
    z_stream z = { .next_in = blob->at, .avail_in = (uInt)blob->bytes };
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        mpr_alloc_end();
    const uLong bound = deflateBound(&z, (uLong)blob->bytes);
    uint8_t *out = mpr_alloc(bound, 1);
    z.next_out = out;
    z.avail_out = (uInt)bound;
    deflate(&z, Z_FINISH);
    *bytes = z.total_out;
    deflateEnd(&z);
    return out;
}

static void base64(FILE *out, const uint8_t *at, size_t bytes)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        const unsigned b = i + 1 < bytes ? at[i + 1] : 0, c = i + 2 < bytes ? at[i + 2] : 0;
        const unsigned word = (unsigned)at[i] << 16 | b << 8 | c;
        fputc(digit[word >> 18], out);
        fputc(digit[word >> 12 & 63], out);
        fputc(i + 1 < bytes ? digit[word >> 6 & 63] : '=', out);
        fputc(i + 2 < bytes ? digit[word & 63] : '=', out);
    }
}

void mpr_blob_write(struct mpr_blob *blob, FILE *out)
{
    size_t bytes;
    uint8_t *packed = gzip(blob, &bytes);
    base64(out, packed, bytes);
    free(packed);
    mpr_blob_free(blob);
}

void mpr_blob_gzip(struct mpr_blob *blob, FILE *out)
{
    size_t bytes;
    uint8_t *packed = gzip(blob, &bytes);
    fwrite(packed, 1, bytes, out);
    free(packed);
    mpr_blob_free(blob);
}

void mpr_blob_free(struct mpr_blob *blob)
{
    free(blob->at);
    *blob = (struct mpr_blob){ 0 };
}
