/* States: NONE -> POSTED (a caller creates the thread, with a job for it) -> IDLE (the job is done,
 * and the thread waits for another one) or NONE (the job is done, and the thread ends, in a child
 * of a raw fork). IDLE -> POSTED (by a caller) or NONE (the program has ended, or memprof's threads
 * must end).
 *
 * Invariants:
 *  - Only the holder of `lock` changes the state to POSTED. Only the worker changes it from there,
 * or a holder of `lock` who has seen that the worker's thread has ended.
 *  - A new thread is created only after the kernel has removed the previous one, whose memory it
 * uses. */
#include "core/worker.h"

#include <sched.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "base/text.h"
#include "core/encoder.h"
#include "core/ids.h"
#include "core/logfile.h"
#include "core/records.h"
#include "core/say.h"
#include "core/state.h"

#define END_NS   UINT64_C(1000000000) /* for a thread that only has to end */
#define RETRY_NS UINT64_C(100000000)
#define POST_NS  UINT64_C(100000000)
#define LOOK_NS  UINT64_C(100000000) /* between two checks whether the program has ended */

enum { NONE, IDLE, POSTED };

/* The processors that the process could use at its start. */
static struct {
    long bytes;
    uint64_t mask[128];
} processors;

/* ---- on the worker */

static void do_job(void *arg)
{
    struct mp_worker *w = arg;
    w->result = w->job();
}

/* A child of a raw fork may end by a raw exit of its only thread, so the worker's thread ends
 * there. */
static void finish_job(struct mp_worker *w)
{
    do_job(w);
    __atomic_store_n(&w->state, mp_process->known ? IDLE : NONE, __ATOMIC_SEQ_CST);
    mp_sys_futex_wake(&w->state);
}

/* A thread inherits the priority and the processors of the thread that started it, which may be any
 * thread. */
static void leave_makers_schedule(void)
{
    const struct sched_param none = { 0 };
    if (mp_sys3(SYS_sched_getscheduler, 0, 0, 0) != SCHED_OTHER)
        mp_sys3(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&none);
    if (processors.bytes > 0)
        mp_sys3(SYS_sched_setaffinity, 0, processors.bytes, (long)processors.mask);
}

static void dismiss(struct mp_worker *w)
{
    uint32_t idle = IDLE;
    if (__atomic_compare_exchange_n(&w->state, &idle, NONE, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
        mp_sys_futex_wake(&w->state);
}

/* A holder of the lock may be about to end memprof's threads. */
static void start_encoder(struct mp_worker *w)
{
    uint64_t signals;
    if (!mp_encoder_overdue() || !mp_lock_within(&w->lock, 0, &signals)) return;
    mp_encoder_start_by_worker();
    mp_unlock(&w->lock, signals);
}

static void serve(void)
{
    struct mp_worker *w = &mp_process->worker;
    uint32_t followed = 0;
    mp_thread_own();
    mp_sys3(SYS_prctl, PR_SET_NAME, (long)"memprof", 0);
    leave_makers_schedule();
    mp_logfile_keep_open();
    for (uint32_t state; (state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE)) != NONE;) {
        mp_ids_follow(&followed);
        if (state == POSTED) finish_job(w);
        else {
            mp_sys_futex_wait(&w->state, IDLE, LOOK_NS);
            start_encoder(w);
            if (!mp_encoder_runs() && mp_encoder_is_alone()) dismiss(w);
        }
    }
}

void mp_worker_init(void)
{
    processors.bytes =
        mp_sys3(SYS_sched_getaffinity, 0, sizeof processors.mask, (long)processors.mask);
}

void mp_worker_wake(void) { mp_sys_futex_wake(&mp_process->worker.state); }

/* ---- on the caller's thread */

static void give_up(struct mp_worker *w)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    w->failed = now ? now : 1;
    __atomic_store_n(&w->state, NONE, __ATOMIC_RELEASE);
    mp_encoder_not_started();
}

/* Waits for the current job. Returns false if it is not done in time, or the thread ended without
 * it. */
