/* Slots that are not committed, because a thread was interrupted between reserving and storing or
 * jumped away, do not hide later events. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/epoch.h"
#include "core/process.h"
#include "core/record.h"
#include "core/records.h"
#include "core/state.h"
#include "core/survey.h"
#include "core/threads.h"
#include "recording.h"

enum { FEW = 300, MANY = 4000, VERY_MANY = 20000 };

/* Records blocks of thread 0, whose order is checked. */
static void record_blocks(uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, i << 4, i);
}

/* Reserves slots and stores nothing, like a thread that jumps out of a signal handler. Returns the
 * first slot. */
static struct mpf_slot *jump_away(uint32_t slots)
{
    struct mpf_slot *first = mp_cursor_slot(mp_self->cur);
    __atomic_store_n(&mp_self->cur, mp_self->cur + slots * sizeof *first, __ATOMIC_RELEASE);
    return first;
}

static void commit(struct mpf_slot *s, unsigned op, uint64_t addr, uint64_t size)
{
    s->time = mp_clock_ticks();
    s->addr = addr;
    __atomic_store_n(&s->head, mpf_slot_head(op, MPF_HEAP_HOST, mpf_slot_chunk(s)->tag, size),
                     __ATOMIC_RELEASE);
}

static void torn_within_a_chunk(void)
{
    mp_process->known = 0;
    record_blocks(1, FEW);
    jump_away(1);
    record_blocks(FEW + 1, FEW);
    jump_away(3);
    record_blocks(2 * FEW + 1, FEW);
}

/* Only the last slot of the first chunk is not committed. */
static void torn_at_a_chunks_end(void)
{
    mp_process->known = 0;
    record_blocks(1, 1);
    const struct mpf_slot *next = mp_cursor_slot(mp_self->cur),
                          *end = mpf_slot_chunk(next)->slot + MPF_CHUNK_SLOTS;
    const uint64_t before = (uint64_t)(end - next);
    record_blocks(2, before - 1);
    jump_away(1);
    record_blocks(before + 1, MANY - before);
}

/* The data of an event is stored before the event itself. */
static void in_flight_while_exec_fails(void)
{
    mp_process->known = 0;
    record_blocks(1, FEW);
    struct mpf_slot *s = jump_away(2);
    commit(s + 1, MPF_OP_CONT, 0, 0);
    mp_process_suspend();
    mp_process_resume();
    commit(s, MPF_OP_ALLOC, 16, FEW + 1);
    record_blocks(FEW + 2, FEW);
}

static uint32_t recording_threads = THREADS;

/* Records a free and a block, whose slots are reserved together, like those of a block and its
 * stack. */
static void record_pair(uint64_t addr, uint64_t size)
{
    if (mp_cursor_valid(mp_self->cur + 2 * sizeof(struct mpf_slot))) {
        struct mpf_slot *s = jump_away(2);
        commit(s, MPF_OP_FREE, addr, 0);
        commit(s + 1, MPF_OP_ALLOC, addr, size);
    } else {
        mp_record(MPF_OP_FREE, MPF_HEAP_HOST, addr, 0);
        mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, addr, size);
    }
}

static void *record_many(void *arg)
{
    static const char data[40];
    for (uint64_t i = 1; i <= VERY_MANY; i++) {
        mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, 0, data, sizeof data);
        for (unsigned k = 0; k < 4; k++)
            record_pair((uintptr_t)arg << 40 | i << 4, 4 * (i - 1) + k + 1);
    }
    __atomic_fetch_sub(&recording_threads, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Surveys the threads as at the log's end. */
static void look(void)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    for (uint32_t i = 0; i < mp_threads_ever(); i++) mp_survey(mp_thread_at(i), UINT64_MAX, true);
    mp_unlock(&mp_process->epoch_lock, signals);
}

static void look_while_threads_record(void)
{
    pthread_t thread[THREADS];
    mp_process->known = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, record_many, (void *)i);
    while (__atomic_load_n(&recording_threads, __ATOMIC_ACQUIRE)) look();
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* ---- a thread that uses one chunk after the other while another thread surveys it */

enum { ROUNDS = 60, CHUNKS = 100 };
static struct {
    struct mp_thread *record;
    uint32_t round;  /* the round in which chunks are taken */
    uint32_t taken;  /* number of chunks */
    uint64_t stored; /* number of events */
} busy;

