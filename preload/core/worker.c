/* States: NONE -> POSTED (a caller makes the thread, with a job for it) -> NONE (done, and the
 * thread ends) or IDLE (done, and the thread waits because the encoder runs); IDLE -> POSTED (a
 * caller) or NONE (the encoder dismisses it).
 *
 * Invariants:
 *  - only the holder of `lock` moves the state to POSTED; only the worker moves it from there;
 *  - a new thread is made only when the kernel has ended the one before, whose memory it uses. */
#include "core/worker.h"

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

enum { NONE, IDLE, POSTED };

/* ---- on the worker */

static void do_job(void *arg)
{
    struct mp_worker *w = arg;
    w->result = w->job();
}

static void finish_job(struct mp_worker *w)
{
    do_job(w);
    __atomic_store_n(&w->state, mp_encoder_runs() ? IDLE : NONE, __ATOMIC_SEQ_CST);
    mp_sys_futex_wake(&w->state);
    if (!mp_encoder_runs()) mp_worker_dismiss();
}

static void serve(void)
{
    struct mp_worker *w = &mp_process->worker;
    mp_thread_own();
    mp_sys3(SYS_prctl, PR_SET_NAME, (long)"memprof", 0);
    mp_logfile_keep_open();
    for (uint32_t state; (state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE)) != NONE;) {
        mp_ids_follow();
        if (state == POSTED) finish_job(w);
        else if (!mp_sys_futex_wait(&w->state, IDLE, UINT64_C(3600) * 1000000000u)) mp_sys_yield();
    }
}

/* Both read the other one's word after storing their own, so one of them sees that it is over. */
void mp_worker_dismiss(void)
{
    uint32_t idle = IDLE;
    if (__atomic_compare_exchange_n(&mp_process->worker.state, &idle, NONE, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED))
        mp_sys_futex_wake(&mp_process->worker.state);
}

void mp_worker_wake(void) { mp_sys_futex_wake(&mp_process->worker.state); }

/* ---- on a caller's thread */

static void give_up(struct mp_worker *w)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    w->failed = now ? now : 1;
    __atomic_store_n(&w->state, NONE, __ATOMIC_RELEASE);
}

/* Waits for the job at hand.  False: it is not done in time, or the thread ended without it. */
static bool await_job(struct mp_worker *w, uint64_t ns)
{
    struct mp_patience patience = mp_patience(w->overdue ? 0 : ns);
    while (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == POSTED) {
        if (!__atomic_load_n(&w->thread.running, __ATOMIC_ACQUIRE)) {
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

/* A thread that could not be made, or could not get a table, is tried again after a while: events
 * that are lost for want of one would each try. */
static bool start_thread(struct mp_worker *w)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    if (w->failed && now < w->failed + RETRY_NS) return false;
    if (!mp_raw_thread_await_end(&w->thread, END_NS)) return false;
    __atomic_store_n(&w->state, POSTED, __ATOMIC_SEQ_CST);
    if (mp_raw_thread_start(&w->thread, serve, MP_TABLE_EMPTY)) return true;
    give_up(w);
    return false;
}

static bool post(struct mp_worker *w, bool (*job)(void))
{
    uint32_t idle = IDLE;
    w->job = job;
    if (__atomic_compare_exchange_n(&w->state, &idle, POSTED, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
        mp_sys_futex_wake(&w->state);
        return true;
    }
    return start_thread(w);
}

/* The only thread of the program can do the job itself, if its table has room: a program may have
 * taken all its numbers, and the worker's table is empty. */
static bool do_it_here(struct mp_worker *w, bool (*job)(void))
{
    if (!__libc_single_threaded || __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != NONE)
        return false;
    const int fd = mp_sys_open("/", O_PATH, 0);
    if (fd < 0) return false;
    mp_sys_close(fd);
    w->job = job;
    return mp_raw_thread_call(&w->thread, do_job, w);
}

static bool do_it_there(struct mp_worker *w, bool (*job)(void), uint64_t ns)
{
    return await_job(w, ns) && post(w, job) && await_job(w, ns);
}

/* With signals that cannot be blocked the caller may be a handler that came while its own thread
 * holds the lock: it does not wait for it. */
static bool take_lock(struct mp_worker *w, uint64_t ns, uint64_t *signals)
{
    return mp_lock_within(&w->lock, mp_sys_signals_come ? 0 : ns, signals);
}

static bool run(bool (*job)(void), uint64_t ns, bool may_be_here)
{
    struct mp_worker *w = &mp_process->worker;
    if (mp_thread_is_own()) return job();
    uint64_t signals;
    if (mp_process->pid != mp_sys_getpid() || !take_lock(w, ns, &signals)) return false;
    const bool done = ((may_be_here && do_it_here(w, job)) || do_it_there(w, job, ns)) && w->result;
    mp_unlock(&w->lock, signals);
    mp_say_kept();
    return done;
}

bool mp_worker_run(bool (*job)(void), uint64_t ns) { return run(job, ns, true); }
bool mp_worker_start(bool (*job)(void), uint64_t ns) { return run(job, ns, false); }

bool mp_worker_stop(void)
{
    if (!mp_process || mp_process->pid != mp_sys_getpid()) return false;
    struct mp_worker *w = &mp_process->worker;
    const uint64_t signals = mp_lock(&w->lock);
    const bool ran = mp_encoder_stop();
    mp_worker_dismiss();
    mp_raw_thread_await_end(&w->thread, END_NS);
    mp_unlock(&w->lock, signals);
    return ran;
}

/* ---- whole files */

#define READ_NS UINT64_C(1000000000)

/* Only the job changes it, only the holder of `lines` reads it. */
static struct {
    const char *path;
    char *text; /* ends with 0 */
    size_t bytes, room;
} file;

void mp_worker_reset(void) { memset(&file, 0, sizeof file); }

static bool grow_text(void)
{
    const size_t room = file.room ? 2 * file.room : 16 << 10;
    char *const larger = mp_sys_map(room);
    if (!larger) return false;
    if (file.text) {
        memcpy(larger, file.text, file.bytes);
        mp_sys_munmap(file.text, file.room);
    }
    file.text = larger;
    file.room = room;
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
    const uint64_t signals = mp_lock(lock);
    file.path = path;
    if (mp_process ? mp_worker_run(read_file, READ_NS) : read_file()) pass_lines(take, arg);
    mp_unlock(lock, signals);
}
