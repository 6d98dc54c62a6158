/* The right blocks are samples, and exactly the live ones of them are on record. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/counted.h"
#include "core/process.h"
#include "real/real.h"
#include "recording.h"
#include "single_steps.h"

enum { MEAN = 65536, SIGMAS = 4, SEEDS = 4 };

static void *address(uint64_t i) { return (void *)(UINT64_C(0x700000000000) + 16 * i); }

/* Begins a thread's sample. The thread gets its record with its first event. */
static void begin_sample(uint64_t mean, uint32_t seed)
{
    if (!mp_sampled_init(mean)) _exit(90);
    mp_counted.on = true;
    mp_record_slow(MPF_OP_MARK, MPF_HEAP_NONE, 0, 0);
    mp_self->random = seed;
}

/* Blocks that are allocated and freed once each. */
static uint64_t blocks, size, mean;
static uint32_t seed;

static void make_and_free(void)
{
    begin_sample(mean, seed);
    for (uint64_t i = 0; i < blocks; i++) mp_sampled_made(address(i), size);
    for (uint64_t i = 0; i < blocks; i++) {
        mp_sampled_end(address(i));
        if (mp_addresses_take(mp_sampled.live, address(i))) _exit(91);
    }
}

/* Checks that the number of samples agrees with their probability, for any block size. */
static void check_size(uint64_t of_size, uint64_t of_mean, uint64_t of_blocks)
{
    size = of_size, mean = of_mean, blocks = of_blocks;
    const double chance = -expm1(-(double)size / (double)mean), n = (double)blocks * SEEDS,
                 sigma = sqrt(n * chance * (1 - chance));
    double taken = 0;
    for (seed = 1; seed <= SEEDS; seed++) {
        const struct log_counts b = recorded(make_and_free);
        assert_int_equal(b.op[MPF_OP_ALLOC], b.op[MPF_OP_FREE]);
        assert_int_equal(b.bytes, b.op[MPF_OP_ALLOC] * size);
        taken += (double)b.op[MPF_OP_ALLOC];
    }
    assert_true(fabs(taken - n * chance) < SIGMAS * sigma);
}

static void a_block_is_sampled_with_the_probability_of_its_size(void **state)
{
    (void)state;
    check_size(24, 64, 200000);
    check_size(24, MEAN, 500000);
    check_size(1000, MEAN, 200000);
    check_size(MEAN, MEAN, 10000);
    check_size(4 * MEAN, MEAN, 10000);
}

static void large_blocks_are_all_recorded(void **state)
{
    (void)state;
    size = 5 * MEAN, mean = MEAN, blocks = 1000, seed = 1;
    const struct log_counts b = recorded(make_and_free);
    assert_int_equal(b.op[MPF_OP_ALLOC], blocks);
    assert_int_equal(b.op[MPF_OP_FREE], blocks);
}

/* Large blocks between small ones change the chance of none: they are not part of the sequence. */
static void make_mixed(void)
{
    begin_sample(MEAN, seed);
    for (uint64_t i = 0; i < blocks; i++) {
        mp_sampled_made(address(i), size);
        if (i % 8 == 0) mp_sampled_made(address(blocks + i), 5 * MEAN);
        if (i % 8 == 4) mp_sampled_watch_next();
    }
}

static void other_calls_do_not_change_the_chance_of_a_block(void **state)
{
    (void)state;
    size = 1000, blocks = 100000;
    const double chance = -expm1(-1000.0 / MEAN), n = (double)blocks * SEEDS;
    double taken = 0;
    for (seed = 1; seed <= SEEDS; seed++)
        taken += (double)recorded(make_mixed).op[MPF_OP_ALLOC] - (double)blocks / 8;
    assert_true(fabs(taken - n * chance) < SIGMAS * sqrt(n * chance * (1 - chance)));
}

/* Blocks of all sizes, of which every third is freed. The samples estimate the live bytes. Records
 * a mark if the truth is within one standard error, and one if it is within two. */
static void weigh(void)
{
    double estimate = 0, variance = 0, truth = 0;
    begin_sample(MEAN, seed);
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t bytes = 16 + i * 7919 % (i % 64 ? 600 : 3 * MEAN);
        mp_sampled_made(address(i), bytes);
        if (i % 3 == 0) mp_sampled_end(address(i));
        else truth += (double)bytes;
        if (i % 3 == 0 || !mp_addresses_take(mp_sampled.live, address(i))) continue;
        const double chance = -expm1(-(double)bytes / MEAN), weight = (double)bytes / chance;
        estimate += weight;
        variance += weight * weight * (1 - chance);
    }
    const double errors = fabs(estimate - truth) / sqrt(variance);
    for (int i = 1; i <= 2; i++)
        if (errors <= i) mp_record_slow(MPF_OP_MARK, MPF_HEAP_NONE, 0, 0);
    /* With a larger variance the test could not fail. */
    if (variance > truth * truth / 500) _exit(93);
}

/* 68 and 95 are expected. */
static void truth_is_within_two_standard_errors_in_95_of_100_runs(void **state)
{
    int one = 0, two = 0;
    (void)state;
    for (seed = 1; seed <= 100; seed++) {
        const uint64_t marks = recorded(weigh).op[MPF_OP_MARK] - 1; /* that of begin_sample */
        one += marks == 2;
        two += marks >= 1;
    }
    assert_in_range(one, 58, 78);
    assert_in_range(two, 90, 99);
}

