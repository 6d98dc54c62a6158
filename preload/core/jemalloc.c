#include "core/jemalloc.h"

#include <errno.h>

#include "base/clock.h"
#include "core/record.h"
#include "core/sample.h"
#include "core/state.h"
#include "mpf/event.h"
#include "mpf/sample.h"

#define PERIOD_US UINT64_C(90000)

static uint64_t value_of(const char *name)
{
    size_t value = 0, bytes = sizeof value;
    return mp_real_mallctl(name, &value, &bytes, NULL, 0) == 0 ? value : MPF_UNKNOWN;
}

static void read_values(uint64_t *values)
{
    static const char *const name[MPF_JEMALLOC_COUNT] = {
        [MPF_JEMALLOC_ALLOCATED] = "stats.allocated", [MPF_JEMALLOC_ACTIVE] = "stats.active",
        [MPF_JEMALLOC_METADATA] = "stats.metadata",   [MPF_JEMALLOC_RESIDENT] = "stats.resident",
        [MPF_JEMALLOC_MAPPED] = "stats.mapped",       [MPF_JEMALLOC_RETAINED] = "stats.retained",
    };
    uint64_t epoch = 1;
    size_t bytes = sizeof epoch;
    mp_real_mallctl("epoch", &epoch, &bytes, &epoch, bytes); /* updates the statistics */
    for (int i = 0; i < MPF_JEMALLOC_COUNT; i++) values[i] = value_of(name[i]);
}

static uint64_t next; /* ticks: when the next sample is due; kept in a forked child */

/* Returns true for one of the threads that find a sample due. */
static bool take_turn(uint64_t now, uint64_t period)
{
    uint64_t due = __atomic_load_n(&next, __ATOMIC_RELAXED);
    return now >= due && __atomic_compare_exchange_n(&next, &due, now + period, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t mp_jemalloc_allocated(void)
{
    uint64_t values[MPF_JEMALLOC_COUNT];
    read_values(values);
    return values[MPF_JEMALLOC_ALLOCATED];
}

void mp_jemalloc_read(void)
{
    const uint64_t now = mp_clock_ticks(), period = PERIOD_US << mp_process->tick_shift;
    if (!mp_record_here() || !take_turn(now, period)) return;
    uint64_t values[MPF_JEMALLOC_COUNT];
    const int saved = errno;
    const struct mp_guarded guard = mp_guard_enter();
    read_values(values);
    const uint64_t after = mp_clock_ticks(), cost = MP_SAMPLE_COST_FACTOR * (after - now);
    if (cost > period) __atomic_store_n(&next, now + cost, __ATOMIC_RELAXED);
    mp_guard_leave(guard);
    errno = saved;
    mp_record_data(MPF_OP_SAMPLE_JEMALLOC, MPF_HEAP_NONE, 0, values, sizeof values);
}
