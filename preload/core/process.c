#include "core/process.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/own_stack.h"
#include "base/text.h"
#include "core/config.h"
#include "core/encoder.h"
#include "core/epoch.h"
#include "core/feature.h"
#include "core/identity.h"
#include "core/ids.h"
#include "core/journal.h"
#include "core/logfile.h"
#include "core/loss.h"
#include "core/own_thread.h"
#include "core/records.h"
#include "core/say.h"
#include "core/worker.h"
#include "mpf/shell.h"

/* Time limit for the worker's work at the end of a process, because disks may be slow. */
#define FILES_NS UINT64_C(10000000000)

struct mp_process *mp_process;

/* State of the program, which forked children keep. */
static bool active;    /* this copy of the library has been active from the start */
static bool recording; /* this program is recorded */
/* the process that the user started, in which the constructor ran; 0 in a child */
static int root_pid;
static int only_pid; /* the only process that is recorded: its children are not; or 0 */

/* Other threads may be in a hook when memprof is attached, so they find the state that the process
 * is in. */
static bool map_state(enum mp_state state)
{
    /* if wiping was refused, mp_process_forked clears it, but only after fork(3) */
    struct mp_process *p = mp_sys_map_wiped(sizeof *p);
    if (!p || !mp_records_map(0)) return false;
    p->state = state;
    p->starter = mp_sys_gettid();
    p->known = 1;
    __atomic_store_n(&mp_process, p, __ATOMIC_RELEASE);
    return true;
}

static bool open_files(void)
{
    uint8_t id[16];
    if (!mp_logfile_create(id)) return false;
    if (!mp_journal_open(mp_logfile_path(), id, &mp_process->start) || !mp_logfile_header(id)) {
        mp_say("cannot write ", mp_logfile_path(), "; nothing is recorded", NULL);
        mp_logfile_remove();
        mp_journal_remove();
        return false;
    }
    mp_journal_tie(mp_logfile_file());
    if (!mp_journal_path()[0])
        mp_say("no journal could be created: a SIGKILL loses the events of the last 100 ms", NULL,
               NULL, NULL);
    return true;
}

/* Called in the constructor, or on the worker of a forked child. */
static bool start(void)
{
    struct mp_process *p = mp_process;
    p->root = root_pid && root_pid == p->pid;
    mp_identity_read(&p->identity);
    mp_clock_read(&p->start);
    p->tick_shift = mp_clock_shift();
    p->watermark = p->start.ticks;
    mp_clock_start();
    return open_files();
}

/* If its ID is unknown, a process cannot detect that it is a forked child. */
static bool take_number(void)
{
    mp_process->starter = mp_sys_gettid();
    mp_process->pid = mp_sys_getpid();
    if (mp_process->pid > 0) return true;
    mp_say("a seccomp filter refuses getpid; nothing is recorded", NULL, NULL, NULL);
    return false;
}

bool mp_process_init(void)
{
    if (!map_state(MP_STARTING)) return false;
    mp_own_thread_init();
    mp_worker_init();
    recording = true;
    const uint64_t signals = mp_sys_block_signals();
    active = take_number() && start();
    __atomic_store_n(&mp_process->state, active ? MP_ON : MP_OFF, __ATOMIC_RELEASE);
    mp_sys_restore_signals(signals);
    return active;
}

bool mp_process_active(void) { return active; }

/* If there is no worker, no file can be opened, and start() did not run. */
static bool start_by_worker(void)
{
    mp_process->start.mono = 0;
    if (mp_worker_run(start, FILES_NS)) return true;
    if (mp_process->start.mono) return false;
    char number[16];
    struct mp_text t = MP_TEXT(number);
    mp_text_u64(&t, (uint64_t)mp_process->pid);
    mp_say("cannot create the log of process ", number,
           ": the thread that opens it cannot be started; nothing is recorded", NULL);
    return false;
}

static void reset_features(void)
{
    for (void (*const *forked)(void) = mp_features.forked; forked && *forked; forked++) (*forked)();
}

static bool is_followed(void) { return !only_pid || only_pid == mp_sys_getpid(); }

/* One of the child's threads calls this. A handler that interrupted it would wait for its own
 * thread. */
