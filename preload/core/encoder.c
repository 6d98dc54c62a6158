#include "core/encoder.h"

#include <errno.h>

#include "base/clock.h"
#include "core/epoch.h"
#include "core/journal.h"
#include "core/logfile.h"
#include "core/own_thread.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/state.h"

#define PERIOD_NS 100000000u
#define OWN_STACK ((size_t)256 << 10)

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* A descriptor table of its own, empty: programs close descriptors that they do not know, and must
 * not see ours, nor may a copy of theirs keep a pipe open that they close.  Where that is refused
 * the log is opened anew for every write. */
static void private_descriptors(void)
{
    if (mp_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0) mp_logfile_keep_open();
}

static void become_own(void)
{
    mp_thread_own();
    mp_sys_begin_thread("memprof");
    private_descriptors();
}

/* The request is taken before the epoch: what its caller recorded before asking is then in the log.
 */
static void answer(void)
{
    const uint32_t asked = __atomic_load_n(&mp_process->asked, __ATOMIC_ACQUIRE);
    if (asked == mp_process->answered) return;
    mp_epoch_end(mp_process->reason);
    __atomic_store_n(&mp_process->answered, asked, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->answered);
}

static unsigned helpers(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MP_WRITERS - 1; i++)
        n += __atomic_load_n(&mp_process->helper[i], __ATOMIC_ACQUIRE) == MP_ENCODER_RUNS;
    return n;
}
static bool kept(void)
{
    return __atomic_load_n(&mp_process->keeper, __ATOMIC_ACQUIRE) == MP_ENCODER_RUNS;
}

/* The main thread has called pthread_exit and every other thread is gone: the C library would end
 * the process now, but for this thread. */
static bool last_thread(void)
{
    char main_state;
    const long threads = mp_sys_threads(&main_state);
    if (threads <= 0)
        return __atomic_load_n(&mp_process->main_left, __ATOMIC_ACQUIRE); /* not to be known: it had
                                                                             better be no thread */
    /* the dead main thread and ours */
    return main_state == 'Z' && threads <= 2 + (long)helpers() + kept();
}

static void leave(void)
{
    __atomic_store_n(&mp_process->encoder, MP_ENCODER_GONE, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->encoder);
    mp_encoder_wake();
}

/* As many events as a frame is for: several encoders take no less, or each would make small ones.
 * But nobody waits for a chunk until there are so many: where the pool is small, or many threads
 * have theirs, there never are. */
static bool a_frame_waits(void)
{
    return mp_pool_backlog(mp_thread_records()) >= MP_POOL_RESERVE / 4 || mp_pool_wanted();
}

/* Returning from here as the last thread makes the C library call exit, and that finishes the log.
 * Where it may not sleep (a filter of the program's for all threads) it leaves, and threads encode
 * themselves. */
static void *encoder(void *arg)
{
    (void)arg;
    become_own();
    __atomic_store_n(&mp_process->encoder_tid, mp_sys_gettid(), __ATOMIC_RELAXED);
    __atomic_store_n(&mp_process->encoder, MP_ENCODER_RUNS, __ATOMIC_RELEASE);
    uint64_t next = 0;
    bool more = false;
    while (__atomic_load_n(&mp_process->encoder, __ATOMIC_ACQUIRE) == MP_ENCODER_RUNS) {
        const uint32_t woken = __atomic_load_n(&mp_process->wake, __ATOMIC_ACQUIRE);
        const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
        const bool due = !now || now >= next; /* 0: a filter of the program's refuses the clock */
        if (due) {
            next = now + PERIOD_NS;
            mp_clock_next_turns();
            mp_journal_beat(now);
            if (last_thread()) leave();
        }
        more = (due || more || !helpers() || a_frame_waits()) && mp_epoch_run(0);
        answer();
        const uint64_t after = mp_sys_clock(CLOCK_MONOTONIC);
        if (!more && after < next &&
            !mp_sys_futex_wait(&mp_process->wake, woken, after ? next - after : PERIOD_NS))
            leave();
    }
    return NULL;
}

/* Each begins only once the one before it runs. */
static unsigned starting_helper(void)
{
    unsigned i = 0;
    while (i < MP_WRITERS - 2 &&
           __atomic_load_n(&mp_process->helper[i], __ATOMIC_ACQUIRE) != MP_ENCODER_STARTING)
        i++;
    return i;
}

/* The second encoder, or one more: it works while those before it do not keep up, and sleeps else.
 * Where the log opens no more (the program has given up its rights, or descriptors) the first one
 * still has it open, and frames of others would be lost. */