static bool await_job(struct mp_worker *w, uint64_t ns)
{
    struct mp_patience patience = mp_patience(w->overdue ? 0 : ns);
    for (;;) {
        const bool is_alive = __atomic_load_n(&w->thread.running, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != POSTED) break;
        if (!is_alive) {
            give_up(w);
            return false;
        }
        if (mp_wait(&patience, &w->state, POSTED, 10000000u)) continue;
        w->overdue = true;
        return false;
    }
    w->overdue = false;
    return true;
}

/* After a detach the program continues without memprof's threads, although a thread may still be on
 * its way to post a job. */
static bool has_detached(const struct mp_worker *w)
{
    return w != &mp_process->worker ||
           (mp_process->attached &&
            __atomic_load_n(&mp_process->state, __ATOMIC_ACQUIRE) == MP_CLOSED);
}

/* After a failure the next attempt is a short time later, because otherwise every lost event would
 * try. Only the end of the process does not wait (`last`). */
static bool start_thread(struct mp_worker *w, bool last)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    if (has_detached(w) || (w->failed && now < w->failed + RETRY_NS && !last)) return false;
    if (!mp_raw_thread_await_end(&w->thread, END_NS)) return false;
    __atomic_store_n(&w->state, POSTED, __ATOMIC_SEQ_CST);
    if (mp_raw_thread_start(&w->thread, serve, MP_TABLE_EMPTY)) return true;
    give_up(w);
    return false;
}

static bool post(struct mp_worker *w, bool (*job)(void), bool last)
{
    uint32_t idle = IDLE;
    w->job = job;
    if (__atomic_compare_exchange_n(&w->state, &idle, POSTED, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
        mp_sys_futex_wake(&w->state);
        return true;
    }
    return start_thread(w, last);
}

/* unshare(CLONE_THREAD) changes nothing and fails in a process with several threads. If a filter
 * may kill the process for it, the C library's record of whether it ever created a second thread is
 * used. */
static bool is_only_thread(void)
{
    if (mp_sys3(SYS_prctl, PR_GET_SECCOMP, 0, 0) != 0) return __libc_single_threaded;
    return mp_sys3(SYS_unshare, CLONE_THREAD, 0, 0) == 0;
}

/* A job opens at most two files. */
static bool table_has_room(void)
{
    const int first = mp_sys_open("/", O_PATH, 0), second = mp_sys_open("/", O_PATH, 0);
    if (first >= 0) mp_sys_close(first);
    if (second >= 0) mp_sys_close(second);
    return first >= 0 && second >= 0;
}

/* The only thread of the program can do the job itself if its table has room. A program may have
 * used all its descriptors, and the worker's table is empty. */
static bool run_in_caller(struct mp_worker *w, bool (*job)(void))
{
    if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != NONE || !is_only_thread() ||
        !table_has_room())
        return false;
    w->job = job;
    return mp_raw_thread_call(&w->thread, do_job, w);
}

static bool run_in_worker(struct mp_worker *w, bool (*job)(void), uint64_t ns, bool last)
{
    if (last) w->overdue = false;
    return await_job(w, ns) && post(w, job, last) && await_job(w, ns);
}

/* If signals cannot be blocked, the caller may be a handler that interrupted the holder of the lock
 * in its own thread, so it does not wait. */
static bool take_lock(struct mp_worker *w, uint64_t ns, uint64_t *signals)
{
    return mp_lock_within(&w->lock, mp_sys_signals_come ? 0 : ns, signals);
}

static bool run(bool (*job)(void), uint64_t ns, bool last)
{
    struct mp_worker *w = &mp_process->worker;
    if (mp_thread_is_own()) return job();
    uint64_t signals;
    if (mp_process->pid != mp_sys_getpid() || !take_lock(w, ns, &signals)) return false;
    const bool done = (run_in_caller(w, job) || run_in_worker(w, job, ns, last)) && w->result;
    mp_unlock(&w->lock, signals);
    mp_say_kept();
    return done;
}

