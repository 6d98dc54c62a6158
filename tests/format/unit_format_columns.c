/* Any events are the same after encoding and decoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "columns.h"
#include "mpf/columns.h"
#include "mpf/frame.h"
#include "random.h"

enum { MOST = 20000, SHIFT = 11 };

static struct {
    struct mpf_slot slot;
    uint32_t thread;
} event[MOST];
static uint32_t events;
static struct mpf_columns *columns;
static uint8_t *body, pattern[256 + MPF_DATA_MAX];

static const struct mpf_clock from = { 1000000, 5000, 0 },
                              to = { 1000000 + 2500000000u, 1000005000, 0 };

/* Returns the data of event i: as long as that of any event, and different from that of its
 * neighbours. */
static const uint8_t *data_of(uint32_t i) { return pattern + i % 256; }

static void add(unsigned op, unsigned heap, uint64_t time, uint64_t addr, uint64_t size,
                uint32_t thread)
{
    event[events].slot = (struct mpf_slot){ time, addr, mpf_slot_head(op, heap, 0, size) };
    event[events].thread = thread;
    events++;
}

static void check_event(const struct mpf_event *e, uint32_t i)
{
    const struct mpf_slot *s = &event[i].slot;
    assert_int_equal(e->op, mpf_slot_op(s->head));
    assert_int_equal(e->heap, mpf_slot_heap(s->head));
    assert_int_equal(e->thread, event[i].thread);
    assert_int_equal(e->addr, s->addr);
    assert_int_equal(e->time, mpf_clock_ns(&from, &to, 0, s->time >> SHIFT << SHIFT));
    if (mpf_op_class(e->op) != MPF_CLASS_REF) assert_int_equal(e->size, mpf_slot_size(s->head));
    if (mpf_op_class(e->op) == MPF_CLASS_DATA) assert_memory_equal(e->data, data_of(i), e->size);
}

/* Encodes event[], decodes it in batches of an odd size, and compares. Returns the encoded size. */
static long there_and_back(void)
{
    mpf_columns_begin(columns);
    for (uint32_t i = 0; i < events; i++)
        mpf_columns_add(columns, &event[i].slot, event[i].thread, data_of(i));
    assert_int_equal(mpf_columns_count(columns), events);
    const long bytes = mpf_columns_finish(columns, &from, &to, body, mpf_columns_bound(MOST));
    assert_true(bytes > 0);
    static struct mpf_block block[MOST];
    static struct mpf_columns_reader r;
    struct mpf_event batch[7];
    assert_int_equal(mpf_columns_open(&r, body, (size_t)bytes, 0, block, MOST), MPF_OK);
    uint32_t done = 0;
    for (long n; (n = mpf_columns_next(&r, batch, 7)) != 0;) {
        assert_true(n > 0);
        for (long i = 0; i < n; i++) check_event(&batch[i], done++);
    }
    assert_int_equal(done, events);
    return bytes;
}

static int make(void **state)
{
    (void)state;
    events = 0;
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (uint8_t)(i * 167 >> 3);
    columns = mpf_columns_init(calloc(1, mpf_columns_memory(MOST)), MOST, SHIFT);
    body = malloc(mpf_columns_bound(MOST));
    return columns && body ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    free(columns);
    free(body);
    return 0;
}

static void an_empty_frame_is_a_frame(void **state)
{
    (void)state;
    there_and_back();
}

static void one_event_is_a_frame(void **state)
{
    (void)state;
    add(MPF_OP_FREE, 1, from.ticks, UINT64_C(0xdeadbeef), 0, UINT32_MAX);
    there_and_back();
}

static const uint64_t numbers[] = { 0,
                                    1,
                                    8,
                                    15,
                                    16,
                                    127,
                                    128,
                                    4096,
                                    UINT32_MAX,
                                    UINT64_C(0x7fffffffffff),
                                    UINT64_C(1) << 48,
                                    (UINT64_C(1) << 56) - 1,
                                    UINT64_C(1) << 56,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX - 15,
                                    UINT64_MAX };
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void extreme_numbers_in_every_operation(void **state)
{
    (void)state;
    static const unsigned ops[] = {
#define MPF_OP(code, name, class, text) MPF_OP_##name,
#include "mpf/events.def"
#undef MPF_OP
    };
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        events = 0;
        for (int a = 0; a < NUMBERS; a++) {
            const int s = (a * 7 + (int)o) % NUMBERS;
            const uint64_t size = mpf_op_class(ops[o]) == MPF_CLASS_DATA
                                      ? numbers[s] % (MPF_DATA_MAX + 1)
                                      : numbers[s] & MPF_SIZE_MAX;
            add(ops[o], (unsigned)a % 4 * 85, from.ticks + (uint64_t)events * 5000, numbers[a],
                size, (uint32_t)numbers[(a + 3) % NUMBERS]);
        }
        there_and_back();
    }
}

