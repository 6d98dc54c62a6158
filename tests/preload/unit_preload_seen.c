/* Sets of IDs contain the IDs that are already in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/seen.h"
#include "base/sys.h"

enum { SLOTS = 128 };

static void added_ids_are_found_until_the_set_is_cleared(void **state)
{
    (void)state;
    uint64_t *set = mp_sys_map(SLOTS * sizeof *set);
    for (uint64_t id = 1; id <= SLOTS; id++) {
        assert_false(mp_seen(set, SLOTS, id * 7));
        mp_seen_add(set, SLOTS, id * 7);
        mp_seen_add(set, SLOTS, id * 7);
    }
    for (uint64_t id = 1; id <= SLOTS; id++) assert_true(mp_seen(set, SLOTS, id * 7));
    mp_seen_clear(set, SLOTS);
    for (uint64_t id = 1; id <= SLOTS; id++) assert_false(mp_seen(set, SLOTS, id * 7));
}

/* Otherwise a program with more stacks than fit would record a stack with each event. */
static void a_full_set_keeps_the_newest_ids(void **state)
{
    (void)state;
    uint64_t *set = mp_sys_map(SLOTS * sizeof *set);
    for (uint64_t id = 1; id <= 10 * SLOTS; id++) {
        mp_seen_add(set, SLOTS, id);
        assert_true(mp_seen(set, SLOTS, id));
    }
    unsigned kept = 0;
    for (uint64_t id = 1; id <= 10 * SLOTS; id++) kept += mp_seen(set, SLOTS, id);
    assert_int_equal(kept, SLOTS);
}

static void hashing_parts_gives_the_hash_of_the_whole(void **state)
{
    (void)state;
    uint64_t word[9];
    for (unsigned i = 0; i < 9; i++)
        word[i] = i * 0x1000 % 0x3000; /* includes 0 and some values twice */
    for (size_t cut = 0; cut <= 9; cut++) {
        const struct mp_hash parts =
            mp_hash_join(mp_hash_of(word, cut), mp_hash_of(word + cut, 9 - cut));
        assert_int_equal(mp_hash_id(parts), mp_seen_id(word, 9));
        if (cut < 9) assert_int_not_equal(mp_seen_id(word, cut), mp_seen_id(word, 9));
    }
    word[8] ^= 1;
    const uint64_t other = mp_seen_id(word, 9);
    word[8] ^= 1;
    assert_int_not_equal(other, mp_seen_id(word, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_ids_are_found_until_the_set_is_cleared),
        cmocka_unit_test(a_full_set_keeps_the_newest_ids),
        cmocka_unit_test(hashing_parts_gives_the_hash_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
