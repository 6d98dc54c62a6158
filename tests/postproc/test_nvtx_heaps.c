/* Heaps and regions that a library reports through NVTX are counted. */
#include "gpu_test.h"

#include "mpf/sample.h"
#include "replay.h"

enum { R = MPF_HEAP_NVTX, ARENA = 10, SCRATCH, WEIGHTS, HEAD };

static void name(uint32_t id, const char *text)
{
    data(1, MPF_OP_NAME, MPF_HEAP_NONE, id, text, strlen(text));
}

static void heap_at(uint64_t at, uint64_t bytes, uint32_t id)
{
    WORDS(1, MPF_OP_NVTX_HEAP, R, at, bytes, id);
}

static void put(uint64_t in, uint64_t at, uint64_t bytes)
{
    event(1, MPF_OP_NVTX_IN, R, in, 0);
    event(1, MPF_OP_ALLOC, R, at, bytes);
}

static void resize(uint64_t at, uint64_t bytes)
{
    event(1, MPF_OP_MOVE_BEGIN, R, at, 0);
    event(1, MPF_OP_MOVE_END, R, at, bytes);
}

static int start(void **state)
{
    (void)state;
    begin();
    name(ARENA, "arena");
    name(SCRATCH, "scratch");
    name(WEIGHTS, "weights");
    name(HEAD, "head");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    end_replay();
    return 0;
}

static const struct mpr_nvtx *nvtx(void) { return &replay.nvtx; }

/* Returns the sum of the heaps of that name, or zeros if there are none. */
static struct mpr_heap heap_named(uint32_t id)
{
    const uint32_t row = mpr_index_get(&nvtx()->row_number, id);
    return row ? nvtx()->accounts->heap[row] : (struct mpr_heap){ 0 };
}

static const struct mpr_cell *cell(uint32_t heap_id, uint32_t region_id)
{
    const uint32_t row = mpr_index_get(&nvtx()->row_number, heap_id);
    return &nvtx()->accounts->cell[mpr_accounts_cell(nvtx()->accounts, region_id, 0, (uint8_t)row)];
}

static void regions_have_a_separate_address_space(void **state)
{
    (void)state;
    alloc(D, A, 64 * MIB);
    event(1, MPF_OP_ALLOC, MPF_HEAP_HOST, A, 100);
    heap_at(A, 64 * MIB, ARENA);
    put(A, A, 3 * MIB);
    event(1, MPF_OP_FREE, R, A, 0);
    assert_int_equal(heap(R)->bytes, 0);
    assert_int_equal(heap(D)->bytes, 64 * MIB);
    assert_int_equal(heap(MPF_HEAP_HOST)->bytes, 100);
    assert_int_equal(heap(R)->peak_bytes, 3 * MIB);
}

/* A region counts for the device that its address belongs to. */
static void no_byte_of_a_device_is_counted_twice(void **state)
{
    (void)state;
    alloc(D, A, 64 * MIB);
    sample(64 * MIB, 64 * MIB);
    heap_at(A, 64 * MIB, ARENA);
    put(A, A, 48 * MIB);
    sample(64 * MIB, 64 * MIB);
    assert_int_equal(device()->peak.tracked, 64 * MIB);
    assert_int_equal(gpu()->driver.live, 1);
}

static void a_reset_frees_only_the_regions_of_its_heap(void **state)
{
    (void)state;
    heap_at(A, MIB, ARENA);
    heap_at(B, MIB, SCRATCH);
    put(A, A, 10);
    put(B, B, 20);
    put(B, B + 20, 30);
    put(0, 0x5000, 40);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 1);
    assert_int_equal(heap(R)->bytes, 50);
    assert_int_equal(heap(R)->frees, 2);
    event(1, MPF_OP_NVTX_HEAP_END, R, 0, 1);
    assert_int_equal(heap(R)->bytes, 10);
    put(B, B, 5); /* the heap still exists */
    assert_int_equal(heap_named(SCRATCH).bytes, 5);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 0);
    assert_int_equal(heap(R)->bytes, 10);
    assert_int_equal(heap_named(SCRATCH).peak_bytes, 50);
    assert_int_equal(heap_named(MPR_NVTX_PROCESS).peak_bytes, 40);
}

static void a_reset_finds_regions_next_to_a_removed_one(void **state)
{
    (void)state;
    for (uint64_t gone = 0; gone < 3; gone++) {
        heap_at(A, MIB, ARENA);
        for (uint64_t i = 0; i < 3; i++) put(A, A + 100 * i, 10 + i);
        event(1, MPF_OP_FREE, R, A + 100 * gone, 0);
        assert_int_equal(heap_named(ARENA).bytes, 33 - (10 + gone));
        event(1, MPF_OP_NVTX_HEAP_END, R, A, 1);
        assert_int_equal(heap_named(ARENA).bytes, 0);
    }
}

