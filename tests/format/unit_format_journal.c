/* A reader of a journal takes exactly the committed events of its chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/frame.h"
#include "mpf/journal.h"

enum { HEAD = sizeof(struct mpf_journal), BYTES = HEAD + MPF_CHUNK_BYTES, TAG = 9 };

static _Alignas(64) uint8_t image[BYTES];
static struct mpf_journal *const head = (struct mpf_journal *)image;
static struct mpf_chunk *const chunk = (struct mpf_chunk *)(image + HEAD);
static struct mpf_recovered found[MPF_CHUNK_SLOTS];

static int make(void **state)
{
    (void)state;
    memset(image, 0, sizeof image);
    *head = (struct mpf_journal){ .magic = MPF_JOURNAL_MAGIC,
                                  .major = MPF_MAJOR,
                                  .head_bytes = HEAD,
                                  .chunk_bytes = MPF_CHUNK_BYTES,
                                  .slot_bytes = sizeof(struct mpf_slot),
                                  .chunks = 1 };
    chunk->state = MPF_CHUNK_USED;
    chunk->tag = TAG;
    chunk->thread = 5;
    chunk->seq = 3;
    return 0;
}

static void put(uint32_t slot, unsigned op, uint64_t time, uint64_t addr, uint64_t size,
                unsigned tag)
{
    chunk->slot[slot] = (struct mpf_slot){ time, addr, mpf_slot_head(op, 1, tag, size) };
}

static uint32_t read_chunk(uint64_t frames, uint32_t *torn)
{
    struct mpf_journal h;
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_OK);
    return mpf_journal_chunk(image, BYTES, &h, 0, frames, found, torn);
}

static void committed_slots_are_listed_in_order(void **state)
{
    (void)state;
    uint32_t torn;
    for (uint32_t i = 0; i < 10; i++) put(i, MPF_OP_ALLOC, 100 + i, i << 4, i, TAG);
    assert_int_equal(read_chunk(0, &torn), 10);
    assert_int_equal(torn, 0);
    for (uint32_t i = 0; i < 10; i++) {
        struct mpf_event e;
        assert_int_equal(found[i].slot, i);
        assert_int_equal(found[i].thread, 5);
        assert_int_equal(mpf_journal_event(&found[i], &(struct mpf_clock){ 0 },
                                           &(struct mpf_clock){ 0 }, 0, &e, NULL),
                         MPF_OK);
        assert_int_equal(e.addr, i << 4);
        assert_int_equal(e.size, i);
        assert_int_equal(e.time, 100 + i);
    }
}

static void slots_that_are_in_the_log_are_not_listed(void **state)
{
    (void)state;
    uint32_t torn;
    for (uint32_t i = 0; i < 10; i++) put(i, MPF_OP_FREE, i, 16, 0, TAG);
    chunk->drained = 3;
    chunk->drained_next = 8;
    chunk->frame = 6;
    assert_int_equal(read_chunk(6, &torn), 7); /* frames 0 to 5; frame 6 does not exist */
    assert_int_equal(found[0].slot, 3);
    assert_int_equal(read_chunk(7, &torn), 2);
    assert_int_equal(found[0].slot, 8);
}

static void a_slot_of_an_earlier_use_of_the_chunk_is_empty(void **state)
{
    (void)state;
    uint32_t torn;
    put(0, MPF_OP_FREE, 1, 16, 0, TAG);
    for (uint32_t i = 1; i < MPF_CHUNK_SLOTS; i++) put(i, MPF_OP_FREE, 1, 16, 0, TAG - 1);
    assert_int_equal(read_chunk(0, &torn), 1);
    assert_int_equal(torn, 0);
}

static void a_slot_that_was_not_committed_is_torn(void **state)
{
    (void)state;
    uint32_t torn;
    put(0, MPF_OP_FREE, 1, 16, 0, TAG);
    put(2, MPF_OP_FREE, 1, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 2);
    assert_int_equal(torn, 1);
}

