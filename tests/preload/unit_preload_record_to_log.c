/* Events that threads pass to mp_record are in the log that the encoder writes. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/encoder.h"
#include "core/epoch.h"
#include "core/logfile.h"
#include "core/names.h"
#include "core/pool.h"
#include "core/process.h"
#include "core/record.h"
#include "core/records.h"
#include "core/worker.h"
#include "recording.h"

enum { EACH = 100000, FRAMES_OF_BLOCKS = 20000 };

/* ---- recording */

static void *record_numbers(void *arg)
{
    const uint64_t thread = (uintptr_t)arg;
    for (uint64_t i = 1; i <= EACH; i++) {
        mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, thread << 40 | i << 4, i);
        mp_record(MPF_OP_FREE, MPF_HEAP_HOST, thread << 40 | i << 4, 0);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, record_numbers, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void without_encoder(void)
{
    mp_process->known = 0;
    record_numbers((void *)0);
}

/* Only frees are recorded when a chunk becomes full. */
static void frees_fill_the_chunks(void)
{
    const uint64_t block = (uint64_t)THREADS << 40;
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, block, 1);
    for (unsigned i = 0; i < 3 * MPF_CHUNK_SLOTS; i++)
        mp_record(mp_cursor_valid(mp_self->cur) ? MPF_OP_ALLOC : MPF_OP_FREE, MPF_HEAP_HOST, block,
                  0);
    if (!mp_encoder_runs()) _exit(89);
    if (mp_self->guard) _exit(88);
}

static void with_data(void)
{
    static char name[MP_NAME_BYTES];
    for (int i = 0; i < 5000; i++) {
        const int n = snprintf(name, sizeof name, "range number %d %0*d", i, i % 700 + 1, 7);
        mp_record(MPF_OP_PUSH, MPF_HEAP_NONE, mp_name_id(name, (size_t)n), 0);
        mp_record(MPF_OP_POP, MPF_HEAP_NONE, 0, 0);
    }
}

static void record_guarded(void)
{
    const struct mp_guarded guard = mp_guard_enter();
    record_numbers((void *)0);
    mp_guard_leave(guard);
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, 16, 1);
}

/* Internal calls may only record with the guard set, and a caller can ask whether an event would be
 * recorded. */
static void own_calls(void)
{
    mp_thread_own();
    if (mp_record_here()) _exit(86);
    mp_guard_leave(mp_guard_enter());
    record_numbers((void *)0);
    if (!mp_thread_is_own()) _exit(85);
}

static void a_thread_without_a_record_starts_the_encoder(void)
{
    mp_encoder_start();
    if (mp_self || !mp_encoder_runs()) _exit(84);
}

/* An encoder that runs for as long as the threads record. */
struct writer {
    struct mp_raw_thread thread;
    uint32_t wrote;
};
static struct writer writer[MP_WRITERS];
static uint32_t next_writer, recording_ended;

/* A change of the bytes of its last frame shows that it has written another one. Before the first
 * frame they are 0, or those of the header. */
static void encode(void)
{
    const unsigned number = __atomic_fetch_add(&next_writer, 1, __ATOMIC_RELAXED);
    const uint64_t before = mp_logfile_frame_bytes(number);
    mp_thread_own();
    while (!__atomic_load_n(&recording_ended, __ATOMIC_ACQUIRE)) {
        mp_epoch_run(number);
        if (mp_logfile_frame_bytes(number) != before)
            __atomic_store_n(&writer[number].wrote, 1, __ATOMIC_RELEASE);
    }
}

/* Runs on the worker, whose descriptor table the encoders share. */
static bool start_writers(void)
{
    for (unsigned i = 0; i < MP_WRITERS; i++)
        if (!mp_raw_thread_start(&writer[i].thread, encode, MP_TABLE_SHARED)) return false;
    return true;
}

/* Records until the writer has written a frame, so that it always has events. */
static void record_until_it_wrote(const struct writer *w)
{
    while (!__atomic_load_n(&w->wrote, __ATOMIC_ACQUIRE)) {
        mp_record(MPF_OP_MARK, MPF_HEAP_NONE, MP_NAME_OTHER, 0);
        sched_yield();
    }
}

