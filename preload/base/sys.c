#include "base/sys.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "base/own_maps.h"
#include "base/text.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Consecutive attempts with other results, so that no loop is endless. */
enum { INTERRUPTED_MAX = 1000 };

/* A page that is not locked. Mappings that mremap creates from it are not locked either. */
static void *unlocked;

void mp_sys_lock_future(void) { mp_sys_map_once(&unlocked, mp_sys_page(), false); }
bool mp_sys_locks_future(void) { return __atomic_load_n(&unlocked, __ATOMIC_ACQUIRE); }

static void *remap(void *at, size_t before, size_t bytes, int flags)
{
    const long r = mp_sys6(SYS_mremap, (long)at, (long)before, (long)bytes, flags, 0, 0);
    return r < 0 && r > -4096 ? NULL : (void *)r;
}

static void *map_any(size_t bytes)
{
    return mp_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* Kernels before 5.7 refuse MREMAP_DONTUNMAP. There the mapping is unlocked after it was
 * created. */
static void *map_unlocked(size_t bytes)
{
    const size_t page = mp_sys_page();
    void *const first = remap(unlocked, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    void *const memory = first ? remap(first, page, bytes, MREMAP_MAYMOVE) : map_any(bytes);
    if (!first && memory) mp_sys_munlock(memory, bytes);
    if (first && !memory) mp_sys_munmap(first, page);
    return memory;
}

void *mp_sys_map(size_t bytes)
{
    void *const memory = mp_sys_locks_future() ? map_unlocked(bytes) : map_any(bytes);
    if (memory) mp_own_maps_add(memory, bytes);
    return memory;
}

long mp_sys_munmap(void *at, size_t bytes)
{
    mp_own_maps_remove(at, bytes);
    return mp_sys3(SYS_munmap, (long)at, (long)bytes, 0);
}

void *mp_sys_map_first(void **place, size_t bytes, bool wiped)
{
    void *const memory = wiped ? mp_sys_map_wiped(bytes) : mp_sys_map(bytes), *none = NULL;
    if (!memory || __atomic_compare_exchange_n(place, &none, memory, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_ACQUIRE))
        return memory;
    mp_sys_munmap(memory, bytes);
    return none;
}

void *mp_sys_map_wiped(size_t bytes)
{
    void *memory = mp_sys_map(bytes);
    if (memory) mp_sys_madvise(memory, bytes, MADV_WIPEONFORK);
    return memory;
}

void mp_sys_wipe(void *memory, size_t bytes)
{
    if (mp_sys_madvise(memory, bytes, MADV_DONTNEED) != 0) memset(memory, 0, bytes);
}

static bool is_limited(int resource)
{
    struct rlimit limit;
    return mp_sys6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

bool mp_sys_limited(void) { return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA); }

bool mp_sys_writable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    long r = mp_sys3(MP_MACHINE_POLL, (long)&p, 1, ms);
    if (r < 0) r = mp_sys6(SYS_ppoll, (long)&p, 1, (long)&t, 0, 0, 0);
    return r == 1 && p.revents == POLLOUT;
}

long mp_sys_write_all(int fd, const void *buf, size_t bytes, size_t *done)
{
    unsigned interrupted = 0;
    for (*done = 0; *done < bytes;) {
        const long n = mp_sys_write(fd, (const char *)buf + *done, bytes - *done);
        if (n == -EINTR && ++interrupted < INTERRUPTED_MAX) continue;
        if (n < 0) return n;
        if (n == 0) return -EIO;
        *done += (size_t)n;
    }
    return 0;
}

struct mpf_file mp_sys_file(int fd)
{
    struct stat st;
    if (mp_sys_fstat(fd, &st) != 0) return (struct mpf_file){ 0, 0 };
    return (struct mpf_file){ st.st_dev, st.st_ino };
}

int mp_sys_reopen(const char *path, int flags, struct mpf_file file)
{
    const int fd = mp_sys_open(path, flags | O_NOFOLLOW, 0);
    if (fd < 0) return fd;
    const struct mpf_file now = mp_sys_file(fd);
    if (now.ino && now.dev == file.dev && now.ino == file.ino) return fd;
    mp_sys_close(fd);
    return -ESTALE;
}

static long copy_memory(int pid, uintptr_t at, void *out, size_t bytes)
{
    const struct iovec to = { out, bytes }, from = { (void *)at, bytes };
    return mp_sys6(SYS_process_vm_readv, pid, (long)&to, 1, (long)&from, 1, 0);
}

bool mp_sys_peek(int pid, uintptr_t at, void *out, size_t bytes)
{
    return copy_memory(pid, at, out, bytes) == (long)bytes;
}

bool mp_sys_is_unreadable(uintptr_t at)
{
    char byte;
    return copy_memory(mp_sys_getpid(), at, &byte, sizeof byte) == -EFAULT;
}

long mp_sys_slurp(const char *path, char *buf, size_t cap)
{
    const int fd = mp_sys_open(path, O_RDONLY, 0);
    if (fd < 0) return fd;
    size_t n = 0;
    long r;
    unsigned interrupted = 0;
    while (n < cap - 1 && ((r = mp_sys_read(fd, buf + n, cap - 1 - n)) > 0 ||
                           (r == -EINTR && ++interrupted < INTERRUPTED_MAX)))
        if (r > 0) n += (size_t)r;
    mp_sys_close(fd);
    buf[n] = 0;
    return (long)n;
}

uint64_t mp_sys_kib(const char *text, const char *key)
{
    const char *p = strstr(text, key);
    if (!p) return UINT64_MAX;
    for (p += strlen(key); *p == ' ' || *p == '\t'; p++) {}
    return mp_text_decimal(p) << 10;
}

/* "pid (name) S ppid ...": the name, the second field, may contain spaces and parentheses. */
uint64_t mp_sys_stat_field(const char *text, int n)
{
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < n; field++) p = strchr(p + 1, ' ');
    return p ? mp_text_decimal(p + 1) : 0;
}