static void times_in_a_thread_never_decrease(void **state)
{
    (void)state;
    uint32_t torn;
    put(0, MPF_OP_FREE, 500, 16, 0, TAG);
    put(1, MPF_OP_FREE, 400, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 2);
    assert_int_equal(found[1].time, 500);
}

static void data_is_joined_from_its_slots(void **state)
{
    (void)state;
    uint32_t torn;
    uint8_t data[MPF_DATA_MAX];
    put(0, MPF_OP_NAME, 7, 33, 40, TAG);
    for (uint32_t i = 1; i <= 3; i++) {
        put(i, MPF_OP_CONT, 0, 0, 0, TAG);
        memset(&chunk->slot[i], 'a' + (int)i, MPF_CONT_BYTES);
    }
    put(4, MPF_OP_FREE, 9, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 2);
    struct mpf_event e;
    assert_int_equal(mpf_journal_event(&found[0], &(struct mpf_clock){ 0 },
                                       &(struct mpf_clock){ 0 }, 0, &e, data),
                     MPF_OK);
    assert_int_equal(e.addr, 33);
    assert_memory_equal(e.data, "bbbbbbbbbbbbbbbbccccccccccccccccdddddddd", 40);
    assert_int_equal(found[1].slot, 4);
}

static void a_torn_event_hides_no_later_event(void **state)
{
    (void)state;
    uint32_t torn;
    put(0, MPF_OP_NAME, 7, 33, 40, TAG);
    put(1, MPF_OP_FREE, 8, 16, 0, TAG);
    put(2, MPF_OP_FREE, 9, 32, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 2);
    assert_int_equal(torn, 1);
    assert_int_equal(found[0].slot, 1);
}

static void data_without_its_event_is_torn(void **state)
{
    (void)state;
    uint32_t torn;
    put(1, MPF_OP_CONT, 0, 0, 0, TAG); /* slot 0 was reserved for the event, which was not stored */
    put(2, MPF_OP_FREE, 9, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 1);
    assert_int_equal(found[0].slot, 2);
    assert_int_equal(torn, 1);
}

/* Stores a NAME event of `bytes` bytes at the slot, and the first `stored` of the slots for its
 * data. */
static void put_name(uint32_t slot, uint64_t bytes, uint32_t stored)
{
    put(slot, MPF_OP_NAME, 1, 33, bytes, TAG);
    for (uint32_t i = 1; i <= stored; i++) put(slot + i, MPF_OP_CONT, 0, 0, 0, TAG);
}

static void an_event_without_all_its_data_is_torn(void **state)
{
    (void)state;
    uint32_t torn;
    put_name(0, 40, 2); /* of 3 */
    put(3, MPF_OP_FREE, 9, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 1);
    assert_int_equal(found[0].slot, 3);
    assert_int_equal(torn, 1);
}

static void data_may_end_with_the_chunk_but_not_after_it(void **state)
{
    (void)state;
    uint32_t torn;
    const uint32_t more = mpf_data_slots(MPF_DATA_MAX), last = MPF_CHUNK_SLOTS - 1 - more;
    put_name(last, MPF_DATA_MAX, more);
    assert_int_equal(read_chunk(0, &torn), 1);
    assert_int_equal(found[0].slot, last);
    make(NULL);
    put_name(last + 1, MPF_DATA_MAX, more - 1);
    assert_int_equal(read_chunk(0, &torn), 0);
    make(NULL);
    put_name(0, MPF_DATA_MAX + 1, more + 1);
    assert_int_equal(read_chunk(0, &torn), 0);
}

static void an_unknown_operation_is_damage(void **state)
{
    (void)state;
    uint32_t torn;
    struct mpf_event e;
    put(0, 200, 1, 16, 0, TAG);
    assert_int_equal(read_chunk(0, &torn), 1);
    assert_int_equal(mpf_journal_event(&found[0], &(struct mpf_clock){ 0 },
                                       &(struct mpf_clock){ 0 }, 0, &e, NULL),
                     MPF_ERR_DAMAGED);
}

