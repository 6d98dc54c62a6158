/* Repeating ranges are found with the names of their instances, and with the instance that is open
 * at a peak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/event.h"
#include "repeats.h"

enum { H = MPF_HEAP_HOST, TORCH = 1 };
#define MS UINT64_C(1000000)

struct fixture {
    struct mpr_replay replay;
    struct mpr_repeats *repeats;
    struct mpr_arena arena;
    uint64_t now, address;
    uint32_t names;
};

static int begin(void **state)
{
    const struct mpr_replay_options options = { .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK };
    struct fixture *f = *state = calloc(1, sizeof *f);
    if (!f) return -1;
    mpr_replay_init(&f->replay, &options);
    f->repeats = mpr_repeats_watch(&f->replay);
    f->names = 10;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_repeats_free(f->repeats);
    mpr_replay_free(&f->replay);
    mpr_arena_free(&f->arena);
    free(f);
    return 0;
}

static void event(struct fixture *f, uint32_t thread, unsigned op, uint64_t addr, uint64_t size,
                  const char *text)
{
    const struct mpf_event e = { .time = f->now += MS,
                                 .addr = addr,
                                 .size = text ? strlen(text) : size,
                                 .thread = thread,
                                 .op = (uint8_t)op,
                                 .heap = op == MPF_OP_ALLOC || op == MPF_OP_FREE ? H : 0,
                                 .data = (const uint8_t *)text };
    mpr_replay_batch(&f->replay, &e, 1);
}

static void push_in(struct fixture *f, uint32_t thread, uint64_t domain, const char *name)
{
    event(f, thread, MPF_OP_NAME, ++f->names, 0, name);
    event(f, thread, MPF_OP_PUSH, domain << 32 | f->names, 0, NULL);
}

static void push(struct fixture *f, const char *name) { push_in(f, 1, 0, name); }
static void pop(struct fixture *f) { event(f, 1, MPF_OP_POP, 0, 0, NULL); }

/* Allocates this number of bytes and frees them again. */
static void spike(struct fixture *f, uint64_t bytes)
{
    event(f, 1, MPF_OP_ALLOC, ++f->address << 12, bytes, NULL);
    event(f, 1, MPF_OP_FREE, f->address << 12, 0, NULL);
}

static void range(struct fixture *f, const char *name, uint64_t bytes)
{
    push(f, name);
    spike(f, bytes);
    pop(f);
}

static const char *outermost(struct fixture *f)
{
    mpr_repeats_end(f->repeats, &f->replay);
    const uint32_t repeat = mpr_repeats_outermost(f->repeats);
    return repeat ? mpr_repeats_name(f->repeats, &f->arena, repeat) : "";
}

static void ranges_that_differ_in_a_number_are_one(void **state)
{
    static const char *const names[][3] = { { "step", "step", "step" },
                                            { "step 0", "step 1", "step 2" },
                                            { "step:7", "step:8", "step:9" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct fixture *f = *state;
        for (int k = 0; k < 3; k++) range(f, names[i][k], 1);
        assert_string_equal(outermost(f), "step");
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

static void steps_of_the_profiler_are_one_range(void **state)
{
    struct fixture *f = *state;
    event(f, 1, MPF_OP_DOMAIN, TORCH, 0, "torch");
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        push_in(f, 1, TORCH, name);
        event(f, 1, MPF_OP_POP, (uint64_t)TORCH << 32, 0, NULL);
    }
    assert_string_equal(outermost(f), "torch:ProfilerStep");
}

static void a_range_that_occurs_twice_is_not_repeated(void **state)
{
    struct fixture *f = *state;
    range(f, "step", 1);
    range(f, "step", 1);
    assert_string_equal(outermost(f), "");
}

static void the_outermost_range_is_first(void **state)
{
    struct fixture *f = *state;
    push(f, "main");
    for (int i = 0; i < 3; i++) {
        push(f, "epoch");
        for (int k = 0; k < 4; k++) range(f, "step", 1);
        pop(f);
    }
    pop(f);
    assert_string_equal(outermost(f), "epoch");
}

/* A range that repeats while the program starts is not its main loop. */
static void a_range_that_covers_little_time_is_not_the_main_loop(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) range(f, "load", 1);
    push(f, "train");
    for (int i = 0; i < 40; i++) range(f, "step", 1);
    pop(f);
    assert_string_equal(outermost(f), "step");
}

/* Instances that overlap are requests of a server: they are not consecutive. */
static void overlapping_ranges_do_not_repeat(void **state)
{
    struct fixture *f = *state;
    for (uint32_t thread = 1; thread <= 5; thread++) push_in(f, thread, 0, "request");
    for (uint32_t thread = 1; thread <= 5; thread++) event(f, thread, MPF_OP_POP, 0, 0, NULL);
    assert_string_equal(outermost(f), "");
    assert_int_equal(f->repeats->repeat[1].instances, 5);
    assert_int_equal(f->repeats->repeat[1].sequential, 1);
}

/* A thread that ends inside a range has left it. */
static void the_end_of_a_thread_closes_its_ranges(void **state)
{
    struct fixture *f = *state;
    for (uint32_t thread = 1; thread <= 3; thread++) {
        push_in(f, thread, 0, "job");
        event(f, 9, MPF_OP_THREAD_END, thread, 0, NULL);
    }
    assert_string_equal(outermost(f), "job");
}

static void paths_are_shown_as_far_as_necessary(void **state)
{
    struct fixture *f = *state;
    push(f, "eval");
    range(f, "step", 1);
    pop(f);
    push(f, "train");
    for (int i = 0; i < 3; i++) range(f, "step", 1);
    pop(f);
    assert_string_equal(outermost(f), "train > step");
}

static void the_peak_is_in_an_instance(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 5; i++) {
        push(f, "step");
        range(f, "forward", i == 4 ? 1000 : 10);
        range(f, "backward", 5);
        pop(f);
    }
    spike(f, 999);
    assert_string_equal(outermost(f), "step");
    const struct mpr_followed *found = mpr_repeats_at_peak(f->repeats, H).instance;
    assert_non_null(found);
    assert_int_equal(found->number, 4);
    assert_int_equal(f->replay.ranges.node[found->inner].depth, 2);
    assert_string_equal(
        mpr_repeats_label(f->repeats, &f->replay, &f->arena, found->node, "step", 4), "step:4");
}

