/* Blocks that are not recorded individually are counted exactly, and the right ones are samples. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/counted.h"
#include "core/threads.h"
#include "real/real.h"
#include "recording.h"

/* The bit of the flags register that makes the processor stop after each instruction. Only x86 has
 * it. */
#if defined(__x86_64__)
#define STEPS_BEGIN "pushfq; orq $0x100, (%%rsp); popfq"
#define STEPS_END   "pushfq; xorq $0x100, (%%rsp); popfq"
#else
#define STEPS_BEGIN ""
#define STEPS_END   ""
#endif

enum { BLOCK = 24, OTHER = 1000 };

static struct mp_thread thread;
static uint64_t handled;

/* Runs after each instruction: allocates a block and frees one. */
static void handler(int signal)
{
    (void)signal;
    mp_counted_add_made(&thread, NULL, OTHER);
    mp_counted_add(&thread.freed, OTHER);
    handled++;
}

static __attribute__((noinline)) void count_in_steps(void)
{
    __asm__ volatile(STEPS_BEGIN : : : "cc", "memory");
    mp_counted_add_made(&thread, NULL, BLOCK);
    mp_counted_add(&thread.freed, BLOCK);
    __asm__ volatile(STEPS_END : : : "cc", "memory");
}

static void count(void)
{
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGTRAP, &action, NULL);
    mp_counted.large = mp_counted.from = UINT32_MAX;
    thread.due = UINT64_MAX;
    count_in_steps();
    const struct mp_totals expected = { BLOCK + handled * OTHER, 1 + handled };
    if (handled < 8) _exit(90);
    if (memcmp(&thread.made, &expected, sizeof expected) != 0) _exit(91);
    if (memcmp(&thread.freed, &expected, sizeof expected) != 0) _exit(92);
}

static void a_handler_at_any_instruction_loses_no_block(void **state)
{
    (void)state;
    if (!STEPS_BEGIN[0]) skip();
    recorded(count);
}

/* ---- the sample */

enum { MEAN = 65536, SIGMAS = 4, SEEDS = 4 };

static void *address(uint64_t i) { return (void *)(UINT64_C(0x700000000000) + 16 * i); }

static void begin_sample(uint64_t mean, uint32_t seed)
{
    mp_counted.mean = mean;
    mp_counted.large = mp_counted.from = (mean * 23 + 4) / 5;
    mp_counted.samples = mp_addresses_map();
    thread = (struct mp_thread){ .random = seed };
}

/* Blocks that are allocated and freed once each. */
static uint64_t blocks, size, mean;
static uint32_t seed;

