/* Figures of a measurement are complete once all events up to now were taken for frames. That is
 * done on the worker, which can write the log. */
#include "hooks/measurement.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "core/counted.h"
#include "core/epoch.h"
#include "core/logfile.h"
#include "core/measure.h"
#include "core/process.h"
#include "core/record.h"
#include "core/worker.h"

#define EXPORT    __attribute__((visibility("default")))
#define READ_NS   UINT64_C(1000000000)
#define MARGIN_NS 20000u
#define LOOK_NS   1000000u /* an event is in flight in another thread */

static bool is_recorded(void) { return mp_process && mp_process_is_owner() && mp_process_ready(); }

/* ---- events up to now */

static uint64_t wanted_upto; /* ticks */

/* Takes events until none is older than wanted_upto. Runs on the worker. */
static bool take_events(void)
{
    const uint64_t upto = __atomic_load_n(&wanted_upto, __ATOMIC_ACQUIRE);
    struct mp_patience patience = mp_patience(READ_NS);
    uint32_t never = 0;
    while (mp_clock_ticks() <= upto + mp_epoch_margin())
        if (!mp_wait(&patience, &never, 0, MARGIN_NS)) return false;
    for (;;) {
        while (mp_epoch_run(0)) {}
        if (mp_measure_upto() >= upto) return true;
        if (!mp_wait(&patience, &never, 0, LOOK_NS)) return false;
    }
}

