/* mlockall without memprof's own memory.
 *
 * The kernel compares all mappings with RLIMIT_MEMLOCK, refuses to lock anything if they are
 * larger, and counts locked memory from then on. The call must have the same result as without
 * memprof:
 *  - If the call fails only because of memprof's mappings, the program's mappings are locked one by
 *    one.
 *  - If it succeeds, memprof's mappings are unlocked.
 *  - Mappings that memprof creates after MCL_FUTURE are not locked (mp_sys_lock_future). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/own_maps.h"
#include "base/sys.h"
#include "base/text.h"
#include "core/record.h"
#include "core/worker.h"
#include "real/real.h"

#define HOOK __attribute__((visibility("default")))

extern const char own_start __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_end __asm__("_end") __attribute__((visibility("hidden")));

/* Registers the library itself. */
static void know_library(void) { mp_own_maps_add(&own_start, (size_t)(&own_end - &own_start)); }

/* Calls f for each registered range. */
static void each_own(void (*f)(struct mp_range r, uint64_t *sum), uint64_t *sum)
{
    struct mp_range r = mp_own_maps_first(0, UINTPTR_MAX);
    for (; r.from != r.to; r = mp_own_maps_first(r.to, UINTPTR_MAX)) f(r, sum);
}

static void unlock(struct mp_range r, uint64_t *sum)
{
    (void)sum;
    mp_sys_munlock((void *)r.from, r.to - r.from);
}

static void add_bytes(struct mp_range r, uint64_t *sum) { *sum += r.to - r.from; }

/* ---- the program's mappings */

static void take_total(void *arg, const char *line)
{
    if (!strncmp(line, "VmSize:", 7)) *(uint64_t *)arg = mp_sys_kib(line, "VmSize:");
}

/* Returns true if all mappings except memprof's are within the limit. A forked child's worker
 * exists once its log has begun. */
static bool fits_without_own(void)
{
    struct rlimit limit;
    uint64_t total = 0, own = 0;
    mp_record_here();
    mp_worker_lines("/proc/self/status", take_total, &total);
    each_own(add_bytes, &own);
    return total && mp_sys6(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0, 0) == 0 &&
           total - own <= limit.rlim_cur;
}

struct locking {
    int flags;
    long refused; /* -E... if the kernel does not lock anything */
};

/* Like mlockall it ignores pages that cannot be allocated (a guard page). */
static void lock_range(struct locking *l, uintptr_t from, uintptr_t to)
{
    const bool on_fault = l->flags & MCL_ONFAULT;
    if (from == to) return;
    const long r =
        mp_sys3(on_fault ? SYS_mlock2 : SYS_mlock, (long)from, (long)(to - from), MLOCK_ONFAULT);
    if (r == -EPERM || r == -ENOSYS) l->refused = r;
}

/* The kernel shows adjacent mappings of the program and of memprof as one line. */
static void lock_line(void *arg, const char *line)
{
    uint64_t from, to;
    mp_text_range(line, &from, &to);
    struct mp_range own;
    for (uintptr_t at = from; at < to; at = own.to) {
        own = mp_own_maps_first(at, to);
        lock_range(arg, at, own.from);
    }
}

/* Does what the real call would have done to the program's mappings.  MCL_CURRENT without
 * MCL_FUTURE ends an earlier MCL_FUTURE, as munlockall does. */
static bool lock_program(int flags)
{
    struct locking l = { .flags = flags };
    if (!(flags & MCL_FUTURE) && mp_sys_locks_future()) mp_sys3(SYS_munlockall, 0, 0, 0);
    mp_worker_lines("/proc/thread-self/maps", lock_line, &l);
    return !l.refused && (!(flags & MCL_FUTURE) || mp_real.mlockall(flags & ~MCL_CURRENT) == 0);
}

HOOK int mlockall(int flags)
{
    const int before = errno;
    mp_real_ready();
    know_library();
    if (flags & MCL_FUTURE) mp_sys_lock_future();
    const int result = mp_real.mlockall(flags), error = errno;
    if (result == 0) each_own(unlock, NULL);
    const bool locked = result && error == ENOMEM && flags & MCL_CURRENT && fits_without_own() &&
                        lock_program(flags);
    errno = locked ? before : error;
    return locked ? 0 : result;
}
