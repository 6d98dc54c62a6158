/* Blobs that are packed in many pieces are the same after unpacking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "blob.h"

/* Returns incompressible bytes, so that there are as many packed pieces as unpacked ones. */
static uint8_t *noise(size_t bytes)
{
    uint8_t *at = malloc(bytes + 1);
    uint64_t state = 1;
    assert_non_null(at);
    for (size_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        at[i] = (uint8_t)(state >> 56);
    }
    return at;
}

typedef void writes(struct mpr_blob *blob, FILE *out);

static uint8_t *packed(writes *write, const uint8_t *at, size_t bytes, size_t *count)
{
    char *text = NULL;
    struct mpr_blob blob = { 0 };
    FILE *out = open_memstream(&text, count);
    assert_non_null(out);
    mpr_blob_bytes(&blob, at, bytes);
    write(&blob, out);
    assert_int_equal(fclose(out), 0);
    assert_null(blob.at);
    return (uint8_t *)text;
}

static void expect_whole(uint8_t *gzip, size_t count, const uint8_t *wanted, size_t bytes)
{
    enum { GZIP = 16 };
    uint8_t *got = malloc(bytes + 1);
    z_stream z = {
        .next_in = gzip, .avail_in = (uInt)count, .next_out = got, .avail_out = (uInt)bytes + 1
    };
    assert_non_null(got);
    assert_int_equal(inflateInit2(&z, MAX_WBITS + GZIP), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, bytes);
    assert_int_equal(z.avail_in, 0);
    assert_memory_equal(got, wanted, bytes);
    inflateEnd(&z);
    free(got);
}

/* Decodes in place. */
static size_t decode(uint8_t *text, size_t count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t bytes = 0;
    assert_int_equal(count % 4, 0);
    for (size_t i = 0; i < count; i += 4) {
        unsigned word = 0, fill = 0;
        for (size_t k = i; k < i + 4; k++) {
            const char *at = text[k] == '=' ? NULL : strchr(digit, text[k]);
            if (!at) assert_true(text[k] == '=' && i + 4 == count);
            fill += !at;
            word = word << 6 | (at ? (unsigned)(at - digit) : 0);
        }
        for (unsigned k = 0; k + fill < 3; k++) text[bytes++] = (uint8_t)(word >> (16 - 8 * k));
    }
    return bytes;
}

static const size_t sizes[] = { 0, 1, 3 << 18, (3 << 18) + 1, 4000000 };

static void gzip_of_any_size_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t count;
        uint8_t *bytes = noise(sizes[i]), *gzip = packed(mpr_blob_gzip, bytes, sizes[i], &count);
        expect_whole(gzip, count, bytes, sizes[i]);
        free(gzip);
        free(bytes);
    }
}

static void base64_of_any_size_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t count;
        uint8_t *bytes = noise(sizes[i]), *text = packed(mpr_blob_write, bytes, sizes[i], &count);
        count = decode(text, count);
        expect_whole(text, count, bytes, sizes[i]);
        free(text);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_of_any_size_is_complete),
        cmocka_unit_test(base64_of_any_size_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
