/* PyTorch's caching allocator, by sequences that were computed by hand from its rules. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "caching_allocator.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* The allocator under test, and a text of the driver's events: "+20@0 -20@0 map 40@0". */
struct bench {
    struct mpr_caching_allocator *a;
    uint64_t next;
    char events[1000];
};

/* Segments lie one after the other from address 0, 1000 MiB apart. */
static uint64_t place(void *arg, uint64_t bytes)
{
    struct bench *b = arg;
    (void)bytes;
    return b->next++ * 1000 * MIB;
}

static void changed(void *arg, enum mpr_caching_event event, uint64_t addr, uint64_t bytes)
{
    static const char *const word[] = { "+", "-", "map ", "unmap " };
    struct bench *b = arg;
    const size_t length = strlen(b->events);
    snprintf(b->events + length, sizeof b->events - length, "%s%s%" PRIu64 "@%" PRIu64,
             length ? " " : "", word[event], bytes / MIB, addr / MIB);
}

static void begin(struct bench *b, const char *settings)
{
    struct mpr_caching_settings s = mpr_caching_settings_default();
    char error[200] = "";
    *b = (struct bench){ .a = NULL };
    if (*settings)
        assert_int_equal(mpr_caching_settings_parse(&s, settings, error, sizeof error), 0);
    b->a =
        mpr_caching_new(&s, &(struct mpr_caching_driver){
                                .place = place, .changed = changed, .arg = b, .total = 800 * MIB });
}

static void end(struct bench *b) { mpr_caching_close(b->a); }

static uint32_t take(struct bench *b, uint64_t bytes)
{
    return mpr_caching_alloc(b->a, &(struct mpr_caching_request){ .bytes = bytes });
}

static uint32_t take_on(struct bench *b, uint64_t bytes, uint64_t stream, uint32_t pool)
{
    return mpr_caching_alloc(
        b->a, &(struct mpr_caching_request){ .bytes = bytes, .stream = stream, .pool = pool });
}

static uint64_t address(const struct bench *b, uint32_t block)
{
    return mpr_caching_address(b->a, block);
}

static uint64_t reserved(const struct bench *b) { return mpr_caching_totals(b->a)->reserved; }

/* Returns the events since the last call. */
static const char *events(struct bench *b)
{
    static char text[sizeof b->events];
    memcpy(text, b->events, sizeof text);
    *b->events = 0;
    return text;
}

static void small_requests_share_a_segment_of_2_mib(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    const uint32_t first = take(&b, 1), second = take(&b, 513), third = take(&b, MIB);
    assert_int_equal(mpr_caching_size(b.a, first), 512);
    assert_int_equal(mpr_caching_size(b.a, second), 1024);
    assert_int_equal(address(&b, second), 512);
    assert_int_equal(address(&b, third), 1536);
    assert_string_equal(events(&b), "+2@0");
    take(&b, MIB); /* 510.5 KiB are left */
    assert_string_equal(events(&b), "+2@1000");
    end(&b);
}

static void requests_below_10_mib_share_20_mib_and_larger_ones_are_rounded(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    take(&b, 9 * MIB);
    const uint32_t second = take(&b, 9 * MIB);
    assert_int_equal(address(&b, second), 9 * MIB);
    take(&b, 10 * MIB);
    take(&b, 11 * MIB);
    assert_string_equal(events(&b), "+20@0 +10@1000 +12@2000");
    assert_int_equal(reserved(&b), 42 * MIB);
    end(&b);
}

static void a_rest_of_1_mib_is_not_split_off(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    const uint32_t whole = take(&b, 11 * MIB), split = take(&b, 11 * MIB - 512);
    assert_int_equal(mpr_caching_size(b.a, whole), 12 * MIB);
    assert_int_equal(mpr_caching_size(b.a, split), 11 * MIB - 512);
    end(&b);
}

