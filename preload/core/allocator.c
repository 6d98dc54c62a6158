#include "core/allocator.h"

#include <errno.h>

#include "base/clock.h"
#include "core/process.h"
#include "core/record.h"
#include "core/sample.h"
#include "core/sampled.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "real/real.h"
#include "real/symbol.h"

#define PERIOD_US UINT64_C(90000)
/* Other threads may wait for the allocator's locks meanwhile, so a slower reading is the last. */
#define SLOW_US UINT64_C(10000)

/* ---- jemalloc */

static uint64_t value_of(const char *name)
{
    size_t value = 0, bytes = sizeof value;
    return mp_real_mallctl(name, &value, &bytes, NULL, 0) == 0 ? value : MPF_UNKNOWN;
}

static void read_jemalloc(uint64_t *values)
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

/* ---- other allocators */

/* glibc's mallinfo2, whose declaration older headers do not have */
struct arenas {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
static struct arenas (*read_arenas)(void);
/* tcmalloc's MallocExtension_GetNumericProperty */
static int (*property)(const char *name, size_t *value);
/* mimalloc's mi_process_info */
static void (*process_info)(size_t *elapsed_ms, size_t *user_ms, size_t *system_ms, size_t *rss,
                            size_t *peak_rss, size_t *commit, size_t *peak_commit, size_t *faults);

static bool find_glibc(void)
{
    read_arenas = (__typeof__(read_arenas))mp_symbol_next("mallinfo2");
    return read_arenas;
}

/* Blocks in the caches of threads count as in use. */
static void read_glibc(uint64_t *values)
{
    const struct arenas a = read_arenas();
    values[MPF_ALLOCATOR_IN_USE] = a.uordblks + a.hblkhd;
    values[MPF_ALLOCATOR_HELD] = a.arena + a.hblkhd;
}

static void read_tcmalloc(uint64_t *values)
{
    size_t value;
    if (property("generic.current_allocated_bytes", &value)) values[MPF_ALLOCATOR_IN_USE] = value;
    if (property("generic.heap_size", &value)) values[MPF_ALLOCATOR_HELD] = value;
}

static void read_mimalloc(uint64_t *values)
{
    size_t commit = 0, rest[7];
    process_info(&rest[0], &rest[1], &rest[2], &rest[3], &rest[4], &commit, &rest[5], &rest[6]);
    values[MPF_ALLOCATOR_HELD] = commit;
}

/* ---- at an attach */

uint64_t mp_allocator_in_use(void)
{
    uint64_t jemallocs[MPF_JEMALLOC_COUNT], glibcs[MPF_ALLOCATOR_COUNT];
    if (mp_real_frees_libc && find_glibc()) {
        read_glibc(glibcs);
        return glibcs[MPF_ALLOCATOR_IN_USE];
    }
    if (mp_real_frees_libc || !mp_real_mallctl) return MPF_UNKNOWN;
    read_jemalloc(jemallocs);
    return jemallocs[MPF_JEMALLOC_ALLOCATED];
}

/* ---- samples */

enum { VALUES = MPF_JEMALLOC_COUNT };
_Static_assert((int)MPF_ALLOCATOR_COUNT <= (int)VALUES, "room for the values of each allocator");

struct source {
    void (*read)(uint64_t *values);
    unsigned op, values;
};
static const struct source jemalloc = { read_jemalloc, MPF_OP_SAMPLE_JEMALLOC, MPF_JEMALLOC_COUNT },
                           glibc = { read_glibc, MPF_OP_SAMPLE_ALLOCATOR, MPF_ALLOCATOR_COUNT },
                           tcmalloc = { read_tcmalloc, MPF_OP_SAMPLE_ALLOCATOR,
                                        MPF_ALLOCATOR_COUNT },
                           mimalloc = { read_mimalloc, MPF_OP_SAMPLE_ALLOCATOR,
                                        MPF_ALLOCATOR_COUNT };
static const struct source *source;
bool mp_allocator_answers;

/* Returns a function of the object that serves malloc. */
static void *its_function(const char *name)
{
    void *const f = mp_symbol_next(name);
    return f && mp_real_in_allocator(f) ? f : NULL;
}

static const struct source *find_source(void)
{
    if (mp_real_mallctl) return &jemalloc;
    if (!mp_sampled.mean) return NULL;
    if (mp_real_frees_libc) return find_glibc() ? &glibc : NULL;
    property = (__typeof__(property))its_function("MallocExtension_GetNumericProperty");
    if (property) return &tcmalloc;
    process_info = (__typeof__(process_info))its_function("mi_process_info");
    return process_info ? &mimalloc : NULL;
}

void mp_allocator_init(void)
{
    source = find_source();
    mp_allocator_answers = source;
}

static uint64_t next; /* ticks: when the next sample is due; kept in a forked child */

/* Returns true for one of the threads that find a sample due. */
static bool take_turn(uint64_t now, uint64_t period)
{
    uint64_t due = __atomic_load_n(&next, __ATOMIC_RELAXED);
    return now >= due && __atomic_compare_exchange_n(&next, &due, now + period, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void delay(uint64_t began, uint64_t period)
{
    const uint64_t after = mp_clock_ticks(), cost = MP_SAMPLE_COST_FACTOR * (after - began);
    if (cost > period) __atomic_store_n(&next, after + cost, __ATOMIC_RELAXED);
    if (source != &jemalloc && after - began > SLOW_US << mp_process->tick_shift)
        mp_allocator_answers = false;
}

/* A child of _Fork or a raw clone may have inherited a lock of another thread's arena, which its
 * own calls need not take. */
static bool may_lock(void) { return source == &jemalloc || mp_process->known; }

void mp_allocator_read(void)
{
    const uint64_t now = mp_clock_ticks(), period = PERIOD_US << mp_process->tick_shift;
    if (!mp_record_here() || !may_lock() || !take_turn(now, period)) return;
    uint64_t values[VALUES];
    for (int i = 0; i < VALUES; i++) values[i] = MPF_UNKNOWN;
    const int saved = errno;
    const struct mp_guarded guard = mp_guard_enter();
    source->read(values);
    delay(now, period);
    mp_guard_leave(guard);
    errno = saved;
    mp_record_data(source->op, MPF_HEAP_NONE, 0, values, source->values * sizeof *values);
}