static void start_child(struct mp_process *p)
{
    const int saved = errno;
    const uint64_t signals = mp_sys_block_signals();
    uint32_t state = MP_NEW;
    if (__atomic_compare_exchange_n(&p->state, &state, MP_STARTING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        mp_logfile_inherit();
        mp_own_stack_reset();
        mp_ids_reset();
        mp_say_reset();
        reset_features();
        const bool on = is_followed() && take_number() && start_by_worker();
        __atomic_store_n(&p->state, on ? MP_ON : MP_OFF, __ATOMIC_RELEASE);
    }
    mp_sys_restore_signals(signals);
    errno = saved;
}

/* Another thread starts the recording. This waits for it once, with a time limit. */
static uint32_t await_start(struct mp_process *p)
{
    struct mp_patience patience = mp_patience(p->start_overdue ? 0 : 1000000000u);
    uint32_t state;
    while ((state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE)) == MP_STARTING &&
           p->starter != mp_sys_gettid()) {
        if (mp_wait(&patience, &p->state, MP_STARTING, 1000000u)) continue;
        p->start_overdue = true;
        mp_loss(MPF_LOSS_STALLED, 1);
        break;
    }
    return state;
}

/* A thread that finds the state ON has counted itself before the recording ended. */
struct mp_process *mp_process_enter(void)
{
    struct mp_process *const p = __atomic_load_n(&mp_process, __ATOMIC_ACQUIRE);
    __atomic_add_fetch(&p->inside, 1, __ATOMIC_SEQ_CST);
    const uint32_t state = __atomic_load_n(&p->state, __ATOMIC_SEQ_CST);
    if (state != MP_CLOSED && state != MP_OFF) return p;
    mp_process_exit(p);
    return NULL;
}

void mp_process_exit(struct mp_process *p) { __atomic_sub_fetch(&p->inside, 1, __ATOMIC_SEQ_CST); }

/* Returns true once nothing uses the state of the last recording any more. */
static bool last_one_is_over(void)
{
    struct mp_process *const p = mp_process;
    struct mp_patience patience = mp_patience(FILES_NS);
    for (uint32_t inside; p && (inside = __atomic_load_n(&p->inside, __ATOMIC_SEQ_CST));)
        if (!mp_wait(&patience, &p->inside, inside, 1000000u)) return false;
    return !p || mp_worker_has_ended();
}

bool mp_process_attach(bool children, uint64_t bytes)
{
    if (mp_process_is_owner()) return false;
    if (!last_one_is_over()) {
        mp_say("threads of the last recording have not ended yet; try again", NULL, NULL, NULL);
        return false;
    }
    mp_records_renew();
    mp_logfile_renew();
    if (!map_state(MP_STARTING)) return false;
    mp_own_thread_init();
    mp_worker_init();
    reset_features();
    only_pid = children ? 0 : mp_sys_getpid();
    mp_process->attached = true;
    mp_process->attached_bytes = bytes;
    const uint64_t signals = mp_sys_block_signals();
    active = take_number() && start_by_worker();
    __atomic_store_n(&mp_process->state, active ? MP_ON : MP_OFF, __ATOMIC_RELEASE);
    __atomic_store_n(&recording, active, __ATOMIC_RELEASE); /* last: no thread waits for the start
                                                             */
    mp_sys_restore_signals(signals);
    return active;
}

bool mp_process_ready(void)
{
    struct mp_process *p = mp_process;
    if (!__atomic_load_n(&recording, __ATOMIC_ACQUIRE) || !p) return false;
    const uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == MP_ON, 1)) return true;
    if (state == MP_NEW) start_child(p);
    return await_start(p) == MP_ON;
}

void mp_process_forked(void)
{
    struct mp_process *p = mp_process;
    if (!p) return;
    if (p->pid && p->pid != mp_sys_getpid()) {
        memset(p, 0, sizeof *p);
        mp_records_wipe();
    }
    p->known = 1;
}

void mp_process_adopt(bool root) { root_pid = root ? mp_sys_getpid() : 0; }

static uint64_t hwm; /* bytes: RSS high-water mark at the last reading */

/* events, high-water RSS if it is known, lost events, file and size, and the next command to type
 */
static void say_summary(void *arg)
{
    static char line[MPF_SHELL_BYTES(PATH_MAX) + 256];
    struct mp_text t = MP_TEXT(line);
    (void)arg;
    const bool removed = !mp_process->ended && mp_logfile_gone();
    if (!removed && !mp_config.summary) return;
    mp_text_str(&t, "memprof: ");
    mp_text_u64(&t, removed ? 0 : mp_process->events);
    mp_text_str(&t, " events, ");
    if (hwm) mp_text_str(&t, "peak RSS ");
    if (hwm) mp_text_size(&t, hwm);
    if (hwm) mp_text_str(&t, ", ");
    mp_text_u64(&t, mp_process->lost_total + (removed ? mp_process->events : 0));
    mp_text_str(&t, " lost, ");
    mp_text_size(&t, removed ? 0 : mp_logfile_bytes());
    mp_text_str(
        &t,
        removed             ? "; the log was removed or moved while the program ran: "
        : mp_process->ended ? "; next: memprof-report "
        : mp_journal_path()[0]
            ? "; the end of the log could not be written; next: memprof-report log recover "
            : "; the end of the log could not be written, and there is no journal, so the newest events are "
              "lost: ");
    mp_text_str(&t, removed ? mp_logfile_path() : mp_logfile_word());
    mp_text_str(&t, "\n");
    mp_say_line(&t);
}