/* Operation 120 does not exist. A later version may define it. */
static void unknown_operations_of_known_classes_are_skipped(void **state)
{
    (void)state;
    static const unsigned known[] = { MPF_OP_ALLOC, MPF_OP_FREE, MPF_OP_MAP, MPF_OP_PUSH,
                                      MPF_OP_NAME };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        events = 0;
        add(known[i], 1, from.ticks, 0x1000, 16, 1);
        add(MPF_OP_MARK, 0, from.ticks, 77, 5, 2);
        const long bytes = there_and_back();
        body[BODY_HEAD] = 120;
        struct mpf_block block[2];
        struct mpf_columns_reader r;
        struct mpf_event e[2];
        assert_int_equal(mpf_columns_open(&r, body, (size_t)bytes, 0, block, 2), MPF_OK);
        assert_int_equal(mpf_columns_next(&r, e, 2), 2);
        assert_int_equal(e[0].op, 120);
        assert_int_equal(e[0].addr, 0x1000);
        check_event(&e[1], 1);
    }
}

static void unknown_classes_are_damage(void **state)
{
    (void)state;
    add(MPF_OP_MARK, 0, from.ticks, 77, 5, 2);
    const long bytes = there_and_back();
    struct mpf_columns_reader r;
    struct mpf_event e;
    body[BODY_HEAD] = 120;
    for (unsigned class = 0; class < 256; class += class == 0 ? MPF_CLASS_DATA + 1 : 1) {
        body[BODY_HEAD + 2] = (uint8_t) class;
        assert_int_equal(mpf_columns_open(&r, body, (size_t)bytes, 0, NULL, 1), MPF_OK);
        assert_int_equal(mpf_columns_next(&r, &e, 1), MPF_ERR_DAMAGED);
    }
}

static void a_body_that_ends_in_its_header_is_damage(void **state)
{
    (void)state;
    add(MPF_OP_MARK, 0, from.ticks, 77, 5, 2);
    there_and_back();
    struct mpf_columns_reader r;
    for (size_t cut = 0; cut < BODY_HEAD; cut++) {
        assert_int_equal(mpf_columns_events(body, cut), MPF_ERR_DAMAGED);
        assert_int_equal(mpf_columns_open(&r, body, cut, 0, NULL, 1), MPF_ERR_DAMAGED);
    }
}

/* A reader of NAME relies on the data of its class. */
static void a_known_operation_of_another_class_is_damage(void **state)
{
    (void)state;
    add(MPF_OP_NAME, 0, from.ticks, 3, 5, 1);
    const long bytes = there_and_back();
    struct mpf_columns_reader r;
    for (unsigned class = 0; class < 256; class ++) {
        body[BODY_HEAD + 2] = (uint8_t) class;
        assert_int_equal(mpf_columns_open(&r, body, (size_t)bytes, 0, NULL, 1),
                         class == MPF_CLASS_DATA ? MPF_OK : MPF_ERR_DAMAGED);
    }
}

static void a_frame_can_have_a_limited_number_of_kinds(void **state)
{
    (void)state;
    for (unsigned heap = 0; heap < 250; heap++) add(MPF_OP_MARK, heap, from.ticks, heap, 0, 1);
    there_and_back();
    mpf_columns_begin(columns);
    assert_int_equal(mpf_columns_room(columns), PAIRS_MAX);
    for (uint32_t i = 0; i < 250; i++) mpf_columns_add(columns, &event[i].slot, 1, NULL);
    assert_int_equal(mpf_columns_room(columns), PAIRS_MAX - 250);
    for (uint32_t i = 250; i < MOST - 2; i++) mpf_columns_add(columns, &event[0].slot, 1, NULL);
    assert_int_equal(mpf_columns_room(columns), 2);
}