static void make_and_free(void)
{
    begin_sample(mean, seed);
    for (uint64_t i = 0; i < blocks; i++) mp_counted_add_made(&thread, address(i), size);
    for (uint64_t i = 0; i < blocks; i++)
        if (mp_addresses_may_have(mp_counted.samples, address(i)))
            mp_counted_end(&thread, address(i), size);
        else mp_counted_add(&thread.freed, size);
    if (thread.made.bytes != size * thread.made.blocks) _exit(93);
    if (memcmp(&thread.made, &thread.freed, sizeof thread.made) != 0) _exit(94);
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

/* Blocks of all sizes, of which every third is freed. The samples estimate the present bytes, and
 * the counters have the other numbers to the byte. */
static void weigh(void)
{
    double estimate = 0, variance = 0, truth = 0;
    uint64_t recorded_bytes = 0;
    begin_sample(MEAN, seed);
    for (uint64_t i = 0; i < 400000; i++) {
        const uint64_t bytes = 16 + i * 7919 % (i % 64 ? 600 : 3 * MEAN);
        mp_counted_add_made(&thread, address(i), bytes);
        if (i % 3 == 0) mp_counted_end(&thread, address(i), bytes);
        else truth += (double)bytes;
        if (i % 3 == 0 || !mp_addresses_take(mp_counted.samples, address(i))) continue;
        const double chance = -expm1(-(double)bytes / MEAN), weight = (double)bytes / chance;
        estimate += weight;
        variance += weight * weight * (1 - chance);
        recorded_bytes += bytes;
    }
    if (fabs(estimate - truth) > SIGMAS * sqrt(variance)) _exit(95);
    /* With a larger variance the test could not fail. */
    if (variance > truth * truth / 1000) _exit(96);
    if (thread.made.bytes - thread.freed.bytes + recorded_bytes != (uint64_t)truth) _exit(97);
}

static void weights_of_samples_estimate_the_live_bytes(void **state)
{
    (void)state;
    for (seed = 1; seed <= SEEDS; seed++) recorded(weigh);
}

/* If the set is full, the block is counted, and the log reports it. */
static void overflow(void)
{
    begin_sample(1, 1);
    mp_counted.large = mp_counted.from = UINT64_MAX;
    blocks = (uint64_t)MP_ADDRESS_BUCKETS * MP_ADDRESS_PLACES + 1000;
    for (uint64_t i = 0; i < blocks; i++) mp_counted_add_made(&thread, address(i), MEAN);
}

static void blocks_that_do_not_fit_are_counted(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(overflow);
    assert_in_range(b.lost[MPF_LOSS_SAMPLES], 1000, 1 << 18);
}

/* A sample that realloc keeps as a sample is one event. A sample that cannot be moved stays one. */
static size_t usable_of(void *p)
{
    (void)p;
    return 4 * MEAN;
}

static void move(void)
{
    begin_sample(MEAN, 1);
    mp_counted.usable = usable_of;
    mp_real_frees_libc = false;                       /* blocks here have no size before them */
    mp_record_slow(MPF_OP_MARK, MPF_HEAP_NONE, 0, 0); /* creates the thread's record */
    for (uint64_t i = 1; i < 1000; i++) {
        void *const p = address(i), *const q = address(1000 + i);
        mp_counted_add_made(mp_self, p, 4 * MEAN);
        const bool sampled = mp_addresses_may_have(mp_counted.samples, p);
        const struct mp_counted_move refused = mp_counted_moves(p);
        if (refused.recorded && mp_addresses_take(mp_counted.samples, p)) _exit(98);
        mp_counted_stays(&refused, p);
        if (sampled && !mp_addresses_take(mp_counted.samples, p)) _exit(99);
        if (sampled) mp_addresses_add(mp_counted.samples, p);
        const struct mp_counted_move moved = mp_counted_moves(p);
        mp_counted_moved(&moved, q, 4 * MEAN);
        mp_counted_freed(q);
    }
    for (uint64_t i = 0; i < 2000; i++)
        if (mp_addresses_take(mp_counted.samples, address(i))) _exit(100);
    if (mp_self->made.bytes != mp_self->freed.bytes) _exit(101);
}

static void a_move_ends_one_block_and_begins_another(void **state)
{
    (void)state;
    const struct log_counts b = recorded(move);
    assert_true(b.op[MPF_OP_MOVE_END] > 900 && b.op[MPF_OP_ALLOC] > 900);
    assert_true(b.op[MPF_OP_MOVE_BEGIN] > b.op[MPF_OP_MOVE_END]); /* failed calls have no END */
}

/* ---- bytes before a block */

enum { MADE = 100 };
static size_t calls, result;
static size_t usable_that_is_asked(void *p)
{
    (void)p;
    calls++;
    return result;
}

/* Returns blocks of 72 bytes, in the layout of the C library. */
static size_t ask_for(size_t usable_bytes)
{
    static struct {
        size_t before, head;
        char bytes[72];
    } block = { .head = 80 | 1 };
    calls = 0, result = usable_bytes;
    mp_counted.large = mp_counted.from = UINT32_MAX;
    mp_counted.usable = usable_that_is_asked;
    mp_counted.compared = false;
    mp_counted.plain = UINT32_MAX;
    mp_counted.on = true;
    mp_self->guard = mp_thread_guard();
    mp_self->due = UINT64_MAX;
    mp_self->made = mp_self->freed = (struct mp_totals){ 0 };
    for (int i = 0; i < MADE; i++) mp_counted_freed(mp_counted_made(block.bytes, 72));
    if (mp_self->made.blocks != MADE || mp_self->freed.blocks != MADE) _exit(102);
    if (mp_self->made.bytes != mp_self->freed.bytes) _exit(103);
    return mp_self->made.bytes;
}

static void ask(void)
{
    mp_record_slow(MPF_OP_MARK, MPF_HEAP_NONE, 0, 0); /* creates the thread's record */
    mp_real_frees_libc = true;
    if (ask_for(72) != MADE * 72 || calls != 1) _exit(104);
    if (ask_for(64) != MADE * 64 || calls != 2 * MADE) _exit(105);
    mp_real_frees_libc = false;
    if (ask_for(72) != MADE * 72 || calls != 2 * MADE) _exit(106);
}

static void the_allocator_is_asked_until_the_size_header_is_known(void **state)
{
    (void)state;
    recorded(ask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_at_any_instruction_loses_no_block),
        cmocka_unit_test(a_block_is_sampled_with_the_probability_of_its_size),
        cmocka_unit_test(weights_of_samples_estimate_the_live_bytes),
        cmocka_unit_test(blocks_that_do_not_fit_are_counted),
        cmocka_unit_test(a_move_ends_one_block_and_begins_another),
        cmocka_unit_test(the_allocator_is_asked_until_the_size_header_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