/* If several threads read at once, each waits for its own job. */
static bool take_events_until(uint64_t upto)
{
    uint64_t before = __atomic_load_n(&wanted_upto, __ATOMIC_RELAXED);
    while (before < upto && !__atomic_compare_exchange_n(&wanted_upto, &before, upto, false,
                                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return mp_worker_run(take_events, 2 * READ_NS) && mp_measure_upto() >= upto;
}

/* ---- functions for the program */

static int begin(void)
{
    uint64_t from;
    if (!is_recorded() || !mp_record_instant(&from)) return MEMPROF_NOT_RECORDED;
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const unsigned number = mp_measure_begin(from);
    mp_unlock(&mp_process->epoch_lock, signals);
    return number ? (int)number : MEMPROF_TOO_MANY;
}

EXPORT int memprof_measure_begin(void)
{
    const int saved = errno;
    const int result = begin();
    errno = saved;
    return result;
}

static bool exists(int number) { return number > 0 && mp_measure_rows((unsigned)number); }

static int stop(int number)
{
    uint64_t until;
    if (!is_recorded() || !mp_record_instant(&until)) return MEMPROF_NOT_RECORDED;
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const int result = exists(number) ? 0 : MEMPROF_NO_MEASUREMENT;
    if (!result) mp_measure_stop((unsigned)number, until);
    mp_unlock(&mp_process->epoch_lock, signals);
    return result;
}

EXPORT int memprof_measure_stop(int number)
{
    const int saved = errno;
    const int result = stop(number);
    errno = saved;
    return result;
}

/* Counts back from now, because the rates of the two clocks differ a little over time. */
static uint64_t ns_of(uint64_t ticks, const struct mpf_clock *now)
{
    const struct mpf_clock *const start = &mp_process->start;
    const uint64_t ns = now->mono - start->mono;
    if (ticks >= now->ticks || now->ticks <= start->ticks) return ns;
    const double rate = (double)ns / (double)(now->ticks - start->ticks),
                 before = (double)(now->ticks - ticks) * rate;
    return before < (double)ns ? ns - (uint64_t)before : 0;
}

/* Returns NULL for a row that the program does not get. If only some blocks of malloc are recorded,
 * sums with them are not known. */
static const char *name_of(unsigned row)
{
    if ((row == MP_MEASURED_HOST || row == MPF_HEAP_HOST) && !mp_counted.each) return NULL;
    if (row == MP_MEASURED_HOST) return "host";
    return row == MP_MEASURED_ARENAS ? "host/arenas" : mpf_heap_name(row);
}

/* Makes "gpu0/used" "gpu0/segments". */
static void name_segments(char *name)
{
    char *const slash = strchr(name, '/');
    if (slash) strcpy(slash, "/segments");
}

static void fill(struct memprof_measured *to, const char *name, const struct mp_measured *row)
{
    memset(to, 0, sizeof *to);
    strncpy(to->heap, name, sizeof to->heap - 1);
    to->peak_bytes = row->peak;
    to->live_bytes = row->live;
    to->allocations = row->allocations;
}

static int copy(unsigned number, struct memprof_measured *rows, int room)
{
    int filled = 0;
    struct mpf_clock now;
    const struct mp_measured *const row = mp_measure_rows(number);
    const struct mp_measured_span span = mp_measure_span(number);
    mp_clock_read(&now);
    for (unsigned i = 0; i < MP_MEASURED_ROWS && filled < room; i++) {
        const char *const name =
            i == MP_MEASURED_HOST || row[i].allocations || row[i].peak ? name_of(i) : NULL;
        if (!name) continue;
        fill(&rows[filled], name, &row[i]);
        if (mpf_heap_code(i) == MPF_HEAP_USED) name_segments(rows[filled].heap);
        rows[filled].begin_ns = ns_of(span.from, &now);
        rows[filled].stop_ns = ns_of(span.until, &now);
        rows[filled].peak_ns = ns_of(row[i].peak_time, &now);
        filled++;
    }
    return filled;
}

static int read_rows(int number, struct memprof_measured *rows, int room, uint64_t *lost)
{
    uint64_t now;
    if (!is_recorded() || !mp_record_instant(&now)) return MEMPROF_NOT_RECORDED;
    const struct mp_guarded guard = mp_guard_enter();
    const bool taken = take_events_until(now);
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    int result = MEMPROF_NO_MEASUREMENT;
    if (!exists(number)) result = MEMPROF_NO_MEASUREMENT;
    else if (!taken) result = MEMPROF_LATE;
    else if (mp_measure_span((unsigned)number).incomplete) result = MEMPROF_NO_MEMORY;
    else result = copy((unsigned)number, rows, room);
    *lost = mp_measure_span((unsigned)number).lost;
    mp_unlock(&mp_process->epoch_lock, signals);
    mp_guard_leave(guard);
    return result;
}

EXPORT int memprof_measure_read(int number, struct memprof_measured *rows, int room, uint64_t *lost)
{
    const int saved = errno;
    const int result = read_rows(number, rows, room, lost);
    errno = saved;
    return result;
}

static int is_below(int number, uint64_t host, uint64_t gpu)
{
    if (!is_recorded()) return MEMPROF_NOT_RECORDED;
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const int result =
        exists(number) ? mp_measure_is_below((unsigned)number, host, gpu) : MEMPROF_NO_MEASUREMENT;
    mp_unlock(&mp_process->epoch_lock, signals);
    return result;
}

EXPORT int memprof_measure_is_below(int number, uint64_t host, uint64_t gpu)
{
    const int saved = errno;
    const int result = is_below(number, host, gpu);
    errno = saved;
    return result;
}

static int end(int number)
{
    if (!is_recorded()) return MEMPROF_NOT_RECORDED;
    const uint64_t signals = mp_lock(&mp_process->epoch_lock);
    const int result = exists(number) ? 0 : MEMPROF_NO_MEASUREMENT;
    if (!result) mp_measure_end((unsigned)number);
    mp_unlock(&mp_process->epoch_lock, signals);
    return result;
}

EXPORT int memprof_measure_end(int number)
{
    const int saved = errno;
    const int result = end(number);
    errno = saved;
    return result;
}

EXPORT int memprof_log_path(char *path, size_t room)
{
    const int saved = errno;
    const bool recorded = is_recorded();
    const size_t length = recorded ? strlen(mp_logfile_path()) : 0;
    if (recorded && length < room) memcpy(path, mp_logfile_path(), length + 1);
    errno = saved;
    return recorded ? (int)length : MEMPROF_NOT_RECORDED;
}
