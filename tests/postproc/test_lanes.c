/* If there are more boxes than requested, the lanes of ranges keep the most useful ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "labels.h"
#include "mpf/event.h"
#include "timeline_parts.h"

enum { BOXES = 4096, NAME = 10 };
#define MS UINT64_C(1000000)

static struct mpr_reader reader;
static struct mpr_repeats *repeats;
static struct mpr_lanes *lanes;
static struct mpr_timeline timeline;
static uint64_t now;

static void event(uint32_t thread, unsigned op, uint64_t addr, const char *text)
{
    const struct mpf_event e = { .time = now += MS,
                                 .addr = addr,
                                 .size = text ? strlen(text) : 0,
                                 .thread = thread,
                                 .op = (uint8_t)op,
                                 .data = (const uint8_t *)text };
    mpr_replay_batch(&reader.replay, &e, 1);
}

static int begin(void **state)
{
    const struct mpr_replay_options options = { .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK };
    (void)state;
    now = 0;
    mpr_replay_init(&reader.replay, &options);
    reader.names = mpr_names_new(NULL, NULL);
    repeats = mpr_repeats_watch(&reader.replay);
    lanes = mpr_lanes_watch(BOXES, repeats, &reader.replay);
    event(1, MPF_OP_NAME, NAME, "range");
    return 0;
}

static int end(void **state)
{
    (void)state;
    mpr_lanes_free(lanes);
    mpr_repeats_free(repeats);
    mpr_names_free(reader.names);
    mpr_replay_free(&reader.replay);
    mpr_arena_free(&timeline.arena);
    timeline = (struct mpr_timeline){ 0 };
    return 0;
}

static void once(uint32_t thread)
{
    event(thread, MPF_OP_PUSH, NAME, NULL);
    event(thread, MPF_OP_POP, 0, NULL);
}

/* The number of a thread's boxes, and how many range entries they represent. */
struct lane {
    uint64_t instances;
    size_t boxes;
};

static struct lane lane_of(uint32_t thread)
{
    struct lane lane = { 0, 0 };
    for (size_t i = 0; i < timeline.boxes; i++) {
        if (timeline.box[i].thread != thread) continue;
        lane.boxes++;
        lane.instances += timeline.box[i].count;
    }
    return lane;
}

static void fill(void)
{
    struct mpr_numbering numbering;
    mpr_lanes_end(lanes, &reader.replay);
    mpr_numbering_init(&numbering, &timeline.arena, &reader);
    mpr_lanes_fill(lanes, &numbering, &timeline);
    mpr_numbering_free(&numbering);
}

static void the_boxes_of_one_thread_are_halved(void **state)
{
    (void)state;
    for (int i = 0; i <= BOXES; i++) once(1);
    fill();
    assert_in_range(lane_of(1).boxes, BOXES / 4, BOXES / 2 + 1);
    assert_int_equal(lane_of(1).instances, BOXES + 1);
    assert_int_equal(timeline.boxes_left_out, 0);
}

/* Each thread has a box that cannot be removed, and together these are more than half. */
static void a_lane_keeps_its_detail_among_many_threads(void **state)
{
    enum { MANY = BOXES / 8 * 5, MORE = 20000 };
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) once(2 + i);
    for (int i = 0; i < MORE; i++) once(1);
    fill();
    assert_in_range(lane_of(1).boxes, (BOXES - MANY) / 8, BOXES - MANY);
    assert_int_equal(lane_of(1).instances, MORE);
    assert_int_equal(timeline.boxes_left_out, 0);
}

/* If each new range examined all boxes, this would not end. */
static void boxes_that_do_not_fit_are_left_out(void **state)
{
    enum { ROUNDS = 300 };
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < BOXES + 1000; i++) once(1 + i);
    fill();
    assert_int_equal(timeline.boxes, BOXES);
    assert_int_equal(lane_of(BOXES + 1).boxes, 0);
    assert_true(timeline.boxes_left_out >= UINT64_C(1000) * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_boxes_of_one_thread_are_halved, begin, end),
        cmocka_unit_test_setup_teardown(a_lane_keeps_its_detail_among_many_threads, begin, end),
        cmocka_unit_test_setup_teardown(boxes_that_do_not_fit_are_left_out, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