static void a_resize_keeps_heap_and_name(void **state)
{
    (void)state;
    heap_at(A, MIB, ARENA);
    put(A, A, 100);
    event(1, MPF_OP_NVTX_NAME, R, A, WEIGHTS);
    event(1, MPF_OP_NVTX_IN, R, B, 0);
    resize(A, 300);
    assert_int_equal(heap(R)->bytes, 300);
    assert_int_equal(cell(ARENA, WEIGHTS)->bytes, 300);
    assert_int_equal(heap_named(ARENA).bytes, 300);
    event(1, MPF_OP_NVTX_HEAP_END, R, A, 0);
    assert_int_equal(heap(R)->bytes, 0);
}

static void wrong_calls_change_nothing(void **state)
{
    (void)state;
    heap_at(A, MIB, ARENA);
    put(A, A, 100);
    event(1, MPF_OP_FREE, R, A + 8, 0);
    resize(A + 8, 300);
    event(1, MPF_OP_NVTX_NAME, R, A + 8, WEIGHTS);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 0);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 1);
    assert_int_equal(heap(R)->unmatched, 5);
    event(1, MPF_OP_FREE, R, A, 0);
    event(1, MPF_OP_FREE, R, A, 0);
    assert_int_equal(heap(R)->unmatched, 6);
    event(1, MPF_OP_ALLOC, R, 0, 50);
    heap_at(0, 50, SCRATCH);
    WORDS(1, MPF_OP_NVTX_HEAP, R, B, 77); /* too short for a name */
    put(B, B, 50);
    assert_int_equal(heap_named(MPR_NVTX_UNNAMED).bytes, 50);
    assert_int_equal(heap(R)->bytes, 50);
}

static void a_region_reported_twice_counts_once(void **state)
{
    (void)state;
    heap_at(A, MIB, ARENA);
    heap_at(B, MIB, SCRATCH);
    put(A, A, 100);
    put(B, A, 70);
    assert_int_equal(heap(R)->bytes, 70);
    assert_int_equal(heap(R)->missed, 1);
    event(1, MPF_OP_NVTX_HEAP_END, R, A, 0);
    assert_int_equal(heap(R)->bytes, 70);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 0);
    assert_int_equal(heap(R)->bytes, 0);
}

/* Its registration was lost or did not exist. */
static void regions_of_unknown_heaps_count(void **state)
{
    (void)state;
    put(B, B, 30);
    assert_int_equal(heap(R)->bytes, 30);
    assert_int_equal(heap_named(MPR_NVTX_UNREGISTERED).bytes, 30);
    event(1, MPF_OP_NVTX_HEAP_END, R, B, 0);
    assert_int_equal(heap(R)->bytes, 0);
}

static void heaps_with_the_same_name_are_one_row(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        heap_at(A, MIB, ARENA);
        put(A, A, 10);
        put(A, A + 16, 10);
        event(1, MPF_OP_NVTX_HEAP_END, R, A, 0);
    }
    heap_at(A, MIB, ARENA);
    heap_at(B, 2 * MIB, ARENA);
    assert_int_equal(nvtx()->rows, 1);
    assert_int_equal(nvtx()->row[0].heaps, 1002);
    assert_int_equal(nvtx()->row[0].most_bytes, 3 * MIB);
    assert_int_equal(nvtx()->heaps, 2);
    assert_int_equal(nvtx()->regions, 2);
}

/* One row contains the remaining heaps. */
static void the_number_of_rows_is_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * MPR_NVTX_ROWS; i++) {
        heap_at(A + i, 1, 100 + i);
        put(A + i, A + i, 10);
    }
    assert_int_equal(nvtx()->rows, MPR_NVTX_ROWS);
    assert_int_equal(heap_named(MPR_NVTX_OTHER).bytes, 10 * (MPR_NVTX_ROWS + 1));
    assert_int_equal(heap_named(100).bytes, 10);
}

/* A name is recorded after its region, which may have caused the peak. */
static void a_region_has_its_name_at_the_peak(void **state)
{
    (void)state;
    heap_at(A, MIB, ARENA);
    put(A, A, 100);
    event(1, MPF_OP_NVTX_NAME, R, A, WEIGHTS);
    put(A, A + 100, 50);
    event(1, MPF_OP_FREE, R, A + 100, 0);
    put(A, A + 200, 20); /* after the peak */
    event(1, MPF_OP_NVTX_NAME, R, A + 200, HEAD);
    event(1, MPF_OP_NVTX_NAME, R, A, HEAD);
    event(1, MPF_OP_NVTX_NAME, R, A, HEAD);
    assert_int_equal(heap_named(ARENA).peak_bytes, 150);
    assert_int_equal(mpr_accounts_at_peak(nvtx()->accounts, cell(ARENA, HEAD)).bytes, 100);
    assert_int_equal(mpr_accounts_at_peak(nvtx()->accounts, cell(ARENA, HEAD)).blocks, 1);
    assert_int_equal(mpr_accounts_at_peak(nvtx()->accounts, cell(ARENA, WEIGHTS)).bytes, 0);
    assert_int_equal(mpr_accounts_at_peak(nvtx()->accounts, cell(ARENA, MPR_NVTX_UNNAMED)).bytes,
                     50);
    assert_int_equal(cell(ARENA, HEAD)->bytes, 120);
    assert_int_equal(cell(ARENA, HEAD)->allocations, 2);
}

