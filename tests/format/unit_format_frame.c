/* Truncated, corrupted and newer frames, and frames in garbage, are recognised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/frame.h"

enum { BODY = 300, CAP = 2048 };

static uint8_t payload[MPF_FRAME_HEAD + BODY], out[CAP], back[CAP];
static ZSTD_CCtx *cctx;
static ZSTD_DCtx *dctx;

static int make(void **state)
{
    (void)state;
    cctx = ZSTD_createCCtx();
    dctx = ZSTD_createDCtx();
    for (int i = 0; i < BODY; i++) payload[MPF_FRAME_HEAD + i] = (uint8_t)(i * i >> 3);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ZSTD_freeCCtx(cctx);
    ZSTD_freeDCtx(dctx);
    return 0;
}

static size_t write_frame(uint8_t major)
{
    const struct mpf_frame f = {
        .major = major, .minor = MPF_MINOR, .kind = MPF_FRAME_EVENTS, .seq = 77, .body_bytes = BODY
    };
    const long n = mpf_frame_write(cctx, 1, &f, payload, out, CAP);
    assert_true(n > 0);
    return (size_t)n;
}

static void a_frame_is_read_as_it_was_written(void **state)
{
    (void)state;
    const size_t n = write_frame(MPF_MAJOR);
    struct mpf_frame f;
    assert_int_equal(mpf_frame_length(out, n + 100), n);
    assert_int_equal(mpf_frame_payload(out, n), MPF_FRAME_HEAD + BODY);
    assert_int_equal(mpf_frame_read(dctx, out, n, back, CAP, &f), MPF_OK);
    assert_int_equal(f.seq, 77);
    assert_int_equal(f.kind, MPF_FRAME_EVENTS);
    assert_int_equal(f.body_bytes, BODY);
    assert_memory_equal(f.body, payload + MPF_FRAME_HEAD, BODY);
}

static void a_frame_cut_at_any_byte_is_reported_as_truncated(void **state)
{
    (void)state;
    const size_t n = write_frame(MPF_MAJOR);
    struct mpf_frame f;
    for (size_t cut = 1; cut < n; cut++) {
        assert_int_equal(mpf_frame_length(out, cut), MPF_ERR_TRUNCATED);
        assert_true(mpf_frame_read(dctx, out, cut, back, CAP, &f) < 0);
    }
}

/* A flip of a bit that zstd ignores leaves the payload unchanged. Every other flip is an error. */
static void no_flipped_bit_gives_a_wrong_body(void **state)
{
    (void)state;
    const size_t n = write_frame(MPF_MAJOR);
    unsigned errors = 0;
    for (size_t bit = 0; bit < 8 * n; bit++) {
        uint8_t damaged[CAP];
        struct mpf_frame f;
        memcpy(damaged, out, n);
        damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (mpf_frame_read(dctx, damaged, n, back, CAP, &f) != MPF_OK) errors++;
        else assert_memory_equal(f.body, payload + MPF_FRAME_HEAD, BODY);
    }
    assert_true(errors >= 8 * n - 4);
}

/* A valid frame becomes this one if the bit that announces a checksum is flipped. */
static void a_frame_without_a_checksum_is_damage(void **state)
{
    (void)state;
    struct mpf_frame f;
    write_frame(MPF_MAJOR);
    /* The same payload, including its head. */
    const size_t n = ZSTD_compressCCtx(cctx, out, CAP, payload, sizeof payload, 1);
    assert_int_equal(mpf_frame_read(dctx, out, n, back, CAP, &f), MPF_ERR_DAMAGED);
}

static void a_newer_major_version_is_refused(void **state)
{
    (void)state;
    struct mpf_frame f;
    const size_t n = write_frame(MPF_MAJOR + 1);
    assert_int_equal(mpf_frame_read(dctx, out, n, back, CAP, &f), MPF_ERR_VERSION);
}

static void a_buffer_that_is_too_small_is_an_error(void **state)
{
    (void)state;
    struct mpf_frame f;
    const size_t n = write_frame(MPF_MAJOR);
    assert_int_equal(mpf_frame_read(dctx, out, n, back, MPF_FRAME_HEAD + BODY - 1, &f),
                     MPF_ERR_SPACE);
    const struct mpf_frame again = { .major = MPF_MAJOR,
                                     .kind = MPF_FRAME_EVENTS,
                                     .body_bytes = BODY };
    assert_int_equal(mpf_frame_write(cctx, 1, &again, payload, out, 20), MPF_ERR_SPACE);
}

static void a_huge_body_is_damage(void **state)
{
    (void)state;
    const size_t bytes = MPF_FRAME_HEAD + MPF_BODY_MAX + 1;
    uint8_t *zeros = calloc(1, bytes), *small = malloc(ZSTD_compressBound(bytes));
    const size_t n = ZSTD_compressCCtx(cctx, small, ZSTD_compressBound(bytes), zeros, bytes, 1);
    assert_int_equal(mpf_frame_payload(small, n), MPF_ERR_DAMAGED);
    free(zeros);
    free(small);
}

static void the_next_frame_is_found_after_garbage(void **state)
{
    (void)state;
    uint8_t file[CAP + 64];
    const size_t n = write_frame(MPF_MAJOR);
    memset(file, 0x28, 37);
    memcpy(file + 37, out, n);
    assert_int_equal(mpf_frame_resync(file, 37 + n, 0), 37);
    assert_int_equal(mpf_frame_resync(file, 37 + n, 38), 37 + n);
    assert_int_equal(mpf_frame_resync(file, 3, 0), 3);
    assert_int_equal(mpf_frame_length(file, 37), MPF_ERR_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_read_as_it_was_written),
        cmocka_unit_test(a_frame_cut_at_any_byte_is_reported_as_truncated),
        cmocka_unit_test(no_flipped_bit_gives_a_wrong_body),
        cmocka_unit_test(a_frame_without_a_checksum_is_damage),
        cmocka_unit_test(a_newer_major_version_is_refused),
        cmocka_unit_test(a_buffer_that_is_too_small_is_an_error),
        cmocka_unit_test(a_huge_body_is_damage),
        cmocka_unit_test(the_next_frame_is_found_after_garbage),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
