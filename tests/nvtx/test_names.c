/* A name is recorded once per process, and all threads get the same number for it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/names.h"
#include "double.h"
#include "emulated.h"
#include "mpf/event.h"

static uint32_t id(const char *text) { return mp_name_id(text, strlen(text)); }

static int forget(void **state)
{
    (void)state;
    double_reset();
    mp_names_reset();
    return 0;
}

static void a_name_is_recorded_once(void **state)
{
    (void)state;
    const uint32_t first = id("forward");
    assert_true(first >= MP_NAME_FIRST);
    assert_int_equal(id("forward"), first);
    assert_int_not_equal(id("backward"), first);
    assert_int_equal(double_count(MPF_OP_NAME), 2);
    assert_int_equal(double_id(MPF_OP_NAME, "forward"), first);
}

static void a_domain_and_a_name_of_one_text_differ(void **state)
{
    (void)state;
    const uint32_t name = id("NCCL"), domain = mp_domain_id("NCCL", 4);
    assert_int_not_equal(name, domain);
    assert_int_equal(double_id(MPF_OP_DOMAIN, "NCCL"), domain);
    assert_int_equal(mp_domain_check(domain), domain);
    assert_int_equal(mp_name_check(domain), MP_NAME_NONE);
    assert_int_equal(mp_domain_check(name), MP_NAME_NONE);
}

static void an_invalid_number_has_no_name(void **state)
{
    (void)state;
    id("something");
    assert_int_equal(mp_name_check(0), MP_NAME_NONE);
    assert_int_equal(mp_name_check(MP_NAME_BUSY), MP_NAME_NONE);
    assert_int_equal(mp_name_check(MP_NAMES_MAX), MP_NAME_NONE);
    assert_int_equal(mp_name_check(UINT64_MAX), MP_NAME_NONE);
}

static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    char text[MP_NAME_BYTES + 8];
    memset(text, 'x', sizeof text);
    memcpy(text + MP_NAME_BYTES - 2, "\xf0\x9f\x98\x80", 4);
    mp_name_id(text, sizeof text);
    assert_int_equal(double_last(MPF_OP_NAME)->size, MP_NAME_BYTES - 2);
    memset(text, 'y', sizeof text);
    mp_name_id(text, sizeof text);
    assert_int_equal(double_last(MPF_OP_NAME)->size, MP_NAME_BYTES);
}

static void zero_bytes_and_lengths_distinguish_names(void **state)
{
    (void)state;
    assert_int_not_equal(mp_name_id("a\0b", 3), mp_name_id("a\0c", 3));
    assert_int_not_equal(mp_name_id("", 0), mp_name_id("\0", 1));
}

static void a_thread_that_may_not_record_gets_an_error(void **state)
{
    (void)state;
    const uint32_t known = id("known");
    double_guard = 1;
    assert_int_equal(id("new in a signal handler"), MP_NAME_BUSY);
    assert_int_equal(mp_domain_id("new domain", 10), MP_NAME_OTHER);
    assert_int_equal(id("known"), known);
    double_guard = 0;
    assert_true(id("new in a signal handler") >= MP_NAME_FIRST);
}

static void child(uint32_t known)
{
    double_reset();
    const int again = id("inherited") == known && double_id(MPF_OP_NAME, "inherited") == known;
    _exit(again && double_total() == 1 ? 0 : 1);
}

static void a_forked_child_records_its_names_again(void **state)
{
    (void)state;
    if (emulator_lacks("MADV_WIPEONFORK")) skip();
    const uint32_t known = id("inherited");
    const pid_t pid = fork();
    if (pid == 0) child(known);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(double_count(MPF_OP_NAME), 1);
}

static void a_number_kept_by_the_program_is_recorded_again(void **state)
{
    (void)state;
    const uint32_t kept = mp_domain_id("kept", 4);
    double_reset();
    mp_names_reset();
    assert_int_equal(mp_domain_check(kept), kept);
    assert_int_equal(double_id(MPF_OP_DOMAIN, "kept"), kept);
    mp_domain_check(kept);
    assert_int_equal(double_count(MPF_OP_DOMAIN), 1);
}

enum { THREADS = 8, NAMES = 500 };
static uint32_t seen[THREADS][NAMES];
static pthread_barrier_t barrier;

static void *intern_all(void *arg)
{
    uint32_t *ids = arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < NAMES; i++) {
        char text[32];
        snprintf(text, sizeof text, "layer %d", i);
        ids[i] = id(text);
    }
    return NULL;
}

static void concurrent_threads_get_the_same_number(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, intern_all, seen[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 1; i < THREADS; i++) assert_memory_equal(seen[i], seen[0], sizeof seen[0]);
    assert_int_equal(double_count(MPF_OP_NAME), NAMES);
}

/* the last test, because the table stays full */
static void a_million_names_are_bounded_and_counted(void **state)
{
    (void)state;
    const uint32_t early = id("early");
    uint64_t other = 0;
    for (int i = 0; i < 1000000; i++) {
        char text[48];
        snprintf(text, sizeof text, "step %d of a loop", i);
        other += id(text) == MP_NAME_OTHER;
    }
    assert_true(double_count(MPF_OP_NAME) <= MP_NAMES_MAX);
    assert_int_equal(double_count(MPF_OP_NAME) - 1 + other, 1000000);
    assert_int_equal(double_lost, other);
    assert_int_equal(id("early"), early);
    assert_int_equal(id("too late"), MP_NAME_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_name_is_recorded_once, forget),
        cmocka_unit_test_setup(a_domain_and_a_name_of_one_text_differ, forget),
        cmocka_unit_test_setup(an_invalid_number_has_no_name, forget),
        cmocka_unit_test_setup(a_long_name_is_cut_between_characters, forget),
        cmocka_unit_test_setup(zero_bytes_and_lengths_distinguish_names, forget),
        cmocka_unit_test_setup(a_thread_that_may_not_record_gets_an_error, forget),
        cmocka_unit_test_setup(a_forked_child_records_its_names_again, forget),
        cmocka_unit_test_setup(a_number_kept_by_the_program_is_recorded_again, forget),
        cmocka_unit_test_setup(concurrent_threads_get_the_same_number, forget),
        cmocka_unit_test_setup(a_million_names_are_bounded_and_counted, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