long mp_sys_threads(char *main_state)
{
    char text[512];
    *main_state = '?';
    if (mp_sys_slurp("/proc/self/stat", text, sizeof text) <= 0) return 0;
    const char *p = strrchr(text, ')');
    if (!p || p[1] != ' ') return 0;
    *main_state = p[2];
    return (long)mp_sys_stat_field(text, 20);
}

struct entry { /* of getdents64 */
    uint64_t ino;
    int64_t off;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int number_of(const char *name)
{
    int n = 0;
    for (; *name >= '0' && *name <= '9'; name++) n = n * 10 + (*name - '0');
    return *name ? -1 : n;
}

bool mp_sys_numbers(const char *path, int *dir, bool (*take)(void *arg, int number), void *arg)
{
    union {
        struct entry entry;
        char bytes[4096];
    } list;
    bool more = true;
    *dir = mp_sys_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (*dir < 0) return false;
    for (long n; more && (n = mp_sys3(SYS_getdents64, *dir, (long)&list, sizeof list)) > 0;)
        for (long at = 0; more && at < n;) {
            const struct entry *e = (const struct entry *)(list.bytes + at);
            const int number = number_of(e->name);
            if (number >= 0) more = take(arg, number);
            at += e->bytes;
        }
    mp_sys_close(*dir);
    return true;
}

int mp_sys_main_status(void)
{
    char text[1024];
    if (mp_sys_slurp("/proc/self/stat", text, sizeof text) <= 0) return 0;
    return (int)(mp_sys_stat_field(text, 52) >> 8 & 0xff);
}

unsigned mp_sys_processors(void)
{
    uint64_t mask[128];
    const long bytes = mp_sys3(SYS_sched_getaffinity, 0, sizeof mask, (long)mask);
    unsigned n = 0;
    for (long i = 0; i < bytes / 8; i++) n += (unsigned)__builtin_popcountll(mask[i]);
    return n ? n : 1;
}

static uint64_t hwm_of_rusage(void)
{
    struct rusage usage = { 0 };
    mp_sys3(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0);
    return (uint64_t)usage.ru_maxrss << 10;
}

uint64_t mp_sys_hwm(void)
{
    char status[4096];
    if (mp_sys_slurp("/proc/thread-self/status", status, sizeof status) <= 0)
        return hwm_of_rusage();
    const uint64_t bytes = mp_sys_kib(status, "VmHWM:");
    return bytes == UINT64_MAX ? hwm_of_rusage() : bytes;
}

struct mp_patience mp_patience(uint64_t ns)
{
    return (struct mp_patience){ mp_sys_clock(CLOCK_MONOTONIC), ns };
}

/* Returns the maximum time that counts for one look. A longer time means that the process was
 * stopped. */
static uint64_t at_most(uint64_t look) { return look + 100000000u; }

static bool is_over(struct mp_patience *p, uint64_t look)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC), passed = now - p->seen;
    const uint64_t took = !now ? look : passed < at_most(look) ? passed : at_most(look);
    if (took >= p->left) return true;
    p->seen = now;
    p->left -= took;
    return false;
}