/* Each truncated image is in a buffer of exactly its size, so that the asan preset detects a read
 * beyond it. */
static void a_truncated_image_has_only_whole_chunks(void **state)
{
    (void)state;
    struct mpf_journal h;
    uint32_t torn;
    put(0, MPF_OP_FREE, 1, 16, 0, TAG);
    for (size_t cut = 0; cut < BYTES; cut += cut < HEAD + MPF_CHUNK_HEAD + 50 ? 1 : 61) {
        uint8_t *bytes = malloc(cut + !cut);
        memcpy(bytes, image, cut);
        const int error = mpf_journal_check(bytes, cut, &h);
        assert_int_equal(error, cut < HEAD ? MPF_ERR_TRUNCATED : MPF_OK);
        if (error == MPF_OK)
            assert_int_equal(mpf_journal_chunk(bytes, cut, &h, 0, 0, found, &torn), 0);
        free(bytes);
    }
    assert_int_equal(read_chunk(0, &torn), 1);
}

static void an_older_header_is_read_without_later_fields(void **state)
{
    (void)state;
    struct mpf_journal h;
    head->head_bytes = MPF_JOURNAL_HEAD_1_1;
    head->flags = MPF_JOURNAL_LOCKED;
    head->log.ino = 7;
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_OK);
    assert_int_equal(h.flags, 0);
    assert_int_equal(h.log.ino, 0);
}

static void a_header_without_the_mandatory_fields_is_damage(void **state)
{
    (void)state;
    struct mpf_journal h;
    head->head_bytes = MPF_JOURNAL_HEAD_1_1 - 1;
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_ERR_DAMAGED);
    head->head_bytes = BYTES + 1;
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_ERR_TRUNCATED);
}

static void a_free_chunk_has_no_events(void **state)
{
    (void)state;
    uint32_t torn;
    put(0, MPF_OP_FREE, 1, 16, 0, TAG);
    chunk->state = MPF_CHUNK_FREE;
    assert_int_equal(read_chunk(0, &torn), 0);
}

static void other_files_are_not_read_as_journals(void **state)
{
    (void)state;
    struct mpf_journal h;
    assert_int_equal(mpf_journal_check(image, sizeof h - 1, &h), MPF_ERR_TRUNCATED);
    head->major = MPF_MAJOR + 1;
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_ERR_VERSION);
    head->magic[0] = 'm';
    assert_int_equal(mpf_journal_check(image, BYTES, &h), MPF_ERR_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(committed_slots_are_listed_in_order, make),
        cmocka_unit_test_setup(slots_that_are_in_the_log_are_not_listed, make),
        cmocka_unit_test_setup(a_slot_of_an_earlier_use_of_the_chunk_is_empty, make),
        cmocka_unit_test_setup(a_slot_that_was_not_committed_is_torn, make),
        cmocka_unit_test_setup(times_in_a_thread_never_decrease, make),
        cmocka_unit_test_setup(data_is_joined_from_its_slots, make),
        cmocka_unit_test_setup(a_torn_event_hides_no_later_event, make),
        cmocka_unit_test_setup(data_without_its_event_is_torn, make),
        cmocka_unit_test_setup(an_event_without_all_its_data_is_torn, make),
        cmocka_unit_test_setup(data_may_end_with_the_chunk_but_not_after_it, make),
        cmocka_unit_test_setup(an_unknown_operation_is_damage, make),
        cmocka_unit_test_setup(a_truncated_image_has_only_whole_chunks, make),
        cmocka_unit_test_setup(an_older_header_is_read_without_later_fields, make),
        cmocka_unit_test_setup(a_header_without_the_mandatory_fields_is_damage, make),
        cmocka_unit_test_setup(a_free_chunk_has_no_events, make),
        cmocka_unit_test_setup(other_files_are_not_read_as_journals, make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
