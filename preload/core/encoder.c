#include "core/encoder.h"

#include "base/clock.h"
#include "core/epoch.h"
#include "core/ids.h"
#include "core/journal.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/state.h"
#include "core/worker.h"

#define PERIOD_NS UINT64_C(100000000)
#define START_NS  UINT64_C(1000000000)
#define END_NS    UINT64_C(1000000000)
#define AGE_US    UINT64_C(100000)

static uint32_t state_of(unsigned number)
{
    return __atomic_load_n(&mp_process->encoder[number].state, __ATOMIC_SEQ_CST);
}

/* Returns true if this call moved the state. */
static bool change_state(unsigned number, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&mp_process->encoder[number].state, &from, to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static bool is_started(unsigned number)
{
    const uint32_t state = state_of(number);
    return state == MP_ENCODER_STARTING || state == MP_ENCODER_RUNS;
}

bool mp_encoder_runs(void) { return is_started(0); }

unsigned mp_encoders(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MP_WRITERS; i++) n += is_started(i);
    return n;
}

/* Starts encoder `number`, once in the life of the process, on a thread with the worker's
 * descriptor table. */
static bool start(unsigned number, void (*run)(void))
{
    struct mp_encoder *e = &mp_process->encoder[number];
    if (!change_state(number, MP_ENCODER_NONE, MP_ENCODER_STARTING)) return false;
    if (mp_raw_thread_start(&e->thread, run, MP_TABLE_SHARED)) return true;
    __atomic_store_n(&e->state, MP_ENCODER_FAILED, __ATOMIC_SEQ_CST);
    return false;
}

static void begin(unsigned number)
{
    mp_thread_own();
    mp_sys3(SYS_prctl, PR_SET_NAME, (long)"memprof", 0);
    change_state(number, MP_ENCODER_STARTING, MP_ENCODER_RUNS);
}

static void end(unsigned number) { change_state(number, MP_ENCODER_RUNS, MP_ENCODER_GONE); }

/* If there are several encoders, each waits until there are enough events for a whole frame,
 * because otherwise all frames would be small. */
static bool a_frame_waits(void) { return mp_pool_has_frame(mp_thread_records()); }

/* ---- additional encoders */

/* Only the newest encoder can be starting, because each starts when the one before it runs. */
static unsigned starting_helper(void)
{
    unsigned i = 1;
    while (i < MP_WRITERS - 1 && state_of(i) != MP_ENCODER_STARTING) i++;
    return i;
}

static void run_helper(void)
{
    const unsigned number = starting_helper();
    uint32_t followed = 0;
    begin(number);
    while (state_of(0) == MP_ENCODER_RUNS && state_of(number) == MP_ENCODER_RUNS) {
        const uint32_t woken = __atomic_load_n(&mp_process->wake, __ATOMIC_ACQUIRE);
        mp_ids_follow(&followed);
        if (a_frame_waits() && mp_epoch_run(number)) continue;
        if (state_of(0) == MP_ENCODER_RUNS &&
            !mp_sys_futex_wait(&mp_process->wake, woken, UINT64_C(3600) * 1000000000u))
            break;
    }
    end(number);
}

/* Number of waits for chunks, with all present encoders running, after which another encoder
 * starts, and number of processors that it needs. More than two encoders are for programs with many
 * threads that do almost nothing but allocate. Such a program waits and leaves processors to the
 * encoders. */
static const struct {
    uint32_t waits, processors;
} helper_from[MP_WRITERS] = { [1] = { 1, 2 }, { 100, 8 }, { 200, 8 } };

/* Returns the number of the next encoder to start, or 0 if none is needed now. */
static unsigned helper_due(void)
{
    unsigned i = 1;
    while (i < MP_WRITERS && state_of(i) == MP_ENCODER_RUNS) i++;
    if (i == MP_WRITERS || state_of(i) != MP_ENCODER_NONE) return 0;
    if (__atomic_load_n(&mp_process->pool.waits, __ATOMIC_RELAXED) < helper_from[i].waits) return 0;
    if (mp_sys_processors() >= helper_from[i].processors && !mp_sys_limited()) return i;
    __atomic_store_n(&mp_process->encoder[i].state, MP_ENCODER_FAILED, __ATOMIC_SEQ_CST);
    return 0;
}

static void start_helper(void)
{
    const unsigned due = helper_due();
    if (due) start(due, run_helper);
}

/* ---- the first encoder */

/* (If the last thread of the program had ended as the C library's threads do, it would have called
 * exit.) The kernel uses the exit status of the last thread that ends. If that was the main thread,
 * memprof's threads end with its status. The status of another thread cannot be known and is
 * usually 0. */
bool mp_encoder_is_alone(void)
{
    static bool main_was_first;
    char main_state;
    const long threads = mp_sys_threads(&main_state), zombie = 1, worker = 1;
    if (main_state != 'Z') return false;
    if (threads > zombie + worker + (long)mp_encoders()) {
        main_was_first = true;
        return false;
    }
    if (!main_was_first) mp_raw_thread_status = mp_sys_main_status();
    return true;
}

/* Begins a period. @followed: for mp_ids_follow */
static void tick(uint64_t now, uint32_t *followed)
{
    mp_clock_next_turns();
    mp_journal_beat(now);
    if (mp_ids_changed()) {
        mp_encoder_wake();
        mp_worker_wake();
    }
    mp_ids_follow(followed);
    start_helper();
}