/* Runs instead of the encoders. If one writer never writes, this hangs. */
static void as_many_encoders_as_may_be(void)
{
    mp_process->encoder[0].state = MP_ENCODER_RUNS;
    if (!mp_worker_post(start_writers)) _exit(91);
    many_threads();
    for (unsigned i = 0; i < MP_WRITERS; i++) record_until_it_wrote(&writer[i]);
    __atomic_store_n(&recording_ended, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < MP_WRITERS; i++)
        if (!mp_raw_thread_await_end(&writer[i].thread, UINT64_C(10000000000))) _exit(90);
    __atomic_store_n(&mp_process->encoder[0].state, MP_ENCODER_GONE, __ATOMIC_SEQ_CST);
}

static void await_helper(unsigned number, uint32_t state)
{
    while (__atomic_load_n(&mp_process->encoder[number].state, __ATOMIC_ACQUIRE) != state)
        mp_encoder_wake();
}

/* The second encoder starts after the first wait for a chunk, the third one after a hundred waits,
 * if there are enough processors. */
static void helpers_come_one_by_one(void)
{
    const uint32_t two = mp_sys_processors() >= 2 ? MP_ENCODER_RUNS : MP_ENCODER_FAILED,
                   eight = mp_sys_processors() >= 8 ? MP_ENCODER_RUNS : MP_ENCODER_FAILED;
    mp_encoder_start();
    __atomic_store_n(&mp_process->pool.waits, 1, __ATOMIC_RELEASE);
    await_helper(1, two);
    if (mp_process->encoder[2].state != MP_ENCODER_NONE) _exit(83);
    __atomic_store_n(&mp_process->pool.waits, 100, __ATOMIC_RELEASE);
    if (two == MP_ENCODER_RUNS) await_helper(2, eight);
}

static pthread_barrier_t all_have_records;

static void *take_a_record(void *arg)
{
    (void)arg;
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uint64_t)THREADS << 40, 1);
    pthread_barrier_wait(&all_have_records);
    return NULL;
}

/* Records of threads that have ended must not hide waiting events from the encoders. */
static void records_in_use(void)
{
    enum { MANY = 100 };
    pthread_t thread[MANY];
    mp_process->known = 0;
    pthread_barrier_init(&all_have_records, NULL, MANY);
    for (int i = 0; i < MANY; i++) pthread_create(&thread[i], NULL, take_a_record, NULL);
    for (int i = 0; i < MANY; i++) pthread_join(thread[i], NULL);
    if (mp_thread_records() != MANY) _exit(96);
    while (mp_process->pool.in_use) mp_epoch_run(0);
    if (mp_thread_records() != 0) _exit(95);
}

/* No encoder runs, so all events are written at the end of the log, in more than one frame. */
static void record_frames(void)
{
    mp_process->encoder[0].state = MP_ENCODER_GONE;
    for (uint64_t i = 1; i <= FRAMES_OF_BLOCKS; i++) mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, i, i);
}

static void *record_one(void *arg)
{
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uint64_t)THREADS << 40, 1);
    return arg;
}

static void threads_come_and_go(int threads)
{
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_one, NULL);
        pthread_join(thread, NULL);
    }
}

/* If chunks are not short, the encoder looks for dead threads every 50 ms, much longer than these
 * rounds take, so few of the attempts can succeed.  If chunks are short, an attempt fails only if
 * the test lost its processor during a look, because a look takes a fifth of the time at most. */
static void chunks_are_short(void)
{
    enum { MANY = 120, ROUNDS = 50, ATTEMPTS = 10, ENOUGH = 3 };
    int came_back = 0;
    mp_process->known = 0;
    for (int attempt = 0; attempt < ATTEMPTS && came_back < ENOUGH; attempt++) {
        threads_come_and_go(MANY);
        while (mp_process->pool.in_use) mp_epoch_run(0);
        threads_come_and_go(MANY);
        for (int i = 0; i < ROUNDS && mp_process->pool.in_use; i++) mp_epoch_run(0);
        came_back += !mp_process->pool.in_use;
    }
    if (came_back < ENOUGH) _exit(78);
}

/* A waiting thread stays visible until a chunk was returned. */
static void wait_visibly(void)
{
    mp_process->known = 0;
    if (mp_pool_wanted()) _exit(94);
    mp_pool_want(mp_process->pool.released);
    if (!mp_pool_wanted()) _exit(93);
    record_numbers((void *)0);
    while (!mp_process->pool.released) mp_epoch_run(0);
    if (mp_pool_wanted()) _exit(92);
}

static void all_events_of_threads_are_in_the_log_in_order(void **state)
{
    (void)state;
    const struct log_counts b = recorded(many_threads);
    assert_int_equal(b.op[MPF_OP_ALLOC], THREADS * EACH);
    assert_int_equal(b.op[MPF_OP_FREE], THREADS * EACH);
    assert_int_equal(b.op[MPF_OP_THREAD], THREADS);
    assert_int_equal(b.bytes, (uint64_t)THREADS * EACH * (EACH + 1) / 2);
    assert_int_equal(b.op[MPF_OP_LOST], 0);
}