static void *take_chunks(void *arg)
{
    record_blocks(1, 1);
    __atomic_store_n(&busy.record, mp_self, __ATOMIC_RELEASE);
    for (uint64_t stored = 1; stored <= ROUNDS * CHUNKS;) {
        const uint64_t round = stored / CHUNKS;
        while (__atomic_load_n(&busy.round, __ATOMIC_ACQUIRE) <= round) sched_yield();
        for (int i = 0; i < CHUNKS; i++) {
            record_blocks(++stored, 1);
            __atomic_store_n(&busy.stored, stored - 1, __ATOMIC_RELEASE);
            mp_thread_chunk(mp_self);
        }
    }
    return arg;
}

/* Returns the number of the thread's events that are known to be stored. */
static uint64_t ready_slots(const struct mp_thread *t)
{
    uint64_t slots = 0;
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link;
         link = __atomic_load_n(&mp_meta_at(link - 1)->next, __ATOMIC_ACQUIRE))
        slots += mp_meta_at(link - 1)->ready;
    return slots;
}

static uint64_t look_at(struct mp_thread *t)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    mp_survey(t, UINT64_MAX, false);
    const uint64_t slots = ready_slots(t);
    mp_unlock(&mp_process->epoch_lock, signals);
    return slots;
}

static void look_while_chunks_are_taken(void)
{
    pthread_t thread;
    mp_process->known = 0;
    pthread_create(&thread, NULL, take_chunks, NULL);
    while (!__atomic_load_n(&busy.record, __ATOMIC_ACQUIRE)) sched_yield();
    for (uint64_t events = 0; events < ROUNDS * CHUNKS; events += CHUNKS) {
        const uint64_t before = look_at(busy.record);
        __atomic_add_fetch(&busy.round, 1, __ATOMIC_RELEASE);
        for (uint64_t stored = events; stored < events + CHUNKS;) {
            stored = __atomic_load_n(&busy.stored, __ATOMIC_ACQUIRE);
            if (look_at(busy.record) < before + stored - events) _exit(90);
        }
        while (__atomic_load_n(&mp_process->pool.in_use, __ATOMIC_RELAXED) > 1) mp_epoch_run(0);
    }
    pthread_join(thread, NULL);
}

static void events_after_a_torn_slot_are_in_the_log_at_its_end(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(torn_within_a_chunk);
    assert_int_equal(b.step[0], 3 * FEW);
    assert_int_equal(b.lost[MPF_LOSS_TORN], 2);
    assert_int_equal(b.lost_total, 2);
}

static void chunks_after_a_torn_slot_are_in_the_log_at_its_end(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(torn_at_a_chunks_end);
    assert_int_equal(b.step[0], MANY);
    assert_int_equal(b.lost[MPF_LOSS_TORN], 1);
    assert_int_equal(b.lost_total, 1);
}

static void an_unfinished_event_is_kept_when_exec_fails(void **state)
{
    (void)state;
    assert_int_equal(recorded(in_flight_while_exec_fails).step[0], 2 * FEW + 1);
}

static void events_of_a_running_thread_are_not_treated_as_torn(void **state)
{
    (void)state;
    const struct log_counts b = recorded(look_while_threads_record);
    assert_int_equal(b.op[MPF_OP_ALLOC], 4 * THREADS * VERY_MANY);
    assert_int_equal(b.op[MPF_OP_FREE], 4 * THREADS * VERY_MANY);
    assert_int_equal(b.op[MPF_OP_THREAD_NAME], THREADS * VERY_MANY);
}

static void stored_events_are_seen_while_their_thread_takes_a_new_chunk(void **state)
{
    (void)state;
    assert_int_equal(recorded(look_while_chunks_are_taken).step[0], ROUNDS * CHUNKS + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_after_a_torn_slot_are_in_the_log_at_its_end),
        cmocka_unit_test(chunks_after_a_torn_slot_are_in_the_log_at_its_end),
        cmocka_unit_test(an_unfinished_event_is_kept_when_exec_fails),
        cmocka_unit_test(events_of_a_running_thread_are_not_treated_as_torn),
        cmocka_unit_test(stored_events_are_seen_while_their_thread_takes_a_new_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