static void a_peak_outside_of_instances_is_in_none(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) range(f, "step", 10);
    spike(f, 999);
    assert_string_equal(outermost(f), "step");
    assert_null(mpr_repeats_at_peak(f->repeats, H).instance);
}

/* The peak may be the last event. */
static void the_peak_may_be_in_the_last_instance(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) range(f, "step", 10);
    push(f, "step");
    spike(f, 20);
    assert_string_equal(outermost(f), "step");
    assert_int_equal(mpr_repeats_at_peak(f->repeats, H).instance->number, 4);
}

/* Requests in a server's threads: the peak is in all open ones, of which MPR_FOLLOW_MAX are
 * followed. */
static void a_peak_may_be_in_many_open_instances(void **state)
{
    struct fixture *f = *state;
    struct mpr_repeats_peak found;
    for (int i = 0; i < 3; i++) range(f, "request", 10);
    for (uint32_t i = 1; i <= 8; i++) push_in(f, i, 0, "request");
    spike(f, 100);
    push(f, "inner");
    found = mpr_repeats_at_peak(f->repeats, H);
    assert_non_null(found.instance);
    assert_int_equal(found.instance->number, 4);
    assert_int_equal(found.open, 8);
    assert_false(found.is_full);
    for (uint32_t i = 9; i <= 300; i++) push_in(f, i, 0, "request");
    spike(f, 1000);
    assert_string_equal(outermost(f), "request");
    found = mpr_repeats_at_peak(f->repeats, H);
    assert_non_null(found.instance);
    /* One of the followed instances is that of the inner range. */
    assert_int_equal(found.open, MPR_FOLLOW_MAX - 1);
    assert_true(found.is_full);
}

/* If there are a few epochs of many steps, growth is measured by steps. */
static void growth_is_measured_by_the_range_that_repeats_most(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        push(f, "epoch");
        for (int k = 0; k < 4; k++) {
            push(f, "step");
            for (int n = 0; n < 20; n++) spike(f, 10);
            pop(f);
        }
        for (int k = 0; k < 8; k++) range(f, "log", 10);
        pop(f);
    }
    assert_string_equal(outermost(f), "epoch");
    assert_string_equal(mpr_repeats_outermost_name_with(f->repeats, &f->arena, 3), "epoch");
    assert_string_equal(mpr_repeats_outermost_name_with(f->repeats, &f->arena, 12), "step");
    assert_string_equal(mpr_repeats_outermost_name_with(f->repeats, &f->arena, 13), "epoch");
}

static void names_are_matched_to_ranges(void **state)
{
    static const struct {
        const char *name;
        bool matches;
    } names[] = { { "step 7", true },
                  { "step", true },
                  { "epoch > step", true },
                  { "epoch 1 > step", true },
                  { "epoch > step 7", true },
                  { "step 8", false },
                  { "ep", false },
                  { "och > step", false },
                  { "main > step", false },
                  { " > step", false },
                  { "", false } };
    struct fixture *f = *state;
    push(f, "epoch 1");
    push(f, "step 7");
    const uint32_t node = f->replay.threads.at[1]->node;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mpr_repeats_named(f->repeats, &f->replay, node, names[i].name) != names[i].matches)
            fail_msg("%s", names[i].name);
}

/* Many more than are followed are open at a time. */
static void many_open_instances_cost_no_more(void **state)
{
    struct fixture *f = *state;
    for (uint32_t thread = 1; thread <= 3000; thread++) push_in(f, thread, 0, "stuck");
    assert_int_equal(f->repeats->follow.count, MPR_FOLLOW_MAX);
    assert_int_equal(f->repeats->follow.left_out, 3000 - MPR_FOLLOW_MAX);
    assert_int_equal(f->repeats->repeat[1].instances, 3000);
    assert_string_equal(outermost(f), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(ranges_that_differ_in_a_number_are_one),
        TEST(steps_of_the_profiler_are_one_range),
        TEST(a_range_that_occurs_twice_is_not_repeated),
        TEST(the_outermost_range_is_first),
        TEST(a_range_that_covers_little_time_is_not_the_main_loop),
        TEST(overlapping_ranges_do_not_repeat),
        TEST(the_end_of_a_thread_closes_its_ranges),
        TEST(paths_are_shown_as_far_as_necessary),
        TEST(the_peak_is_in_an_instance),
        TEST(a_peak_outside_of_instances_is_in_none),
        TEST(the_peak_may_be_in_the_last_instance),
        TEST(growth_is_measured_by_the_range_that_repeats_most),
        TEST(a_peak_may_be_in_many_open_instances),
        TEST(names_are_matched_to_ranges),
        TEST(many_open_instances_cost_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
