/* The set of sampled blocks' addresses is exact, with any number of threads that add and remove. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "base/addresses.h"
#include "emulated.h"

enum { BLOCKS = 100000, THREADS = 4, ROUNDS = 200000, HELD = 1024, PAGE = 4096 };

/* Returns addresses like those of an allocator, 16 bytes apart. */
static void *address(uint64_t i) { return (void *)(UINT64_C(0x555555560000) + 16 * i); }

static struct mp_addresses *set;

static int map(void **state)
{
    (void)state;
    set = mp_addresses_map();
    return set ? 0 : -1;
}

static void members_are_the_added_and_not_removed_addresses(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < BLOCKS; i++) assert_true(mp_addresses_add(set, address(3 * i)));
    for (uint64_t i = 0; i < BLOCKS; i += 2) assert_true(mp_addresses_take(set, address(3 * i)));
    for (uint64_t i = 0; i < 3 * BLOCKS; i++) {
        const bool is_member = i % 3 == 0 && i / 3 % 2 == 1;
        if (is_member) assert_true(mp_addresses_may_have(set, address(i)));
        assert_int_equal(mp_addresses_take(set, address(i)), is_member);
    }
}

/* A page's count decreases when members are removed. */
static void a_page_without_members_is_recognised(void **state)
{
    (void)state;
    void *const p = address(5), *const q = address(9), *const other = address(PAGE);
    mp_addresses_add(set, p);
    mp_addresses_add(set, q);
    assert_true(mp_addresses_may_have(set, p));
    assert_false(mp_addresses_may_have(set, other));
    mp_addresses_take(set, p);
    assert_true(mp_addresses_may_have(set, q));
    mp_addresses_take(set, q);
    assert_false(mp_addresses_may_have(set, q));
}

/* A page with more members than its counter can count reports that any address may be a member. */
static void a_page_full_of_members_is_not_miscounted(void **state)
{
    (void)state;
    enum { IN_PAGE = PAGE / 8 };
    char *const page = (char *)address(PAGE);
    unsigned added = 0, taken = 0;
    for (unsigned i = 0; i < IN_PAGE; i++) added += mp_addresses_add(set, page + 8 * i);
    for (unsigned i = 0; i < IN_PAGE; i++) {
        const bool may = mp_addresses_may_have(set, page + 8 * i);
        const bool found = mp_addresses_take(set, page + 8 * i);
        assert_true(may || !found);
        taken += found;
    }
    assert_int_equal(taken, added);
}

static void a_full_set_refuses_new_members_and_keeps_its_own(void **state)
{
    (void)state;
    const uint64_t places = (uint64_t)MP_ADDRESS_BUCKETS * MP_ADDRESS_PLACES;
    uint64_t added = 0, taken = 0;
    for (uint64_t i = 0; i < places + BLOCKS; i++) added += mp_addresses_add(set, address(i));
    assert_in_range(added, places / 2, places);
    for (uint64_t i = 0; i < places + BLOCKS; i++) taken += mp_addresses_take(set, address(i));
    assert_int_equal(taken, added);
    assert_true(mp_addresses_add(set, address(1)));
}

static void a_forked_child_starts_with_an_empty_set(void **state)
{
    (void)state;
    if (emulator_lacks("MADV_WIPEONFORK")) skip();
    int status;
    mp_addresses_add(set, address(1));
    const pid_t child = fork();
    if (!child) {
        const bool found = mp_addresses_may_have(set, address(1));
        mp_addresses_clear(set);
        _exit(found || mp_addresses_take(set, address(1)));
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(mp_addresses_take(set, address(1)));
}

/* ---- blocks that threads pass to each other */

static void *slot[HELD]; /* a block here belongs to the thread that removes it */
static uint64_t next_address;

static uint64_t wrong[THREADS];

/* Allocates a block or takes that of another thread, and frees it. */
static void *exchange(void *arg)
{
    uint64_t *const errors = arg, r = (uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        r = r * UINT64_C(6364136223846793005) + 1442695040888963407u;
        void *made = address(__atomic_fetch_add(&next_address, 1, __ATOMIC_RELAXED));
        if (!mp_addresses_add(set, made)) ++*errors;
        void *old = __atomic_exchange_n(&slot[r >> 40 & (HELD - 1)], made, __ATOMIC_ACQ_REL);
        if (!old) continue;
        if (!mp_addresses_may_have(set, old) || !mp_addresses_take(set, old)) ++*errors;
        if (mp_addresses_take(set, old)) ++*errors;
    }
    return NULL;
}

static void the_set_has_the_blocks_of_all_threads(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    uint64_t members = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, exchange, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    for (int i = 0; i < HELD; i++)
        if (slot[i]) assert_true(mp_addresses_take(set, slot[i]));
    for (int b = 0; b < MP_ADDRESS_BUCKETS; b++)
        for (int i = 0; i < MP_ADDRESS_PLACES; i++) members += set->at[b][i] != 0;
    assert_int_equal(members, 0);
    for (uint64_t i = 0; i < next_address; i += PAGE / 16)
        assert_false(mp_addresses_may_have(set, address(i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(members_are_the_added_and_not_removed_addresses, map),
        cmocka_unit_test_setup(a_page_without_members_is_recognised, map),
        cmocka_unit_test_setup(a_page_full_of_members_is_not_miscounted, map),
        cmocka_unit_test_setup(a_full_set_refuses_new_members_and_keeps_its_own, map),
        cmocka_unit_test_setup(a_forked_child_starts_with_an_empty_set, map),
        cmocka_unit_test_setup(the_set_has_the_blocks_of_all_threads, map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