/* If the set is full, the block is not recorded, and the log reports it. */
static void overflow(void)
{
    begin_sample(1, 1);
    blocks = (uint64_t)MP_ADDRESS_BUCKETS * MP_ADDRESS_PLACES + 1000;
    for (uint64_t i = 0; i < blocks; i++) mp_sampled_made(address(i), MEAN);
}

static void blocks_that_do_not_fit_are_counted_as_lost(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(overflow);
    assert_in_range(b.lost[MPF_LOSS_SAMPLES], 1000, 1 << 18);
}

/* A sample that realloc keeps as a sample is one event. A sample that cannot be moved stays one. */
static void move(void)
{
    begin_sample(MEAN, 1);
    for (uint64_t i = 1; i < 1000; i++) {
        void *const p = address(i), *const q = address(1000 + i);
        mp_sampled_made(p, 4 * MEAN);
        const bool refused = mp_sampled_moves(p);
        if (mp_addresses_take(mp_sampled.live, p)) _exit(94);
        if (refused) mp_sampled_stays(p);
        if (refused != mp_addresses_take(mp_sampled.live, p)) _exit(95);
        if (refused) mp_addresses_add(mp_sampled.live, p);
        const bool moved = mp_sampled_moves(p), due = mp_sampled_due(4 * MEAN);
        if (due) mp_sampled_take_back(4 * MEAN);
        mp_sampled_moved(moved, q, 4 * MEAN, due);
        mp_sampled_end(q);
    }
    for (uint64_t i = 0; i < 2000; i++)
        if (mp_addresses_take(mp_sampled.live, address(i))) _exit(96);
}

static void a_move_ends_one_block_and_begins_another(void **state)
{
    (void)state;
    const struct log_counts b = recorded(move);
    assert_true(b.op[MPF_OP_MOVE_END] > 900 && b.op[MPF_OP_ALLOC] > 900);
    assert_true(b.op[MPF_OP_MOVE_BEGIN] > b.op[MPF_OP_MOVE_END]); /* failed calls have no END */
}

/* A second free of a block, and a free of a block that is not on record, have no effect. */
static void free_twice(void)
{
    begin_sample(MEAN, 1);
    mp_sampled_made(address(1), 5 * MEAN);
    mp_sampled_end(NULL);
    mp_sampled_end(address(2));
    mp_sampled_end(address(1));
    mp_sampled_end(address(1));
    mp_sampled_watch(address(1));
    if (!mp_sampled_may_have(address(1))) _exit(97);
    mp_sampled_freed(address(1));
    mp_sampled_unwatch(address(1));
    if (mp_sampled_may_have(address(1))) _exit(98);
}

static void each_free_is_recorded_once(void **state)
{
    (void)state;
    const struct log_counts b = recorded(free_twice);
    assert_int_equal(b.op[MPF_OP_ALLOC], 1);
    assert_int_equal(b.op[MPF_OP_FREE], 1);
}

/* ---- signal handlers */

enum { LEFT = 100000, BLOCK = 24, OTHER = 1000 };
static uint64_t handled;

static void handler(int signal)
{
    (void)signal;
    mp_sampled_due(OTHER);
    handled++;
}

static __attribute__((noinline)) void subtract_in_steps(void)
{
    __asm__ volatile(STEPS_BEGIN : : : "cc", "memory");
    mp_sampled_due(BLOCK);
    __asm__ volatile(STEPS_END : : : "cc", "memory");
}

static void subtract(void)
{
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGTRAP, &action, NULL);
    mp_sampled_left = LEFT;
    subtract_in_steps();
    if (handled < 3) _exit(99);
    if (mp_sampled_left != LEFT - BLOCK - handled * OTHER) _exit(100);
}

/* The handler runs after each instruction. */
static void a_handler_at_any_instruction_loses_no_bytes(void **state)
{
    (void)state;
    if (!STEPS_BEGIN[0]) skip();
    recorded(subtract);
}

/* A handler allocates between a subtraction and its taking back. */
static void interrupt_the_end(void)
{
    begin_sample(MEAN, 1);
    mp_sampled_made(address(1), 1);
    for (uint64_t i = 2; i < 1000; i++) {
        while (!mp_sampled_due(OTHER)) {}
        mp_sampled_due(4 * MEAN);
        mp_sampled_take_back(OTHER);
        mp_sampled_examine(address(i), OTHER);
        if (mp_sampled_left >= mp_sampled.large) _exit(101);
    }
}

static void a_handler_at_the_end_of_a_countdown_does_not_end_the_sampling(void **state)
{
    (void)state;
    assert_in_range(recorded(interrupt_the_end).op[MPF_OP_ALLOC], 500, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_sampled_with_the_probability_of_its_size),
        cmocka_unit_test(large_blocks_are_all_recorded),
        cmocka_unit_test(other_calls_do_not_change_the_chance_of_a_block),
        cmocka_unit_test(truth_is_within_two_standard_errors_in_95_of_100_runs),
        cmocka_unit_test(blocks_that_do_not_fit_are_counted_as_lost),
        cmocka_unit_test(a_move_ends_one_block_and_begins_another),
        cmocka_unit_test(each_free_is_recorded_once),
        cmocka_unit_test(a_handler_at_any_instruction_loses_no_bytes),
        cmocka_unit_test(a_handler_at_the_end_of_a_countdown_does_not_end_the_sampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