/* Blocks of other frames, and of before an attach. */
static void bytes_of_freed_blocks_are_kept_unless_they_are_in_the_frame(void **state)
{
    (void)state;
    static struct mpf_columns_reader r;
    static struct mpf_block block[MOST];
    struct mpf_event e[8];
    add(MPF_OP_ALLOC, MPF_HEAP_HOST, from.ticks, 4096, 100, 1);
    add(MPF_OP_FREE, MPF_HEAP_HOST, from.ticks, 4096, 112, 1);
    add(MPF_OP_FREE, MPF_HEAP_HOST, from.ticks, 8192, 208, 1);
    add(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, from.ticks, 12288, 304, 1);
    mpf_columns_keep_bytes(columns);
    mpf_columns_begin(columns);
    assert_int_equal(mpf_columns_room(columns), PAIRS_MAX / 2);
    for (uint32_t i = 0; i < events; i++)
        mpf_columns_add(columns, &event[i].slot, event[i].thread, NULL);
    assert_int_equal(mpf_columns_count(columns), 6);
    const long bytes = mpf_columns_finish(columns, &from, &to, body, mpf_columns_bound(MOST));
    assert_int_equal(mpf_columns_open(&r, body, (size_t)bytes, 0, block, MOST), MPF_OK);
    assert_int_equal(mpf_columns_next(&r, e, 8), 6);
    static const struct {
        unsigned op;
        uint64_t addr;
    } expected[] = { { MPF_OP_ALLOC, 4096 },      { MPF_OP_FREE, 4096 },
                     { MPF_OP_BLOCK_BYTES, 208 }, { MPF_OP_FREE, 8192 },
                     { MPF_OP_BLOCK_BYTES, 304 }, { MPF_OP_MOVE_BEGIN, 12288 } };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(e[i].op, expected[i].op);
        assert_int_equal(e[i].addr, expected[i].addr);
        assert_int_equal(e[i].thread, 1);
    }
}

/* Random allocation patterns that use ages, growth of the age table, stacks of freed addresses, and
 * reallocs in place and elsewhere. */
static void random_program(uint64_t seed, uint32_t count)
{
    enum { LIVE = 3000 };
    static uint64_t live[LIVE];
    memset(live, 0, sizeof live);
    uint64_t time = from.ticks;
    events = 0;
    while (events < count - 2) {
        const uint64_t slot = below(&seed, LIVE), addr = 0x7f0000000000 + below(&seed, 4000) * 48;
        const uint32_t thread = (uint32_t)below(&seed, 4);
        time += below(&seed, 4) ? below(&seed, 300) : below(&seed, 100000);
        if (below(&seed, 20) == 0 && live[slot]) {
            add(MPF_OP_MOVE_BEGIN, 1, time, live[slot], 0, thread);
            if (below(&seed, 2)) live[slot] = addr;
            add(MPF_OP_MOVE_END, 1, time, live[slot], below(&seed, 5000), thread);
        } else if (live[slot]) {
            add(MPF_OP_FREE, 1, time, live[slot], 0, thread);
            live[slot] = 0;
        } else add(MPF_OP_ALLOC, 1, time, live[slot] = addr, below(&seed, 3000), thread);
        if (below(&seed, 50) == 0) add(MPF_OP_FREE, 1, time, below(&seed, UINT64_MAX), 0, thread);
    }
}

static void random_programs_frame_after_frame(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        random_program(seed * 7919, seed % 3 ? MOST - 3 : 50 + (uint32_t)seed);
        there_and_back();
    }
}

static void last_in_first_out_needs_no_bytes_for_addresses(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        add(MPF_OP_ALLOC, 1, from.ticks, 0x7f0000001000, 100, 1);
        add(MPF_OP_FREE, 1, from.ticks, 0x7f0000001000, 0, 1);
    }
    /* one operation per event, a size and an age per pair, and little else */
    assert_true(there_and_back() < 10000 + 10000 + 200);
}

static void a_growing_heap_needs_one_byte_per_address(void **state)
{
    (void)state;
    for (uint64_t i = 0, at = 0x7f0000001000; i < 5000; i++) {
        const uint64_t size = 8 + i * 40 % 2000;
        add(MPF_OP_ALLOC, 1, from.ticks, at, size, 1);
        at += size <= 8 ? 32 : (size + 23) / 16 * 16;
    }
    assert_true(there_and_back() < 5000 + 5000 + 2 * 5000 + 200);
}

static void a_reused_address_needs_no_more_bytes_than_its_age(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 9000; i++)
        add(MPF_OP_ALLOC, 1, from.ticks, 0x7f0000000000 + i % 9 * i % 9 * 0x123450, 24, 1);
    assert_true(there_and_back() < 9000 + 9000 + 9000 + 300);
}

/* The age table grows many times. */
static void blocks_of_a_large_frame_are_freed_by_their_age(void **state)
{
    (void)state;
    enum { ALL = MOST / 2 };
    for (uint64_t i = 0; i < ALL; i++)
        add(MPF_OP_ALLOC, 1, from.ticks, 0x7f0000000000 + i * 7919 % ALL * 0x12340, 24, 1);
    for (uint64_t i = 0; i < ALL; i++)
        add(MPF_OP_FREE, 1, from.ticks, 0x7f0000000000 + i * 7919 % ALL * 0x12340, 0, 1);
    /* an operation, a size and an address; an operation and an age */
    assert_true(there_and_back() < ALL * (1 + 1 + 5) + ALL * (1 + 2) + 300);
}