static void all_encoders_together_write_one_ordered_log(void **state)
{
    (void)state;
    const struct log_counts b = recorded(as_many_encoders_as_may_be);
    assert_int_equal(b.op[MPF_OP_ALLOC], THREADS * EACH);
    assert_int_equal(b.op[MPF_OP_FREE], THREADS * EACH);
    assert_int_equal(b.bytes, (uint64_t)THREADS * EACH * (EACH + 1) / 2);
}

static void the_last_sample_counts_all_events(void **state)
{
    (void)state;
    const struct log_counts b = recorded(record_frames);
    assert_int_equal(b.op[MPF_OP_ALLOC], FRAMES_OF_BLOCKS);
    assert_int_equal(b.after_sample, 0);
    assert_true(b.op[MPF_OP_SAMPLE_RSS] > 0);
}

static void records_of_ended_threads_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(recorded(records_in_use).op[MPF_OP_THREAD_END], 100);
}

static void chunks_of_ended_threads_are_released_at_once_when_chunks_are_short(void **state)
{
    (void)state;
    const uint64_t ends = recorded(chunks_are_short).op[MPF_OP_THREAD_END];
    assert_true(ends > 0 && ends % 240 == 0); /* each attempt creates that many threads */
}

static void a_thread_that_waits_for_a_chunk_is_visible(void **state)
{
    (void)state;
    assert_int_equal(recorded(wait_visibly).op[MPF_OP_ALLOC], EACH);
}

static void a_child_of_a_raw_fork_has_its_frames_written_by_the_worker(void **state)
{
    (void)state;
    const struct log_counts b = recorded(without_encoder);
    assert_int_equal(b.op[MPF_OP_ALLOC], EACH);
    assert_int_equal(b.op[MPF_OP_FREE], EACH);
}

static void the_encoder_starts_if_only_frees_fill_the_chunks(void **state)
{
    (void)state;
    assert_int_equal(recorded(frees_fill_the_chunks).op[MPF_OP_FREE], 3);
}

static void more_encoders_start_if_two_are_too_few(void **state)
{
    (void)state;
    recorded(helpers_come_one_by_one);
}

static void data_of_any_length_is_in_the_log(void **state)
{
    (void)state;
    const struct log_counts b = recorded(with_data);
    assert_int_equal(b.op[MPF_OP_NAME], 5000);
    assert_int_equal(b.op[MPF_OP_PUSH], 5000);
    assert_int_equal(b.op[MPF_OP_POP], 5000);
}

static void nothing_is_recorded_under_the_guard(void **state)
{
    (void)state;
    const struct log_counts b = recorded(record_guarded);
    assert_int_equal(b.op[MPF_OP_ALLOC], 1);
    assert_int_equal(b.op[MPF_OP_FREE], 0);
}

static void memprofs_own_calls_record_nothing(void **state)
{
    (void)state;
    const struct log_counts b = recorded(own_calls);
    assert_int_equal(b.op[MPF_OP_THREAD], 0);
    assert_int_equal(b.op[MPF_OP_ALLOC], 0);
}

static void starting_the_encoder_needs_no_thread_record(void **state)
{
    (void)state;
    assert_int_equal(recorded(a_thread_without_a_record_starts_the_encoder).op[MPF_OP_THREAD], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_events_of_threads_are_in_the_log_in_order),
        cmocka_unit_test(all_encoders_together_write_one_ordered_log),
        cmocka_unit_test(the_last_sample_counts_all_events),
        cmocka_unit_test(records_of_ended_threads_do_not_count),
        cmocka_unit_test(chunks_of_ended_threads_are_released_at_once_when_chunks_are_short),
        cmocka_unit_test(a_thread_that_waits_for_a_chunk_is_visible),
        cmocka_unit_test(a_child_of_a_raw_fork_has_its_frames_written_by_the_worker),
        cmocka_unit_test(the_encoder_starts_if_only_frees_fill_the_chunks),
        cmocka_unit_test(more_encoders_start_if_two_are_too_few),
        cmocka_unit_test(data_of_any_length_is_in_the_log),
        cmocka_unit_test(nothing_is_recorded_under_the_guard),
        cmocka_unit_test(memprofs_own_calls_record_nothing),
        cmocka_unit_test(starting_the_encoder_needs_no_thread_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