static const char *path_of_first_region(void)
{
    size_t bytes;
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const struct mpr_cell *c = &replay.accounts.cell[i];
        if (c->heap != R) continue;
        const struct mpr_node *node = &replay.ranges.node[c->key];
        return c->key ? mpr_texts_get(&replay.ranges.names, node->name, &bytes) : "";
    }
    return NULL;
}

static void regions_outside_of_ranges_have_the_name_of_their_heap(void **state)
{
    (void)state;
    end_replay();
    for (int with_range = 0; with_range < 2; with_range++) {
        begin_with((struct mpr_replay_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
        name(ARENA, "arena");
        name(HEAD, "head");
        heap_at(A, MIB, ARENA);
        if (with_range) push(1, 0, HEAD);
        put(A, A, 100);
        assert_string_equal(path_of_first_region(), with_range ? "head" : "arena");
        if (!with_range) end_replay();
    }
}

static void an_event_of_a_library_leaves_no_stack_for_the_next(void **state)
{
    (void)state;
    unsigned cells = 0;
    end_replay();
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_STACK, .at = MPR_INSTANT_PEAK });
    event(1, MPF_OP_ALLOC, MPF_HEAP_HOST, A, 100);
    heap_at(A, MIB, ARENA);
    event(1, MPF_OP_ALLOC, MPF_HEAP_HOST, B, 100);
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        cells += replay.accounts.cell[i].heap == MPF_HEAP_HOST;
    assert_int_equal(cells, 1);
}

/* With only a Python stack, as with a native one. */
static void a_region_with_a_sampled_stack_stands_for_others(void **state)
{
    static const unsigned stack[] = { MPF_OP_AT_PYTHON, MPF_OP_AT };
    static const char frame[] = "\7\0\0\0\0\0\0\0load\0a.py";
    (void)state;
    end_replay();
    for (size_t i = 0; i < 2; i++) {
        uint64_t samples = 0;
        begin_with((struct mpr_replay_options){ .by = MPR_GROUP_AUTO,
                                                .at = MPR_INSTANT_PEAK,
                                                .sample_mean = 65536,
                                                .sample_below = MIB });
        WORDS(1, MPF_OP_STACK, MPF_HEAP_NONE, 0x91, 0x3100);
        data(1, MPF_OP_FRAME, MPF_HEAP_NONE, 0x191, frame, sizeof frame);
        WORDS(1, MPF_OP_PYTHON, MPF_HEAP_NONE, 0x91, 0x191);
        event(1, MPF_OP_NVTX_IN, R, 0, 0);
        event(1, stack[i], MPF_HEAP_NONE, 0x91, 0);
        event(1, MPF_OP_ALLOC, R, A, 1024);
        for (uint32_t c = 0; c < replay.accounts.cells; c++)
            samples += mpr_estimates_at_peak(&replay.estimates, &replay.accounts, c).samples;
        assert_int_equal(samples, 1);
        if (!i) end_replay();
    }
}

/* A child's log begins with the parent's reports. */
static void a_fork_removes_the_regions_of_the_parent(void **state)
{
    (void)state;
    end_replay();
    begin_with((struct mpr_replay_options){
        .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK, .has_parent = true });
    event(1, MPF_OP_FREE, R, A, 0);
    assert_int_equal(heap(R)->inherited, 1);
    assert_int_equal(heap(R)->unmatched, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(regions_have_a_separate_address_space),
        TEST(no_byte_of_a_device_is_counted_twice),
        TEST(a_reset_frees_only_the_regions_of_its_heap),
        TEST(a_reset_finds_regions_next_to_a_removed_one),
        TEST(a_resize_keeps_heap_and_name),
        TEST(wrong_calls_change_nothing),
        TEST(a_region_reported_twice_counts_once),
        TEST(regions_of_unknown_heaps_count),
        TEST(heaps_with_the_same_name_are_one_row),
        TEST(the_number_of_rows_is_bounded),
        TEST(a_region_has_its_name_at_the_peak),
        TEST(regions_outside_of_ranges_have_the_name_of_their_heap),
        TEST(an_event_of_a_library_leaves_no_stack_for_the_next),
        TEST(a_region_with_a_sampled_stack_stands_for_others),
        TEST(a_fork_removes_the_regions_of_the_parent),
    };
    return cmocka_run_group_tests_name("nvtx_heaps", tests, NULL, NULL);
}
