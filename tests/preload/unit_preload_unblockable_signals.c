/* If a seccomp filter forbids blocking signals, handlers run while memprof works in their thread.
 * Their events are recorded or counted as lost, and no thread waits for itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../host/refusal.h"
#include "core/encoder.h"
#include "core/names.h"
#include "core/process.h"
#include "core/record.h"
#include "core/records.h"
#include "core/state.h"
#include "core/worker.h"
#include "emulated.h"
#include "recording.h"

enum { FEW = 5, STEPPED = 20, DATA = 200, BY_HANDLERS = THREADS + 1 };

static void refuse_to_block(void)
{
    char name[] = "rt_sigprocmask", *names[] = { name, NULL };
    install(names, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
}

static void record(uint64_t thread, uint64_t bytes)
{
    static uint64_t last;
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST,
              thread << 40 | __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) << 4, bytes);
}

static bool do_nothing(void) { return true; }

/* Starts the worker before the filter is installed. It writes the log's end. */
static void keep_worker(void)
{
    mp_process->encoder[0].state = MP_ENCODER_RUNS;
    if (!mp_worker_post(do_nothing)) _exit(90);
}

static void handle(void (*handler)(int), void (*before)(void))
{
    const struct sigaction action = { .sa_handler = handler };
    sigaction(SIGUSR1, &action, NULL);
    before();
    keep_worker();
    refuse_to_block();
}

static void raise_signal(void)
{
    if (syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) != 0) _exit(91);
}

static void nothing(void) {}
static void record_one(void) { record(THREADS, 1); }

/* ---- a handler's events while the thread records nothing */

static void record_few(int signal)
{
    (void)signal;
    for (uint64_t i = 0; i < FEW; i++) record(BY_HANDLERS, 1);
    mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, 0, "handler", 7);
}

static void come_within_memprofs_own_calls(void)
{
    handle(record_few, record_one);
    const struct mp_guarded guarded = mp_guard_enter();
    raise_signal();
    mp_guard_leave(guarded);
    record_one();
}

static void events_within_memprofs_own_calls_are_counted(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(come_within_memprofs_own_calls);
    assert_int_equal(b.op[MPF_OP_ALLOC], 2);
    assert_int_equal(b.lost[MPF_LOSS_HANDLERS], FEW + 1);
    assert_int_equal(b.lost_total, FEW + 1);
}

/* The thread's record is being created. */
static void come_before_there_is_a_record(void)
{
    handle(record_few, nothing);
    const uint64_t signals = mp_sys_block_signals();
    raise_signal();
    mp_sys_restore_signals(signals);
    record_one();
}

static void events_before_the_thread_has_a_record_are_counted(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(come_before_there_is_a_record);
    assert_int_equal(b.op[MPF_OP_ALLOC], 1);
    assert_int_equal(b.op[MPF_OP_THREAD], 1);
    assert_int_equal(b.lost[MPF_LOSS_HANDLERS], FEW + 1);
}

/* Records what would otherwise wait: large blocks have stacks, and new names need a lock. */
static void record_large(int signal)
{
    (void)signal;
    record(BY_HANDLERS, MP_LARGE);
    if (mp_name_id("of a handler", 12) != MP_NAME_BUSY) _exit(92);
}

static void come_within_a_section(void)
{
    handle(record_large, record_one);
    const uint64_t signals = mp_sys_block_signals();
    raise_signal();
    mp_sys_restore_signals(signals);
    if (mp_name_id("of a handler", 12) < MP_NAME_FIRST) _exit(93);
}

static void a_name_that_cannot_be_recorded_is_counted(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(come_within_a_section);
    assert_int_equal(b.bytes, 1 + MP_LARGE);
    assert_int_equal(b.op[MPF_OP_NAME], 1);
    assert_int_equal(b.lost[MPF_LOSS_HANDLERS], 1);
}

/* ---- a signal at each instruction */

#if defined __x86_64__
static uint64_t handled;

static void record_another(int signal)
{
    (void)signal;
    record(BY_HANDLERS, 1);
    handled++;
}

static void step(void)
{
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}
static void run(void)
{
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

/* Events of mappings always read the clock, so their times cannot be old. */
static void map_another(int signal)
{
    (void)signal;
    mp_record(MPF_OP_MAP, MPF_HEAP_MMAP, 0x1000, 1);
}

static void map_at_each_instruction(void)
{
    const struct sigaction action = { .sa_handler = map_another };
    sigaction(SIGTRAP, &action, NULL);
    for (uint64_t i = 0; i < STEPPED; i++) {
        record_one();
        const uint64_t from = mp_self->cur;
        step();
        mp_record(MPF_OP_MAP, MPF_HEAP_MMAP, 0x1000, 1);
        run();
        const uint64_t to = mp_self->cur;
        const struct mpf_slot *s = mp_cursor_slot(from), *const end = mp_cursor_slot(to);
        if ((from ^ to) >= MPF_CHUNK_BYTES) continue;
        if (end - s < 20) _exit(94);
        for (; s + 1 < end; s++)
            if (s[1].time < s->time) _exit(96);
    }
}

static void no_slot_is_newer_than_a_later_slot_of_a_handler(void **state)
{
    (void)state;
    assert_true(recorded(map_at_each_instruction).op[MPF_OP_MAP] > 20 * STEPPED);
}

static void come_at_each_instruction(void)
{
    static const char data[DATA];
    const struct sigaction action = { .sa_handler = record_another };
    sigaction(SIGTRAP, &action, NULL);
    record_one();
    keep_worker();
    refuse_to_block();
    for (uint64_t i = 0; i < STEPPED; i++) {
        step();
        mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, i, data, sizeof data);
        run();
    }
    record(THREADS, handled);
}

/* The events that the handlers recorded and lost are all their events. The last block has their
 * number. */
static void a_handler_at_any_instruction_is_recorded_or_counted(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(come_at_each_instruction);
    const uint64_t by_handlers = b.op[MPF_OP_ALLOC] - 2, did = b.bytes - 1 - by_handlers;
    assert_int_equal(b.op[MPF_OP_THREAD_NAME], STEPPED);
    assert_true(did > 100 * STEPPED && b.lost[MPF_LOSS_HANDLERS] > 0);
    assert_int_equal(by_handlers + b.lost[MPF_LOSS_HANDLERS], did);
    assert_int_equal(b.lost_total, b.lost[MPF_LOSS_HANDLERS]);
}
#endif

/* ---- threads of memprof in which the program's handlers would run */

static void record_a_large_one(void)
{
    char main_state;
    handle(record_few, nothing);
    mp_process->encoder[0].state = MP_ENCODER_NONE;
    mp_worker_stop();
    record(THREADS, MP_LARGE);
    if (mp_encoder_runs() || mp_sys_threads(&main_state) != 1) _exit(95);
}

static void no_thread_starts_if_signals_cannot_be_blocked(void **state)
{
    (void)state;
    recorded_without_end(record_a_large_one);
}

int main(void)
{
    if (emulator_lacks("seccomp")) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_within_memprofs_own_calls_are_counted),
        cmocka_unit_test(events_before_the_thread_has_a_record_are_counted),
        cmocka_unit_test(a_name_that_cannot_be_recorded_is_counted),
#if defined __x86_64__
        cmocka_unit_test(no_slot_is_newer_than_a_later_slot_of_a_handler),
        cmocka_unit_test(a_handler_at_any_instruction_is_recorded_or_counted),
#endif
        cmocka_unit_test(no_thread_starts_if_signals_cannot_be_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