/* If a filter that the program set for all threads forbids sleeping, the encoder ends, and threads
 * let the worker write their frames. */
static void encode(void)
{
    uint64_t next = 0;
    uint32_t followed = 0;
    bool more = false;
    begin(0);
    while (state_of(0) == MP_ENCODER_RUNS) {
        const uint32_t woken = __atomic_load_n(&mp_process->wake, __ATOMIC_ACQUIRE);
        const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
        const bool due = !now || now >= next; /* 0: a filter of the program refuses the clock */
        if (due) {
            next = now + PERIOD_NS;
            tick(now, &followed);
            if (mp_encoder_is_alone()) break;
        }
        if (mp_pool_wanted()) start_helper();
        more = (due || more || mp_encoders() == 1 || a_frame_waits()) && mp_epoch_run(0);
        const uint64_t after = mp_sys_clock(CLOCK_MONOTONIC);
        if (!more && after < next &&
            !mp_sys_futex_wait(&mp_process->wake, woken, after ? next - after : PERIOD_NS))
            break;
    }
    end(0);
    mp_encoder_wake();
}

/* Returns true if a chunk has been filled, or many are in use. */
static bool is_worth_it(const struct mp_process *p)
{
    return __atomic_load_n(&p->pool.seq, __ATOMIC_RELAXED) >
               __atomic_load_n(&p->thread_number, __ATOMIC_RELAXED) ||
           __atomic_load_n(&p->pool.in_use, __ATOMIC_RELAXED) >= MP_POOL_RESERVE / 4;
}

bool mp_encoder_due(bool now)
{
    return mp_process->known && state_of(0) == MP_ENCODER_NONE && (now || is_worth_it(mp_process));
}

/* Runs on the worker. */
static bool start_first(void)
{
    struct mp_encoder *e = &mp_process->encoder[0];
    const bool started = mp_raw_thread_start(&e->thread, encode, MP_TABLE_SHARED);
    if (!started) __atomic_store_n(&e->state, MP_ENCODER_FAILED, __ATOMIC_SEQ_CST);
    return started;
}

void mp_encoder_not_started(void) { change_state(0, MP_ENCODER_STARTING, MP_ENCODER_NONE); }

/* The program's thread does not wait for the encoder, but maps its memory, because the program may
 * limit its own memory at any time. */
void mp_encoder_start(void)
{
    if (mp_sys_getpid() != mp_process->pid ||
        !change_state(0, MP_ENCODER_NONE, MP_ENCODER_STARTING))
        return;
    mp_epoch_prepare();
    mp_raw_thread_prepare(&mp_process->worker.thread);
    mp_raw_thread_prepare(&mp_process->encoder[0].thread);
    if (!mp_worker_post(start_first)) mp_encoder_not_started();
}

/* Returns true if the process has lived for AGE_US, or for half of that: a unit of time of the log
 * is at most 1 us and more than half of it. */
static bool has_lived(const struct mp_process *p)
{
    return (mp_clock_ticks() - p->start.ticks) >> p->tick_shift >= AGE_US;
}

bool mp_encoder_overdue(void) { return mp_encoder_due(has_lived(mp_process)); }

/* The log has not ended, and is not about to. */
static bool is_recording(const struct mp_process *p)
{
    return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == MP_ON &&
           !__atomic_load_n(&p->finishing, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&p->ended, __ATOMIC_ACQUIRE);
}

void mp_encoder_start_by_worker(void)
{
    if (!is_recording(mp_process) || !change_state(0, MP_ENCODER_NONE, MP_ENCODER_STARTING)) return;
    mp_epoch_prepare();
    start_first();
}

static bool do_nothing(void) { return true; }

void mp_encoder_start_later(void)
{
    if (mp_process->known && state_of(0) == MP_ENCODER_NONE) mp_worker_post(do_nothing);
}

/* The worker does one job at a time. */
void mp_encoder_start_now(void)
{
    mp_encoder_start();
    mp_worker_run(do_nothing, START_NS);
}

/* The first encoder ends first, because it starts the others. An encoder that does not end within
 * END_NS remains and is not replaced. */
bool mp_encoder_stop(void)
{
    const bool ran = is_started(0);
    for (unsigned i = 0; i < MP_WRITERS; i++) {
        struct mp_encoder *e = &mp_process->encoder[i];
        if (state_of(i) == MP_ENCODER_NONE || state_of(i) == MP_ENCODER_FAILED) continue;
        __atomic_store_n(&e->state, MP_ENCODER_GONE, __ATOMIC_SEQ_CST);
        mp_encoder_wake();
        if (mp_raw_thread_await_end(&e->thread, END_NS))
            __atomic_store_n(&e->state, MP_ENCODER_NONE, __ATOMIC_SEQ_CST);
    }
    return ran;
}

void mp_encoder_wake(void)
{
    __atomic_fetch_add(&mp_process->wake, 1, __ATOMIC_RELEASE);
    mp_sys_futex_wake(&mp_process->wake);
}

/* ---- a program's thread without a chunk */

static bool one_frame(void)
{
    mp_epoch_run(0);
    return true;
}

bool mp_encoder_relieve(uint32_t seen, struct mp_patience *patience)
{
    if (mp_encoder_runs()) {
        mp_pool_want(seen);
        mp_encoder_wake();
        if (state_of(0) == MP_ENCODER_STARTING) mp_worker_check();
    } else if (!mp_worker_run(one_frame, START_NS)) return false;
    return mp_pool_wait(seen, patience);
}