static void smallest_hole_and_then_lowest_address_is_used(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    uint32_t block[8];
    for (int i = 0; i < 8; i++) block[i] = take(&b, 16 * MIB + (uint64_t)(i % 4) * 2 * MIB);
    events(&b);
    for (int i = 7; i >= 0; i--) mpr_caching_free(b.a, block[i]);
    /* two holes have 18 MiB: the lower one is used first */
    assert_int_equal(address(&b, take(&b, 17 * MIB)), 1000 * MIB);
    assert_int_equal(address(&b, take(&b, 17 * MIB)), 5000 * MIB);
    /* then one of 20 MiB */
    assert_int_equal(address(&b, take(&b, 17 * MIB)), 2000 * MIB);
    assert_string_equal(events(&b), "");
    end(&b);
}

static void neighbouring_holes_are_joined(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    const uint32_t first = take(&b, 6 * MIB), second = take(&b, 6 * MIB), third = take(&b, 8 * MIB);
    mpr_caching_free(b.a, first);
    mpr_caching_free(b.a, third);
    take(&b, 14 * MIB);
    assert_string_equal(events(&b), "+20@0 +14@1000");
    mpr_caching_free(b.a, second);
    assert_int_equal(address(&b, take(&b, 20 * MIB)), 0);
    assert_string_equal(events(&b), "");
    end(&b);
}

static void streams_and_private_pools_do_not_share_holes(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    mpr_caching_free(b.a, take_on(&b, 30 * MIB, 0, 0));
    mpr_caching_free(b.a, take_on(&b, 30 * MIB, 7, 0));
    mpr_caching_free(b.a, take_on(&b, 30 * MIB, 0, 1));
    assert_string_equal(events(&b), "+30@0 +30@1000 +30@2000");
    assert_int_equal(address(&b, take_on(&b, 30 * MIB, 7, 0)), 1000 * MIB);
    assert_int_equal(address(&b, take_on(&b, 30 * MIB, 0, 1)), 2000 * MIB);
    end(&b);
}

static void empty_cache_releases_whole_segments_only(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    const uint32_t whole = take(&b, 30 * MIB), part = take(&b, 4 * MIB), kept = take(&b, 4 * MIB),
                   small = take(&b, 512), graph = take_on(&b, 40 * MIB, 0, 1);
    (void)kept;
    mpr_caching_free(b.a, whole);
    mpr_caching_free(b.a, part);
    mpr_caching_free(b.a, small);
    mpr_caching_free(b.a, graph);
    events(&b);
    mpr_caching_empty_cache(b.a);
    assert_string_equal(events(&b), "-30@0 -2@2000");
    mpr_caching_release_pool(b.a, 1);
    mpr_caching_empty_cache(b.a);
    assert_string_equal(events(&b), "-40@3000");
    assert_int_equal(reserved(&b), 20 * MIB);
    end(&b);
}

static void cached_segments_are_released_before_memory_runs_out(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    mpr_caching_set_capacity(b.a, 100 * MIB);
    const uint32_t idle = take(&b, 60 * MIB);
    take(&b, 4 * MIB);
    mpr_caching_free(b.a, idle);
    assert_int_not_equal(take(&b, 70 * MIB), 0);
    assert_string_equal(events(&b), "+60@0 +20@1000 -60@0 +70@2000");
    assert_int_equal(mpr_caching_totals(b.a)->retries, 1);
    assert_int_equal(take(&b, 20 * MIB), 0);
    assert_int_equal(mpr_caching_totals(b.a)->reserved_peak, 90 * MIB);
    end(&b);
}

static void nothing_is_released_while_a_graph_is_captured(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    mpr_caching_set_capacity(b.a, 100 * MIB);
    mpr_caching_free(b.a, take(&b, 60 * MIB));
    const struct mpr_caching_request request = { .bytes = 70 * MIB, .pool = 1, .capturing = true };
    assert_int_equal(mpr_caching_alloc(b.a, &request), 0);
    assert_int_equal(reserved(&b), 60 * MIB);
    end(&b);
}