bool mp_wait(struct mp_patience *patience, uint32_t *word, uint32_t value, uint64_t look)
{
    if (is_over(patience, look)) return false;
    mp_sys_futex_wait(word, value, look);
    return true;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *mp_sys_program_name(void)
{
    static char name[PATH_MAX];
    const long n = mp_sys6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)name,
                           sizeof name - 1, 0, 0);
    name[n > 0 ? n : 0] = 0;
    return last_part(name);
}

/* Returns false for a script, whose interpreter runs, and for a program that was executed by a
 * descriptor (fexecve), which has no name. */
static bool names_program(const char *path)
{
    static const char by_descriptor[] = "/dev/fd/";
    struct stat named, runs;
    if (!path || !strncmp(path, by_descriptor, sizeof by_descriptor - 1)) return false;
    if (mp_sys_stat("/proc/self/exe", &runs) != 0 || mp_sys_stat(path, &named) != 0) return false;
    return named.st_dev == runs.st_dev && named.st_ino == runs.st_ino;
}

const char *mp_sys_executed_name(void)
{
    static char name[256];
    if (*name) return name;
    const char *path = (const char *)getauxval(AT_EXECFN);
    const char *known = names_program(path) ? last_part(path) : mp_sys_program_name();
    const size_t length = strlen(known);
    if (length >= sizeof name) return known;
    memcpy(name, known, length + 1);
    return name;
}

__thread uint32_t mp_sys_signals_come;

enum { UNLOCKED, LOCKED, CONTENDED };

static bool take_lock(struct mp_lock *lock, uint64_t ns)
{
    const uint64_t look = 100000000u;
    uint32_t free = UNLOCKED;
    if (__atomic_compare_exchange_n(&lock->word, &free, LOCKED, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return true;
    struct mp_patience patience = mp_patience(ns);
    while (__atomic_exchange_n(&lock->word, CONTENDED, __ATOMIC_ACQUIRE) != UNLOCKED)
        if (!mp_wait(&patience, &lock->word, CONTENDED, look)) return false;
    return true;
}

bool mp_lock_within(struct mp_lock *lock, uint64_t ns, uint64_t *before)
{
    *before = mp_sys_block_signals();
    if (take_lock(lock, ns)) return true;
    mp_sys_restore_signals(*before);
    return false;
}

uint64_t mp_lock(struct mp_lock *lock)
{
    const uint64_t before = mp_sys_block_signals(), hour = UINT64_C(3600) * 1000000000u;
    while (!take_lock(lock, hour)) {}
    return before;
}

void mp_unlock(struct mp_lock *lock, uint64_t before)
{
    if (__atomic_exchange_n(&lock->word, UNLOCKED, __ATOMIC_RELEASE) == CONTENDED)
        mp_sys_futex_wake(&lock->word);
    mp_sys_restore_signals(before);
}
