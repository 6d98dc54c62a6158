#include "blob.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "utf8.h"

static void add(struct mpr_blob *blob, uint8_t byte)
{
    *MPR_ADD(blob->at, blob->bytes, blob->cap) = byte;
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

/* zlib counts its input in 32 bits, so it gets pieces.  Its output is written in pieces that are
 * multiples of 3 bytes for base64, except the last one. */
enum { PIECE = 3 << 18, GZIP = 16 };

static void pack(struct mpr_blob *blob, FILE *out, bool as_base64)
{
    uint8_t *packed = mpr_alloc(PIECE, 1);
    size_t fed = 0;
    int status;
    z_stream z = { .next_out = packed, .avail_out = PIECE };
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        mpr_alloc_fail();
    do {
        if (!z.avail_in) {
            const size_t left = blob->bytes - fed, piece = left < PIECE ? left : PIECE;
            z.next_in = piece ? blob->at + fed : NULL;
            z.avail_in = (uInt)piece;
            fed += piece;
        }
        status = deflate(&z, fed == blob->bytes ? Z_FINISH : Z_NO_FLUSH);
        if (z.avail_out && status != Z_STREAM_END) continue;
        if (as_base64) base64(out, packed, PIECE - z.avail_out);
        else fwrite(packed, 1, PIECE - z.avail_out, out);
        z.next_out = packed;
        z.avail_out = PIECE;
    } while (status != Z_STREAM_END);
    deflateEnd(&z);
    free(packed);
    mpr_blob_free(blob);
}

void mpr_blob_write(struct mpr_blob *blob, FILE *out) { pack(blob, out, true); }

void mpr_blob_gzip(struct mpr_blob *blob, FILE *out) { pack(blob, out, false); }

void mpr_blob_free(struct mpr_blob *blob)
{
    free(blob->at);
    *blob = (struct mpr_blob){ 0 };
}

/* ---- numbered texts */

uint32_t mpr_strings_number(struct mpr_strings *s, const char *text)
{
    const uint64_t hash = mpr_hash_text(text);
    MPR_INDEX_EACH(number, &s->number, hash)
        if (strcmp(s->at[number - 1], text) == 0) return number;
    *MPR_ADD(s->at, s->count, s->cap) = mpr_arena_text(&s->arena, text);
    mpr_index_add(&s->number, hash, s->count);
    return s->count;
}

void mpr_strings_free(struct mpr_strings *s)
{
    mpr_arena_free(&s->arena);
    mpr_index_free(&s->number);
    free(s->at);
}

/* ---- protobuf */

enum { VARINT = 0, LENGTH = 2 }; /* wire types */

void mpr_protobuf_number(struct mpr_blob *message, unsigned field, uint64_t number)
{
    mpr_blob_number(message, field << 3 | VARINT);
    mpr_blob_number(message, number);
}

static void add_bytes(struct mpr_blob *message, unsigned field, const void *bytes, size_t count)
{
    mpr_blob_number(message, field << 3 | LENGTH);
    mpr_blob_number(message, count);
    mpr_blob_bytes(message, bytes, count);
}

void mpr_protobuf_text(struct mpr_blob *message, unsigned field, const char *text)
{
    size_t bytes;
    char *mended = mpr_utf8_repaired(text, &bytes);
    add_bytes(message, field, mended ? mended : text, bytes);
    free(mended);
}

void mpr_protobuf_message(struct mpr_blob *message, unsigned field, struct mpr_blob *inside)
{
    add_bytes(message, field, inside->at, inside->bytes);
    inside->bytes = 0;
}