static void oversize_blocks_are_not_split(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "max_split_size_mb:64");
    mpr_caching_free(b.a, take(&b, 100 * MIB));
    events(&b);
    /* not for a small request, and not for one that wastes 20 MiB */
    take(&b, 30 * MIB);
    const uint32_t next = take(&b, 80 * MIB);
    assert_string_equal(events(&b), "+30@1000 +80@2000");
    assert_int_equal(mpr_caching_size(b.a, take(&b, 81 * MIB)), 100 * MIB);
    assert_string_equal(events(&b), "");
    mpr_caching_free(b.a, next);
    /* only as many as are needed are released */
    mpr_caching_set_capacity(b.a, 220 * MIB);
    take(&b, 85 * MIB);
    assert_string_equal(events(&b), "-80@2000 +86@3000");
    end(&b);
}

static void sizes_are_rounded_to_divisions_of_powers_of_two(void **state)
{
    struct mpr_caching_settings s = mpr_caching_settings_default();
    char error[200];
    (void)state;
    assert_int_equal(mpr_caching_round(&s, 0), 512);
    assert_int_equal(mpr_caching_round(&s, 1200 * MIB + 1), 1200 * MIB + 512);
    assert_int_equal(
        mpr_caching_settings_parse(&s, "roundup_power2_divisions:4", error, sizeof error), 0);
    assert_int_equal(mpr_caching_round(&s, 1200 * MIB), 1280 * MIB);
    assert_int_equal(mpr_caching_round(&s, 1024 * MIB), 1024 * MIB);
    assert_int_equal(mpr_caching_round(&s, 1281 * MIB), 1536 * MIB);
    assert_int_equal(mpr_caching_round(&s, 2047), 2048);
    assert_int_equal(mpr_caching_round(&s, 2049), 2560);
    assert_int_equal(mpr_caching_settings_parse(&s, "roundup_power2_divisions:[256:1,512:2,>:8]",
                                                error, sizeof error),
                     0);
    assert_int_equal(mpr_caching_round(&s, 300 * MIB), 300 * MIB);
    assert_int_equal(mpr_caching_round(&s, 600 * MIB), 640 * MIB); /* ">" begins at the last size */
    assert_int_equal(mpr_caching_round(&s, 1100 * MIB), 1152 * MIB);
}

static void segments_that_were_idle_longest_are_collected(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "garbage_collection_threshold:0.5,per_process_memory_fraction:0.5"); /* 200 of 400 */
    const uint32_t old = take(&b, 100 * MIB), recent = take(&b, 90 * MIB);
    mpr_caching_free(b.a, old);
    take(&b, 10 * MIB); /* not more than 200 MiB yet, but this one splits the old segment */
    mpr_caching_free(b.a, recent);
    take(&b, 95 * MIB);
    assert_string_equal(events(&b), "+100@0 +90@1000 +96@2000");
    /* 286 MiB: the only idle segment goes */
    take(&b, 97 * MIB);
    assert_string_equal(events(&b), "-90@1000 +98@3000");
    /* more than 400 MiB are never reserved */
    assert_int_equal(take(&b, 120 * MIB), 0);
    end(&b);
}

static void garbage_is_not_collected_without_a_memory_fraction(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "garbage_collection_threshold:0.1");
    mpr_caching_free(b.a, take(&b, 100 * MIB));
    take(&b, 200 * MIB);
    assert_string_equal(events(&b), "+100@0 +200@1000");
    end(&b);
}

static void expandable_segment_grows_in_granules(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "expandable_segments:True");
    const uint32_t first = take(&b, 30 * MIB), second = take(&b, 15 * MIB);
    assert_int_equal(address(&b, second), 30 * MIB);
    assert_string_equal(events(&b), "map 40@0 map 20@40");
    take(&b, 512);
    assert_string_equal(events(&b), "map 2@1000");
    /* the hole at the end is expanded, and the one of 30 MiB at the begin is better */
    mpr_caching_free(b.a, first);
    assert_int_equal(address(&b, take(&b, 12 * MIB)), 0);
    assert_int_equal(address(&b, take(&b, 25 * MIB)), 45 * MIB);
    assert_string_equal(events(&b), "map 20@60");
    end(&b);
}