static void *helper(void *arg)
{
    (void)arg;
    const unsigned mine = starting_helper();
    uint32_t *state = &mp_process->helper[mine];
    become_own();
    if (!mp_logfile_opens()) {
        __atomic_store_n(state, MP_ENCODER_FAILED, __ATOMIC_RELEASE);
        return NULL;
    }
    __atomic_store_n(state, MP_ENCODER_RUNS, __ATOMIC_RELEASE);
    for (;;) {
        const uint32_t woken = __atomic_load_n(&mp_process->wake, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&mp_process->encoder, __ATOMIC_ACQUIRE) != MP_ENCODER_RUNS) return NULL;
        if (a_frame_waits() && mp_epoch_run(1 + mine)) continue;
        if (!mp_sys_futex_wait(&mp_process->wake, woken, UINT64_C(3600) * 1000000000u)) break;
    }
    __atomic_store_n(state, MP_ENCODER_FAILED, __ATOMIC_RELEASE);
    return NULL;
}

/* Has the descriptors of the main thread that made it.  The encoders are gone for the C library,
 * too, when the kernel has none of them any more. */
static void *keeper(void *signals)
{
    char main_state;
    mp_sys_begin_thread("memprof");
    __atomic_store_n(&mp_process->keeper, MP_ENCODER_RUNS, __ATOMIC_RELEASE);
    for (uint32_t state;
         (state = __atomic_load_n(&mp_process->encoder, __ATOMIC_ACQUIRE)) == MP_ENCODER_STARTING ||
         state == MP_ENCODER_RUNS;)
        mp_sys_futex_wait(&mp_process->encoder, state, 1000000000u);
    while (mp_sys_threads(&main_state) > 2)
        mp_sys_futex_wait(&mp_process->keeper, MP_ENCODER_RUNS, 1000000u);
    mp_sys_restore_signals((uint64_t)(uintptr_t)signals);
    return NULL;
}

/* A chunk has been filled, or many are in use. */
static bool worth_it(const struct mp_process *p)
{
    return __atomic_load_n(&p->pool.seq, __ATOMIC_RELAXED) >
               __atomic_load_n(&p->thread_number, __ATOMIC_RELAXED) ||
           __atomic_load_n(&p->pool.in_use, __ATOMIC_RELAXED) >= MP_POOL_RESERVE / 4;
}

/* Once for each state.  A handler must not come between: it could wait for a thread that is not
 * there yet.
 *
 * What making a thread allocates is not the program's.  A calling thread without a record (a main
 * thread that leaves, a failed registration), which cannot be guarded, is marked as ours meanwhile.
 */