/* As many blocks as a frame can have. The age table fills its memory and does not exceed it. */
static void a_frame_of_only_blocks(void **state)
{
    (void)state;
    enum { ALL = 2048, BEHIND = 64 };
    const size_t bytes = mpf_columns_memory(ALL);
    uint8_t *memory = calloc(1, bytes + BEHIND);
    assert_non_null(memory);
    struct mpf_columns *kept = columns;
    columns = mpf_columns_init(memory, ALL, SHIFT);
    for (uint64_t i = 0; i < ALL; i++)
        add(MPF_OP_ALLOC, 1, from.ticks, 0x7f0000000000 + i * 7919 % ALL * 0x12340, 24, 1);
    there_and_back();
    columns = kept;
    for (size_t i = 0; i < BEHIND; i++) assert_int_equal(memory[bytes + i], 0);
    free(memory);
}

/* The bytes of FORMAT.md, written by hand. */
static void encoded_events_have_the_documented_bytes(void **state)
{
    (void)state;
    add(MPF_OP_ALLOC, 1, (uint64_t)3 << SHIFT, 0x1000, 24, 1);
    add(MPF_OP_FREE, 1, (uint64_t)3 << SHIFT, 0x1000, 0, 1);
    /* At an address that the thread freed. */
    add(MPF_OP_ALLOC, 1, (uint64_t)5 << SHIFT, 0x1000, 24, 1);
    add(MPF_OP_ALLOC, 1, (uint64_t)5 << SHIFT, 0x2000, 24, 1);
    add(MPF_OP_FREE, 1, (uint64_t)5 << SHIFT, 0x1000, 0, 2);
    /* At an address that another thread freed. */
    add(MPF_OP_ALLOC, 1, (uint64_t)5 << SHIFT, 0x1000, 24, 1);
    const long n = there_and_back();
    static const uint8_t rest[] = {
        6, 0, 0, 0, 11, 3, 0, 0, /* events, shift, pairs */
        6, 0, 0, 0, 6, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 2,
        /* ALLOC, FREE, predicted ALLOC of heap 1, with their classes */
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 1, 2, 0x81, 1, 1, 0, 1, 2, 0, 1, 0, /* ops */
        1, 4, 2, 1, 1, 1,     /* thread 1 four times, 2 once, 1 once */
        3, 2, 2, 4,           /* step 3 twice, 2 steps later four times */
        0x81, 8,              /* distance zigzag(0x100) */
        0xf9, 7,              /* distance zigzag(0x200 - 0x102) */
        4,                    /* the address of the block before the last */
        24, 24, 24, 24, 1, 2, /* sizes; ages */
    };
    assert_int_equal(n, 2 * sizeof(struct mpf_clock) + sizeof rest);
    assert_memory_equal(body + 2 * sizeof(struct mpf_clock), rest, sizeof rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_frame_is_a_frame, make, drop),
        cmocka_unit_test_setup_teardown(one_event_is_a_frame, make, drop),
        cmocka_unit_test_setup_teardown(extreme_numbers_in_every_operation, make, drop),
        cmocka_unit_test_setup_teardown(unknown_operations_of_known_classes_are_skipped, make,
                                        drop),
        cmocka_unit_test_setup_teardown(unknown_classes_are_damage, make, drop),
        cmocka_unit_test_setup_teardown(a_body_that_ends_in_its_header_is_damage, make, drop),
        cmocka_unit_test_setup_teardown(a_known_operation_of_another_class_is_damage, make, drop),
        cmocka_unit_test_setup_teardown(a_frame_can_have_a_limited_number_of_kinds, make, drop),
        cmocka_unit_test_setup_teardown(bytes_of_freed_blocks_are_kept_unless_they_are_in_the_frame,
                                        make, drop),
        cmocka_unit_test_setup_teardown(random_programs_frame_after_frame, make, drop),
        cmocka_unit_test_setup_teardown(last_in_first_out_needs_no_bytes_for_addresses, make, drop),
        cmocka_unit_test_setup_teardown(a_growing_heap_needs_one_byte_per_address, make, drop),
        cmocka_unit_test_setup_teardown(a_reused_address_needs_no_more_bytes_than_its_age, make,
                                        drop),
        cmocka_unit_test_setup_teardown(blocks_of_a_large_frame_are_freed_by_their_age, make, drop),
        cmocka_unit_test_setup_teardown(a_frame_of_only_blocks, make, drop),
        cmocka_unit_test_setup_teardown(encoded_events_have_the_documented_bytes, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