static void empty_granules_are_unmapped_and_mapped_again(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "expandable_segments:True");
    const uint32_t first = take(&b, 50 * MIB), pin = take(&b, 2 * MIB), last = take(&b, 68 * MIB);
    assert_string_equal(events(&b), "map 60@0 map 60@60");
    mpr_caching_free(b.a, first);
    mpr_caching_free(b.a, last);
    mpr_caching_empty_cache(b.a);
    assert_string_equal(events(&b), "unmap 40@0 unmap 60@60");
    assert_int_equal(reserved(&b), 20 * MIB);
    /* the lowest address with enough room */
    assert_int_equal(address(&b, take(&b, 45 * MIB)), 0);
    assert_string_equal(events(&b), "map 40@0");
    mpr_caching_free(b.a, pin);
    end(&b);
}

static void expandable_segments_do_not_help_blocks_in_each_granule(void **state)
{
    struct bench b;
    uint32_t rest[40];
    (void)state;
    begin(&b, "expandable_segments:True");
    for (int i = 0; i < 40; i += 2) {
        rest[i] = take(&b, 9 * MIB);
        rest[i + 1] = take(&b, 9 * MIB);
        take(&b, 2 * MIB);
    }
    assert_int_equal(reserved(&b), 400 * MIB);
    for (int i = 0; i < 40; i++) mpr_caching_free(b.a, rest[i]);
    mpr_caching_set_capacity(b.a, 410 * MIB);
    assert_int_equal(take(&b, 30 * MIB), 0);
    assert_int_equal(reserved(&b), 400 * MIB);
    end(&b);
}

static void least_request_is_known_for_whole_holes(void **state)
{
    struct bench b;
    (void)state;
    begin(&b, "");
    const uint32_t first = take(&b, 30 * MIB);
    assert_int_equal(mpr_caching_least_request(b.a), 29 * MIB);
    const uint32_t second = take(&b, 29 * MIB + 512);      /* also 30 MiB */
    const uint32_t third = take(&b, 28 * MIB + 512 * KIB); /* 28.5 MiB of 30 MiB */
    assert_int_equal(mpr_caching_least_request(b.a), 28 * MIB + 512 * KIB);
    mpr_caching_free(b.a, third);
    const uint32_t split = take(&b, 28 * MIB);
    assert_int_equal(mpr_caching_least_request(b.a), 28 * MIB);
    mpr_caching_free(b.a, first);
    mpr_caching_free(b.a, second);
    (void)split;
    end(&b);
}

static void settings_are_read_as_pytorch_reads_them(void **state)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        { "", "a setting is missing: expected KEY:VALUE" },
        { "expandable_segments", "expected ':' and a value after 'expandable_segments'" },
        { "expandable_segments:yes", "expandable_segments is 'yes': expected True or False" },
        { "max_split_size_mb:19", "max_split_size_mb is 19: PyTorch accepts 20 and more" },
        { "max_split_size_mb:x", "max_split_size_mb is 'x': expected a number" },
        { "garbage_collection_threshold:1",
          "garbage_collection_threshold is '1': expected a number between 0 and 1" },
        { "roundup_power2_divisions:3",
          "roundup_power2_divisions has 3 divisions: expected 0 or a power of two" },
        { "roundup_power2_divisions:[256:2", "roundup_power2_divisions: ']' is missing" },
        { "backend:cudaMallocAsync", "the backend cudaMallocAsync is not the caching allocator, so "
                                     "its memory cannot be computed" },
        { "large_segment_size_mb:40",
          "'large_segment_size_mb' is not a setting that can be computed" },
        { "expandable_segments:True]", "unexpected ']' after the value of expandable_segments" },
    };
    (void)state;
    struct mpr_caching_settings s = mpr_caching_settings_default();
    char error[200];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(mpr_caching_settings_parse(&s, wrong[i].text, error, sizeof error), -1);
        assert_string_equal(error, wrong[i].error);
        assert_false(s.expandable_segments);
    }
    assert_int_equal(
        mpr_caching_settings_parse(&s,
                                   " expandable_segments : True , max_split_size_mb:64,"
                                   "pinned_num_register_threads:8,backend:native",
                                   error, sizeof error),
        0);
    assert_true(s.expandable_segments);
    assert_int_equal(s.max_split_size, 64 * MIB);
}

