#include "core/window.h"

#include <signal.h>
#include <string.h>

#include "core/config.h"
#include "core/counted.h"
#include "core/epoch.h"
#include "core/names.h"
#include "core/record.h"
#include "core/say.h"
#include "core/state.h"

struct mp_window mp_window = { .open = 1, .range = MP_WINDOW_NO_RANGE };

static uint64_t instances; /* of the range, so far */

static bool is_by(enum mpf_window_by what)
{
    return mp_config.window_text[0] && mp_config.window.by == what;
}

/* ---- opening and closing */

/* If two threads call this at once, the last one leaves guard and window consistent. */
static void update_guard(void)
{
    bool now;
    do mp_counted_window(now = mp_window_is_open());
    while (mp_window_is_open() != now);
}

/* The same holds for the thread that records it last. */
static void record_change(void)
{
    bool now;
    do mp_record(MPF_OP_WINDOW, MPF_HEAP_NONE, now = mp_window_is_open(), 0);
    while (mp_window_is_open() != now);
}

/* Adds a reason (1) or removes one (-1). Returns true if that opens or closes the window. */
static bool change(int32_t by)
{
    const int32_t now = __atomic_add_fetch(&mp_window.open, by, __ATOMIC_SEQ_CST);
    const bool turns = (now > 0) != (now - by > 0);
    if (turns) update_guard();
    return turns;
}

/* Opens or closes a window that has only one reason. */
static bool set(bool open)
{
    const bool turns = __atomic_exchange_n(&mp_window.open, open, __ATOMIC_SEQ_CST) != open;
    if (turns) update_guard();
    return turns;
}

void mp_window_profiler(bool starts)
{
    if (is_by(MPF_WINDOW_PROFILER) && set(starts)) record_change();
}

/* ---- by ranges */

/* Adds a range whose end is awaited. Returns false if all places are taken. */
static bool waits_for(uint64_t range)
{
    for (int i = 0; i < MP_WINDOW_AT_ONCE; i++) {
        uint64_t none = 0;
        if (!__atomic_compare_exchange_n(&mp_window.until[i], &none, range, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_add_fetch(&mp_window.waits, 1, __ATOMIC_SEQ_CST);
        return true;
    }
    return false;
}

/* Removes the range from its place. Only the thread that does so handles the end of the range. */
static bool take_end(int place, uint64_t range)
{
    if (!__atomic_compare_exchange_n(&mp_window.until[place], &range, 0, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        return false;
    __atomic_sub_fetch(&mp_window.waits, 1, __ATOMIC_SEQ_CST);
    return true;
}

static uint64_t at(int place) { return __atomic_load_n(&mp_window.until[place], __ATOMIC_RELAXED); }

void mp_window_begins(uint64_t range)
{
    const struct mpf_window *w = &mp_config.window;
    const uint64_t n = __atomic_add_fetch(&instances, 1, __ATOMIC_RELAXED);
    if ((!w->first || n == w->last) && !waits_for(range)) return;
    if ((!w->first || n == w->first) && change(1)) record_change();
}

void mp_window_ends(uint64_t range)
{
    for (int i = 0; i < MP_WINDOW_AT_ONCE; i++)
        if (at(i) == range && take_end(i, range)) {
            if (change(-1)) record_change();
            return;
        }
}

void mp_window_ends_of(uint32_t thread)
{
    for (int i = 0; mp_window_waits() && i < MP_WINDOW_AT_ONCE; i++) {
        const uint64_t range = at(i);
        if (mp_window_is_of(range, thread) && take_end(i, range) && change(-1))
            mp_window.again = true;
    }
}

static void watch_range(void)
{
    const uint32_t name = mp_name_id(mp_config.window.name, mp_config.window.name_bytes);
    if (name >= MP_NAME_FIRST) mp_window.range = name;
}

/* ---- by the clock */

bool mp_window_has_clock(void) { return is_by(MPF_WINDOW_TIME); }

static bool is_time(uint64_t since_start)
{
    const struct mpf_window *w = &mp_config.window;
    return since_start >= w->delay_ns &&
           (!w->duration_ns || since_start - w->delay_ns < w->duration_ns);
}

/* Returns false if a filter of the program refuses the clock. */
static bool turns_by_clock(void)
{
    const uint64_t now = mp_window_has_clock() ? mp_sys_clock(CLOCK_MONOTONIC) : 0;
    return now >= mp_process->start.mono && set(is_time(now - mp_process->start.mono));
}

/* The encoder's thread records no events itself. Its notes follow this epoch's events, and those of
 * the next epoch show later changes. */
void mp_window_tick(void)
{
    if (!turns_by_clock() && !mp_window.again) return;
    mp_window.again = false;
    mp_epoch_note(MPF_OP_WINDOW, mp_window_is_open(), NULL, 0);
}

/* ---- by a signal */

static void on_signal(int number)
{
    (void)number;
    if (set(!mp_window_is_open())) record_change();
}

/* If the program later installs a handler, it gets the signal from then on. */
static void watch_signal(bool root)
{
    const struct sigaction action = { .sa_handler = on_signal,
                                      .sa_flags = SA_RESTART | SA_ONSTACK };
    const int number = mp_config.window.signal;
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
    else if (root)
        mp_say("the signal of MEMPROF_WINDOW=", mp_config.window_text,
               " already has a handler or is ignored, so no window opens", NULL);
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
    if (is_by(MPF_WINDOW_RANGE)) watch_range();
    if (is_by(MPF_WINDOW_SIGNAL)) watch_signal(root);
}

void mp_window_reset(void)
{
    instances = mp_window.waits = mp_window.again = 0;
    memset(mp_window.until, 0, sizeof mp_window.until);
    if (mp_config.window_text[0] && !is_by(MPF_WINDOW_SIGNAL))
        mp_window.open = mp_window_has_clock() && is_time(0);
    mp_counted_window(mp_window.open);
}
