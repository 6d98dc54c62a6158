#include "core/window.h"

#include <signal.h>

#include "core/config.h"
#include "core/counted.h"
#include "core/epoch.h"
#include "core/names.h"
#include "core/record.h"
#include "core/say.h"
#include "core/state.h"

struct mp_window mp_window = { .open = true, .range = MP_WINDOW_NO_RANGE };

static uint64_t instances; /* of the range, so far */

static bool by(enum mpf_window_by what)
{
    return mp_config.window_text[0] && mp_config.window.by == what;
}

/* ---- opening and closing */

/* False: it was so already.  Of two threads at once the one that looks last leaves both as they
 * belong together. */
static bool turn(bool open)
{
    if (__atomic_exchange_n(&mp_window.open, open, __ATOMIC_ACQ_REL) == open) return false;
    bool now;
    do mp_counted_window(now = mp_window_is_open());
    while (mp_window_is_open() != now);
    return true;
}

static void set(bool open)
{
    if (turn(open)) mp_record(MPF_OP_WINDOW, MPF_HEAP_NONE, open, 0);
}

void mp_window_profiler(bool starts)
{
    if (by(MPF_WINDOW_PROFILER)) set(starts);
}

/* ---- by ranges */

void mp_window_begins(uint64_t range)
{
    const struct mpf_window *w = &mp_config.window;
    const uint64_t n = __atomic_add_fetch(&instances, 1, __ATOMIC_RELAXED);
    uint64_t none = 0;
    const bool last = !w->first || n == w->last;
    if (last && !__atomic_compare_exchange_n(&mp_window.until, &none, range, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return; /* it is open, and another one closes it */
    if (!w->first || n == w->first) set(true);
}

void mp_window_ends(uint64_t range)
{
    if (__atomic_compare_exchange_n(&mp_window.until, &range, 0, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        set(false);
}

static void watch_range(void)
{
    const uint32_t name = mp_name_id(mp_config.window.name, mp_config.window.name_bytes);
    if (name >= MP_NAME_FIRST) mp_window.range = name;
}

/* ---- by the clock */

bool mp_window_has_clock(void) { return by(MPF_WINDOW_TIME); }

static bool is_time(uint64_t since_start)
{
    const struct mpf_window *w = &mp_config.window;
    return since_start >= w->delay_ns &&
           (!w->duration_ns || since_start - w->delay_ns < w->duration_ns);
}

/* The encoder's thread has no events of its own. */
void mp_window_tick(void)
{
    const uint64_t now = mp_window_has_clock() ? mp_sys_clock(CLOCK_MONOTONIC) : 0;
    if (now < mp_process->start.mono) return; /* a filter of the program's may refuse the clock */
    const bool open = is_time(now - mp_process->start.mono);
    if (turn(open)) mp_epoch_note(MPF_OP_WINDOW, open, NULL, 0);
}

/* ---- by a signal */

static void on_signal(int number)
{
    (void)number;
    set(!mp_window_is_open());
}

/* A program that sets a handler of its own later has the signal from then on. */
static void watch_signal(bool root)
{
    const struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
    const int number = mp_config.window.signal;
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
        sigaction(number, &ours, NULL);
    else if (root)
        mp_say("the signal of MEMPROF_WINDOW=", mp_config.window_text,
               " is taken or ignored already: no window opens", NULL);
}

/* ---- the process */

void mp_window_init(void)
{
    if (!mp_config.window_text[0]) return;
    mp_window.open = mp_window_has_clock() && is_time(0);
    mp_counted_window(mp_window.open);
}

void mp_window_start(bool root)
{
    if (by(MPF_WINDOW_RANGE)) watch_range();
    if (by(MPF_WINDOW_SIGNAL)) watch_signal(root);
}

void mp_window_reset(void)
{
    mp_window.until = instances = 0;
    if (mp_config.window_text[0] && !by(MPF_WINDOW_SIGNAL))
        mp_window.open = mp_window_has_clock() && is_time(0);
    mp_counted_window(mp_window.open);
}
