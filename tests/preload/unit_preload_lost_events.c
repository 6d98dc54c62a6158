/* Lost events are counted exactly, and all others are kept. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/epoch.h"
#include "core/logfile.h"
#include "core/loss.h"
#include "core/names.h"
#include "core/process.h"
#include "core/ranges.h"
#include "core/record.h"
#include "core/records.h"
#include "emulated.h"
#include "recording.h"
#include "stacks/stack.h"

enum { FEW = 300, STALLED = 7 };

/* Blocks of thread 0, whose order is checked, or blocks that are to be lost. */
enum { KEPT = 0, LOST = THREADS };

static void record_blocks(uint64_t thread, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, thread << 40 | i << 4, i);
}

/* ---- a frame that cannot be written */

static void limit_files(uint64_t bytes)
{
    const struct rlimit limit = { bytes, RLIM_INFINITY };
    if (syscall(SYS_setrlimit, RLIMIT_FSIZE, &limit) != 0) _exit(94);
}

static uint64_t watermark(void)
{
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const uint64_t w = mp_process->watermark;
    mp_unlock(&mp_process->epoch_lock, signals);
    return w;
}

/* An epoch omits events that are younger than its margin, about 40 us. */
static void grow_old(void)
{
    const uint64_t old = mp_sys_clock(CLOCK_MONOTONIC) + 1000000;
    while (mp_sys_clock(CLOCK_MONOTONIC) < old) {}
}

/* Creates a full pipe and returns its ends. */
static void full_pipe(int end[2])
{
    static const char bytes[4096];
    if (pipe(end) != 0) _exit(99);
    fcntl(end[1], F_SETFL, O_NONBLOCK);
    while (write(end[1], bytes, sizeof bytes) > 0) {}
    fcntl(end[1], F_SETFL, 0);
}

struct writer {
    pthread_t thread;
    unsigned number;
    int instead; /* descriptor that gets its frame instead of the log, or -1 */
};

static void *write_a_frame(void *arg)
{
    const struct writer *w = arg;
    if (w->instead >= 0) {
        const int log = dup(0);
        close(log);
        mp_thread_own();
        mp_logfile_keep_open();
        if (dup2(w->instead, log) != log) _exit(98);
    }
    mp_epoch_run(w->number);
    return NULL;
}

/* When this returns, the writer has taken the recorded events and is writing its frame. */
static void begin_frame(struct writer *w)
{
    const uint64_t before = watermark();
    grow_old();
    pthread_create(&w->thread, NULL, write_a_frame, w);
    while (watermark() == before) mp_sys_yield();
}

/* The first writer hangs in its write until the second one has started a frame. Then its write
 * fails. */
static void first_of_two_writers_fails(void)
{
    int end[2];
    mp_process->known = 0;
    signal(SIGPIPE, SIG_IGN);
    full_pipe(end);
    struct writer first = { .number = 0, .instead = end[1] },
                  second = { .number = 1, .instead = -1 };
    mp_loss(MPF_LOSS_STALLED, STALLED);
    record_blocks(LOST, 1, FEW);
    begin_frame(&first);
    record_blocks(KEPT, 1, FEW);
    begin_frame(&second);
    close(end[0]);
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    if (mp_process->pool.on_the_way) _exit(97);
    record_blocks(KEPT, FEW + 1, FEW);
}

/* Checks that the log has the time and the reason of the failure. */
static void assert_unwritten(const struct log_counts *b, int error)
{
    assert_int_equal(b->unwritten.error, error);
    assert_int_equal(b->unwritten.events, b->lost[MPF_LOSS_WRITE]);
    assert_true(b->unwritten.from && b->unwritten.from < b->unwritten.to && b->unwritten.bytes);
}

/* Two frames are lost: the one with the program's events, and the one with the first samples. */
static void a_frame_that_cannot_be_written_is_counted_and_others_are_kept(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(first_of_two_writers_fails);
    const uint64_t thread = 1, samples = 1 + (b.op[MPF_OP_SAMPLE_CGROUP] > 0);
    assert_int_equal(b.op[MPF_OP_THREAD], 0);
    assert_int_equal(b.op[MPF_OP_ALLOC], 2 * FEW);
    assert_int_equal(b.step[KEPT], 2 * FEW);
    assert_int_equal(b.lost[MPF_LOSS_WRITE], thread + FEW + samples);
    assert_int_equal(b.lost[MPF_LOSS_STALLED], STALLED);
    assert_int_equal(b.lost_total, b.lost[MPF_LOSS_WRITE] + STALLED);
    assert_unwritten(&b, EPIPE);
}

/* Loses two frames. The second one contained the counts of the first loss. */
static void log_that_opens_no_more(void)
{
    char away[4096 + 8];
    snprintf(away, sizeof away, "%s.away", mp_logfile_path());
    mp_process->known = 0;
    if (rename(mp_logfile_path(), away) != 0) _exit(91);
    for (int i = 0; i < 2; i++) {
        record_blocks(LOST, 1, FEW);
        grow_old();
        mp_epoch_run(0);
    }
    if (rename(away, mp_logfile_path()) != 0) _exit(90);
    record_blocks(KEPT, 1, FEW);
}