/* Requests, frees and releases at random keep the allocator consistent: its blocks do not overlap,
 * and when all are freed everything can be released. */
static void random_requests_get_blocks_that_do_not_overlap(void **state)
{
    static const char *const settings[] = { "", "expandable_segments:True", "max_split_size_mb:20",
                                            "expandable_segments:True,roundup_power2_divisions:8" };
    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        enum { BLOCKS = 300 };
        struct bench b;
        uint32_t block[BLOCKS] = { 0 };
        uint64_t seed = round + 1, live = 0;
        begin(&b, settings[round % 4]);
        b.next = 1;
        mpr_caching_set_capacity(b.a, 2000 * MIB);
        for (int i = 0; i < 20000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const uint64_t random = seed >> 33;
            uint32_t *const slot = &block[random % BLOCKS];
            *b.events = 0;
            if (random % 1000 == 7) mpr_caching_empty_cache(b.a);
            if (*slot) {
                live -= mpr_caching_size(b.a, *slot);
                mpr_caching_free(b.a, *slot);
                *slot = 0;
                continue;
            }
            *slot = take_on(&b, random >> (3 + random % 20), random % 3, 0);
            if (!*slot) continue;
            const uint64_t addr = address(&b, *slot), size = mpr_caching_size(b.a, *slot);
            live += size;
            for (int k = 0; k < BLOCKS; k++)
                if (block[k] && &block[k] != slot)
                    assert_true(addr + size <= address(&b, block[k]) ||
                                address(&b, block[k]) + mpr_caching_size(b.a, block[k]) <= addr);
            assert_int_equal(mpr_caching_totals(b.a)->allocated, live);
            assert_true(reserved(&b) >= live && reserved(&b) <= 2000 * MIB);
        }
        for (int k = 0; k < BLOCKS; k++)
            if (block[k]) mpr_caching_free(b.a, block[k]);
        mpr_caching_empty_cache(b.a);
        assert_int_equal(reserved(&b), 0);
        end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_requests_share_a_segment_of_2_mib),
        cmocka_unit_test(requests_below_10_mib_share_20_mib_and_larger_ones_are_rounded),
        cmocka_unit_test(a_rest_of_1_mib_is_not_split_off),
        cmocka_unit_test(smallest_hole_and_then_lowest_address_is_used),
        cmocka_unit_test(neighbouring_holes_are_joined),
        cmocka_unit_test(streams_and_private_pools_do_not_share_holes),
        cmocka_unit_test(empty_cache_releases_whole_segments_only),
        cmocka_unit_test(cached_segments_are_released_before_memory_runs_out),
        cmocka_unit_test(nothing_is_released_while_a_graph_is_captured),
        cmocka_unit_test(oversize_blocks_are_not_split),
        cmocka_unit_test(sizes_are_rounded_to_divisions_of_powers_of_two),
        cmocka_unit_test(segments_that_were_idle_longest_are_collected),
        cmocka_unit_test(garbage_is_not_collected_without_a_memory_fraction),
        cmocka_unit_test(expandable_segment_grows_in_granules),
        cmocka_unit_test(empty_granules_are_unmapped_and_mapped_again),
        cmocka_unit_test(expandable_segments_do_not_help_blocks_in_each_granule),
        cmocka_unit_test(least_request_is_known_for_whole_holes),
        cmocka_unit_test(settings_are_read_as_pytorch_reads_them),
        cmocka_unit_test(random_requests_get_blocks_that_do_not_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