bool mp_process_is_owner(void)
{
    return mp_process && mp_process->state == MP_ON && mp_process->pid == mp_sys_getpid();
}

/* Small child processes leave no log, because a shell script has thousands of them. Neither does
 * any process that executes another program, because users are interested in the last program. */
static bool is_large(uint64_t peak) { return peak >= mp_config.min_rss; }

static void discard(void)
{
    __atomic_store_n(&mp_process->state, MP_CLOSED, __ATOMIC_RELEASE);
    mp_logfile_remove();
    mp_journal_remove();
}

static const char *reason; /* why the process ends */

static bool end(void)
{
    hwm = mp_sys_hwm();
    if (mp_process->root || is_large(hwm)) return mp_epoch_end(reason);
    discard();
    return true;
}

void mp_process_finish(const char *why)
{
    if (!mp_process_is_owner() || __atomic_exchange_n(&mp_process->finishing, 1, __ATOMIC_ACQ_REL))
        return;
    reason = why;
    mp_worker_run_last(end, FILES_NS);
    if (mp_process->state == MP_CLOSED) return; /* its log was discarded */
    __atomic_store_n(&mp_process->state, MP_CLOSED, __ATOMIC_RELEASE);
    if (mp_process->ended) mp_journal_remove();
    const uint64_t signals = mp_sys_block_signals();
    mp_own_stack_call(say_summary, NULL);
    mp_sys_restore_signals(signals);
}

void mp_process_leave(void)
{
    __atomic_store_n(&recording, false, __ATOMIC_RELEASE);
    mp_worker_stop();
    mp_records_retire();
    mp_journal_release();
}

static bool suspend(void)
{
    if (!is_large(mp_sys_hwm())) {
        const struct mp_held held = mp_epoch_hold();
        if (!held.complete) return false;
        mp_process->ended = 1;
        mp_logfile_put_away();
        mp_epoch_release(held);
        mp_process->away = MP_AWAY_ALL;
    } else if (mp_epoch_end("exec") && mp_process->ended) {
        mp_process->away = MP_AWAY_JOURNAL;
    }
    if (mp_process->away) mp_journal_remove();
    return mp_process->away;
}

void mp_process_suspend(void)
{
    if (mp_process_is_owner()) mp_worker_run_last(suspend, FILES_NS);
}

/* Events that other threads store while the journal is copied would be lost. */
static bool is_only_thread(void)
{
    char main_state;
    const long worker = __atomic_load_n(&mp_process->worker.thread.running, __ATOMIC_ACQUIRE);
    return mp_sys_threads(&main_state) == 1 + worker + (long)mp_encoders();
}

static void reopen_journal(void)
{
    if (!mp_journal_path()[0] || (is_only_thread() && mp_journal_restore())) return;
    mp_say("no journal after a failed exec: a SIGKILL loses the events of the last 100 ms", NULL,
           NULL, NULL);
}

/* No frame is being written. The journal is created first, because a log without END and journal is
 * incomplete. */
static void reopen_files(void)
{
    reopen_journal();
    if (mp_process->away == MP_AWAY_JOURNAL) mp_logfile_go_on();
    else if (mp_logfile_bring_back()) mp_journal_tie(mp_logfile_file());
    else {
        mp_say("cannot write ", mp_logfile_path(), " after a failed exec; nothing more is recorded",
               NULL);
        __atomic_store_n(&mp_process->state, MP_CLOSED, __ATOMIC_RELEASE);
        mp_journal_remove();
    }
}

static bool resume(void)
{
    const struct mp_held held = mp_epoch_hold();
    if (!held.complete) return false;
    reopen_files();
    mp_process->away = MP_AWAY_NONE;
    mp_process->ended = 0;
    mp_epoch_release(held);
    return true;
}

void mp_process_resume(void)
{
    if (mp_process_is_owner() && mp_process->away) mp_worker_run_last(resume, FILES_NS);
}