static void losses_of_several_frames_have_one_time_span(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(log_that_opens_no_more);
    assert_int_equal(b.step[KEPT], FEW);
    assert_int_equal(b.op[MPF_OP_UNWRITTEN], 1);
    assert_in_range(b.lost[MPF_LOSS_WRITE], 2 * FEW, 2 * FEW + 10);
    assert_unwritten(&b, ENOENT);
}

/* Leaves space for END only. */
static void full_at_the_end(void)
{
    enum { END_BYTES = 500, MANY = 3000 };
    mp_process->known = 0;
    for (uint64_t i = 1; i <= MANY; i++)
        mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uint64_t)LOST << 40 | i * i * i << 4, i);
    limit_files(mp_logfile_bytes() + END_BYTES);
}

static void losses_without_an_event_are_in_the_end_record(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(full_at_the_end);
    assert_int_equal(b.op[MPF_OP_ALLOC], 0);
    assert_int_equal(b.op[MPF_OP_UNWRITTEN], 0);
    assert_int_equal(b.unwritten.error, EFBIG);
    assert_int_equal(b.unwritten.events, b.lost_total);
    assert_true(b.unwritten.from && b.unwritten.from < b.unwritten.to && b.unwritten.bytes);
}

static void use_a_name_and_a_stack(void)
{
    const uint32_t domain = mp_domain_id("library", 7), name = mp_name_id("step", 4);
    mp_range_push(domain, name);
    const struct mp_frame from = mp_frame_of_caller();
    mp_record(MPF_OP_AT, MPF_HEAP_NONE, mp_stack_here(&from), 0);
    mp_range_pop(domain);
}

/* The frame that defines all names and stacks is lost. The next one is written. */
static void names_and_stacks_lost_once(void)
{
    int end[2];
    mp_process->known = 0;
    if (!mp_stack_init()) _exit(96);
    signal(SIGPIPE, SIG_IGN);
    full_pipe(end);
    close(end[0]);
    struct writer fails = { .number = 0, .instead = end[1] };
    use_a_name_and_a_stack();
    begin_frame(&fails);
    pthread_join(fails.thread, NULL);
    /* So that all have one call site. */
    for (volatile int i = 0; i < 3; i++) use_a_name_and_a_stack();
}

static void names_and_stacks_are_recorded_again_after_a_lost_frame(void **state)
{
    (void)state;
    const struct log_counts b = recorded_with_losses(names_and_stacks_lost_once);
    assert_int_equal(b.op[MPF_OP_PUSH], 3);
    assert_int_equal(b.op[MPF_OP_DOMAIN], 1);
    assert_int_equal(b.op[MPF_OP_NAME], 1);
    assert_int_equal(b.op[MPF_OP_STACK], 1);
    assert_in_range(b.op[MPF_OP_MODULE], 1, 100);
    assert_int_equal(b.op[MPF_OP_THREAD], 1);
}

/* ---- a part of a frame that cannot be cut off */

enum { TORN = 10 };

static void refuse(const int *call, unsigned count)
{
    struct sock_filter f[16] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, nr)) };
    unsigned n = 1;
    for (unsigned i = 0; i < count; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { (unsigned short)n, f };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(95);
}

/* Removes the torn bytes from the log, which is then complete. */
static void take_out(off_t from)
{
    static uint8_t rest[1 << 20];
    const int log = open(mp_logfile_path(), O_RDWR);
    const ssize_t n = pread(log, rest, sizeof rest, from + TORN);
    if (n <= 0 || pwrite(log, rest, (size_t)n, from) != n || ftruncate(log, from + n) != -1 ||
        truncate(mp_logfile_path(), from + n) != 0)
        _exit(93);
    close(log);
}

/* memprof can neither read the limit nor truncate a file. */
static void frame_that_stays_torn(void)
{
    const int calls[] = { SYS_ftruncate, SYS_prlimit64 };
    struct stat now;
    mp_process->known = 0;
    signal(SIGXFSZ, SIG_IGN);
    refuse(calls, 2);
    const uint64_t before = mp_logfile_bytes();
    limit_files(before + TORN);
    record_blocks(LOST, 1, FEW);
    grow_old();
    mp_epoch_run(0);
    limit_files(RLIM_INFINITY);
    record_blocks(KEPT, 1, FEW);
    mp_process_finish("exit");
    if (stat(mp_logfile_path(), &now) != 0 || (uint64_t)now.st_size != mp_logfile_bytes())
        _exit(92);
    take_out((off_t)before);
}

static void a_torn_frame_that_stays_is_counted(void **state)
{
    (void)state;
    if (emulator_lacks("seccomp")) skip();
    const struct log_counts b = recorded_with_losses(frame_that_stays_torn);
    assert_int_equal(b.step[KEPT], FEW);
    assert_in_range(b.lost[MPF_LOSS_WRITE], FEW, FEW + 10);
}

/* A random small block with a call stack would record its thread again. */
int main(void)
{
    setenv("MEMPROF_STACKS", "large", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_cannot_be_written_is_counted_and_others_are_kept),
        cmocka_unit_test(losses_of_several_frames_have_one_time_span),
        cmocka_unit_test(losses_without_an_event_are_in_the_end_record),
        cmocka_unit_test(names_and_stacks_are_recorded_again_after_a_lost_frame),
        cmocka_unit_test(a_torn_frame_that_stays_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