bool mp_worker_run(bool (*job)(void), uint64_t ns) { return run(job, ns, false); }
bool mp_worker_run_last(bool (*job)(void), uint64_t ns) { return run(job, ns, true); }

bool mp_worker_post(bool (*job)(void))
{
    struct mp_worker *w = &mp_process->worker;
    uint64_t signals;
    if (mp_thread_is_own() || mp_process->pid != mp_sys_getpid() ||
        !take_lock(w, POST_NS, &signals))
        return false;
    const bool posted =
        __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != POSTED && post(w, job, false);
    mp_unlock(&w->lock, signals);
    return posted;
}

void mp_worker_check(void)
{
    struct mp_worker *w = &mp_process->worker;
    uint64_t signals;
    if (!mp_lock_within(&w->lock, 0, &signals)) return;
    const bool is_alive = __atomic_load_n(&w->thread.running, __ATOMIC_ACQUIRE);
    if (!is_alive && __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == POSTED) give_up(w);
    mp_unlock(&w->lock, signals);
}

bool mp_worker_stop(void)
{
    if (!mp_process || mp_process->pid != mp_sys_getpid()) return false;
    struct mp_worker *w = &mp_process->worker;
    uint64_t signals;
    if (!take_lock(w, END_NS, &signals)) return false;
    await_job(w, END_NS);
    const bool ran = mp_encoder_stop();
    dismiss(w);
    mp_raw_thread_await_end(&w->thread, END_NS);
    mp_unlock(&w->lock, signals);
    return ran;
}

bool mp_worker_has_ended(void)
{
    bool runs = __atomic_load_n(&mp_process->worker.thread.running, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < MP_WRITERS; i++)
        runs |= __atomic_load_n(&mp_process->encoder[i].thread.running, __ATOMIC_ACQUIRE);
    return !runs;
}

/* ---- whole files */

#define READ_NS UINT64_C(1000000000)

/* Only the job changes it. Only the holder of `lines` reads it. */
static struct {
    const char *path;
    char *text; /* terminated by 0 */
    size_t bytes, room;
} file;

/* A fork may happen at any store, and the child continues with this buffer, so it is never smaller
 * than `room`. */
static bool grow_text(void)
{
    const size_t room = file.room ? 2 * file.room : 16 << 10;
    char *const larger = mp_sys_map(room);
    if (!larger) return false;
    char *const old = file.text;
    const size_t old_room = file.room;
    if (old) memcpy(larger, old, file.bytes);
    __atomic_store_n(&file.text, larger, __ATOMIC_RELEASE);
    __atomic_store_n(&file.room, room, __ATOMIC_RELEASE);
    if (old) mp_sys_munmap(old, old_room);
    return true;
}

static bool read_file(void)
{
    const int fd = mp_sys_open(file.path, O_RDONLY, 0);
    long n = fd;
    for (file.bytes = 0; n >= 0; file.bytes += (size_t)n) {
        if (file.bytes + 1 >= file.room && !grow_text()) n = -ENOMEM;
        else n = mp_sys_read(fd, file.text + file.bytes, file.room - 1 - file.bytes);
        if (n <= 0) break;
    }
    if (fd >= 0) mp_sys_close(fd);
    if (n == 0) file.text[file.bytes] = 0;
    return n == 0;
}

static void pass_lines(void (*take)(void *arg, const char *line), void *arg)
{
    char *line = file.text;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        take(arg, line);
    }
    if (*line) take(arg, line);
}

/* The constructor may open files itself, before there is a process to record. */
void mp_worker_lines(const char *path, void (*take)(void *arg, const char *line), void *arg)
{
    static struct mp_lock at_start;
    struct mp_lock *lock = mp_process ? &mp_process->worker.lines : &at_start;
    uint64_t signals;
    if (!mp_lock_within(lock, mp_sys_signals_come ? 0 : READ_NS, &signals)) return;
    file.path = path;
    if (mp_process ? mp_worker_run(read_file, READ_NS) : read_file()) pass_lines(take, arg);
    mp_unlock(lock, signals);
}