static void start(uint32_t *state, void *(*run)(void *), size_t stack)
{
    const int saved = errno;
    const uint64_t signals = mp_sys_block_signals();
    struct mp_thread *const me = mp_self;
    const bool guarded = me && me->number;
    if (guarded) me->guard |= MP_MAKES_THREAD;
    else mp_thread_own();
    uint32_t none = MP_ENCODER_NONE;
    const bool mine = __atomic_compare_exchange_n(state, &none, MP_ENCODER_STARTING, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (mine && !mp_own_thread(run, (void *)(uintptr_t)signals, stack))
        __atomic_store_n(state, MP_ENCODER_FAILED, __ATOMIC_RELEASE);
    if (guarded) me->guard &= ~(uint32_t)MP_MAKES_THREAD;
    mp_self = me;
    mp_sys_restore_signals(signals);
    errno = saved;
}

/* How often threads must have waited for chunks, with all those before it at work, and how many
 * processors there must be: more than two encoders are for programs of many threads that do hardly
 * anything else, where the program waits and leaves processors to them. */
static const struct {
    uint32_t waits, processors;
} helper_from[MP_WRITERS - 1] = { { 1, 2 }, { 100, 8 }, { 200, 8 } };

static bool helper_may(unsigned number)
{
    return mp_sys_processors() >= helper_from[number].processors && !mp_sys_limited();
}

/* The helper whose time has come; NULL: none's. */
static uint32_t *helper_due(struct mp_process *p, uint32_t state)
{
    unsigned i = 0;
    if (state != MP_ENCODER_RUNS) return NULL;
    while (i < MP_WRITERS - 2 &&
           __atomic_load_n(&p->helper[i], __ATOMIC_RELAXED) == MP_ENCODER_RUNS)
        i++;
    const bool due = __atomic_load_n(&p->helper[i], __ATOMIC_RELAXED) == MP_ENCODER_NONE &&
                     __atomic_load_n(&p->pool.waits, __ATOMIC_RELAXED) >= helper_from[i].waits;
    return due ? &p->helper[i] : NULL;
}

/* Or there will be none. */
static void start_helper(struct mp_process *p, uint32_t *state)
{
    uint32_t none = MP_ENCODER_NONE;
    if (helper_may((unsigned)(state - p->helper))) start(state, helper, OWN_STACK);
    else
        __atomic_compare_exchange_n(state, &none, MP_ENCODER_FAILED, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

bool mp_encoder_due(bool now)
{
    struct mp_process *p = mp_process;
    const uint32_t state = __atomic_load_n(&p->encoder, __ATOMIC_RELAXED);
    return p->may_thread &&
           (state == MP_ENCODER_NONE ? now || worth_it(p) : helper_due(p, state) != NULL);
}

/* Another thread may have started the encoder since it was due: that alone makes no helper due.
 * The first one's memory is there before it: the program may limit its own at any instant.  A child
 * that the process does not know yet makes neither. */
void mp_encoder_start(void)
{
    struct mp_process *p = mp_process;
    const uint32_t state = __atomic_load_n(&p->encoder, __ATOMIC_RELAXED);
    if (mp_sys_getpid() != p->pid) return;
    if (state == MP_ENCODER_NONE) {
        mp_epoch_prepare();
        start(&p->encoder, encoder, OWN_STACK);
    } else {
        uint32_t *const due = helper_due(p, state);
        if (due) start_helper(p, due);
    }
}

/* Where no encoder runs, none will: threads encode themselves then, and the last of them calls exit
 * as it would have.  On the keeper's stack the program's own handlers of exit run. */
void mp_encoder_outlive_main(void)
{
    struct mp_process *p = mp_process;
    if (!p || __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != MP_ON || mp_sys_gettid() != p->pid)
        return;
    __atomic_store_n(&p->main_left, 1, __ATOMIC_RELEASE);
    uint32_t none = MP_ENCODER_NONE;
    if (__atomic_compare_exchange_n(&p->encoder, &none, MP_ENCODER_FAILED, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return;
    if (none == MP_ENCODER_STARTING || none == MP_ENCODER_RUNS) start(&p->keeper, keeper, 0);
}

void mp_encoder_wake(void)
{
    __atomic_fetch_add(&mp_process->wake, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->wake);
}

static bool runs(void)
{
    const uint32_t s = __atomic_load_n(&mp_process->encoder, __ATOMIC_ACQUIRE);
    return s == MP_ENCODER_STARTING || s == MP_ENCODER_RUNS;
}

bool mp_encoder_relieve(uint32_t seen, struct mp_patience *patience)
{
    if (runs()) {
        mp_pool_want(seen);
        mp_encoder_wake();
    } else mp_epoch_run(0);
    return mp_pool_wait(seen, patience);
}

void mp_encoder_stand_in(void)
{
    static uint64_t next;
    const uint64_t period = (uint64_t)PERIOD_NS / 1000 << mp_process->tick_shift,
                   now = mp_clock_ticks();
    uint64_t due = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (now < due || mp_sys_getpid() != mp_process->pid) return;
    if (__atomic_compare_exchange_n(&next, &due, now + 2 * period, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        mp_epoch_run(0);
}

/* Is it one of the process's threads?  Waits while it is not certain, at most a second. */
static bool lives(uint32_t *state)
{
    struct mp_patience patience = mp_patience(1000000000u);
    uint32_t s;
    while ((s = __atomic_load_n(state, __ATOMIC_ACQUIRE)) == MP_ENCODER_STARTING &&
           mp_wait(&patience, state, s, 1000000u)) {}
    return s == MP_ENCODER_RUNS;
}

bool mp_encoder_alone(void)
{
    struct mp_process *p = mp_process;
    char main_state;
    long ours = lives(&p->encoder) + lives(&p->keeper);
    for (unsigned i = 0; i < MP_WRITERS - 1; i++) ours += lives(&p->helper[i]);
    return mp_sys_threads(&main_state) == 1 + ours;
}

/* Asks the encoder and waits as long as there is one; false when it does not answer. */
static bool ask(void)
{
    struct mp_process *p = mp_process;
    struct mp_patience patience = mp_patience((uint64_t)10 * 1000000000u);
    const uint32_t mine = __atomic_add_fetch(&p->asked, 1, __ATOMIC_ACQ_REL);
    mp_encoder_wake();
    for (bool lives = true;;) {
        const uint32_t done = __atomic_load_n(&p->answered, __ATOMIC_ACQUIRE);
        if ((int32_t)(done - mine) >= 0) return true;
        if (!lives || !mp_wait(&patience, &p->answered, done, 100000000u)) return false;
        lives = runs() &&
                mp_sys_thread_lives(p->pid, __atomic_load_n(&p->encoder_tid, __ATOMIC_RELAXED));
    }
}

bool mp_encoder_finish(const char *reason)
{
    mp_process->reason = reason;
    if (runs() && ask()) return true;
    return !runs() && mp_epoch_end(reason);
}
