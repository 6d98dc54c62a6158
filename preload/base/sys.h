/* Raw system calls. They do not change errno and call no hooked function.
 *
 * Every call returns its result, or -E... on failure. Safe in signal handlers, in vfork children
 * and before the C library is ready. */
#ifndef MP_SYS_H
#define MP_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "mpf/slot.h"

static inline long mp_sys6(long n, long a, long b, long c, long d, long e, long f)
{
    return mp_machine_syscall(n, a, b, c, d, e, f);
}
static inline long mp_sys3(long n, long a, long b, long c) { return mp_sys6(n, a, b, c, 0, 0, 0); }

/* Returns the bytes of a page: 4 KiB, 16 KiB or 64 KiB. */
static inline size_t mp_sys_page(void) { return getauxval(AT_PAGESZ); }
#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer must know that memory at a reused address is new. Otherwise it reports a race
 * with accesses of other threads to the former memory there. */
static inline void *mp_sys_mmap(void *at, size_t bytes, int prot, int flags, int fd)
{
    void *const memory = mmap(at, bytes, prot, flags, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}
#else
static inline void *mp_sys_mmap(void *at, size_t bytes, int prot, int flags, int fd)
{
    const long r = mp_sys6(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, 0);
    return r < 0 && r > -4096 ? NULL : (void *)r;
}
#endif
/* Returns zeroed memory for memprof, whose pages are allocated when they are first used, or NULL
 * without memory. */
void *mp_sys_map(size_t bytes);
/* Must be called before mlockall(MCL_FUTURE): the kernel would also lock memprof's later mappings,
 * or refuse them, because they count against the program's RLIMIT_MEMLOCK. */
void mp_sys_lock_future(void);
/* Returns true after that call. */
bool mp_sys_locks_future(void);
/* Unmaps any memory. */
long mp_sys_munmap(void *at, size_t bytes);
static inline long mp_sys_munlock(const void *at, size_t bytes)
{
    return mp_sys3(SYS_munlock, (long)at, (long)bytes, 0);
}
static inline long mp_sys_madvise(void *at, size_t bytes, int advice)
{
    return mp_sys3(SYS_madvise, (long)at, (long)bytes, advice);
}
/* Opens a file without waiting or side effects, even if the path is now that of a FIFO or
 * terminal. */
static inline int mp_sys_open(const char *path, int flags, int mode)
{
    return (int)mp_sys6(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                        mode, 0, 0);
}
static inline long mp_sys_close(int fd) { return mp_sys3(SYS_close, fd, 0, 0); }
static inline long mp_sys_read(int fd, void *buf, size_t bytes)
{
    return mp_sys3(SYS_read, fd, (long)buf, (long)bytes);
}
static inline long mp_sys_write(int fd, const void *buf, size_t bytes)
{
    return mp_sys3(SYS_write, fd, (long)buf, (long)bytes);
}
static inline long mp_sys_ftruncate(int fd, off_t bytes)
{
    return mp_sys3(SYS_ftruncate, fd, bytes, 0);
}
static inline long mp_sys_fallocate(int fd, off_t from, off_t bytes)
{
    return mp_sys6(SYS_fallocate, fd, 0, from, bytes, 0, 0);
}
static inline long mp_sys_unlink(const char *path)
{
    return mp_sys6(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}
static inline long mp_sys_mkdir(const char *path, int mode)
{
    return mp_sys3(SYS_mkdirat, AT_FDCWD, (long)path, mode);
}
static inline long mp_sys_fstat(int fd, struct stat *out)
{
    return mp_sys6(SYS_newfstatat, fd, (long)"", (long)out, AT_EMPTY_PATH, 0, 0);
}
static inline long mp_sys_lstat(const char *path, struct stat *out)
{
    return mp_sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)out, AT_SYMLINK_NOFOLLOW, 0, 0);
}
static inline long mp_sys_stat(const char *path, struct stat *out)
{
    return mp_sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)out, 0, 0, 0);
}
static inline int mp_sys_getpid(void) { return (int)mp_sys3(SYS_getpid, 0, 0, 0); }
static inline int mp_sys_getppid(void) { return (int)mp_sys3(SYS_getppid, 0, 0, 0); }
static inline int mp_sys_gettid(void) { return (int)mp_sys3(SYS_gettid, 0, 0, 0); }
/* Must be the first call of a memprof thread. All signals have been blocked since before the thread
 * was created. But setuid(3) and similar functions send a signal of the C library to every thread
 * and wait for each. (In the first thread of the process the C library unblocks this signal
 * itself.) */
static inline void mp_sys_begin_thread(const char *name)
{
    const uint64_t setxid = UINT64_C(1) << 32;
    mp_sys3(SYS_prctl, PR_SET_NAME, (long)name, 0);
    mp_sys6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&setxid, 0, sizeof setxid, 0, 0);
}
/* Returns zeroed memory that reads as zeros in a forked child, or NULL without memory. If the
 * kernel refuses that (before Linux 4.14, or by a filter), the child must clear it. */
void *mp_sys_map_wiped(size_t bytes);
/* Returns the memory that *place points to, and maps it at the first call. @wiped: as by
 * mp_sys_map_wiped. Returns NULL without memory. Any number of threads, any context. */
void *mp_sys_map_first(void **place, size_t bytes, bool wiped);
static inline void *mp_sys_map_once(void **place, size_t bytes, bool wiped)
{
    void *const memory = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    return __builtin_expect(memory != NULL, 1) ? memory : mp_sys_map_first(place, bytes, wiped);
}
/* Makes private memory read as zeros. */
void mp_sys_wipe(void *memory, size_t bytes);
/* Returns false only if the kernel reports that the process has no such thread. */
static inline bool mp_sys_thread_lives(int pid, int tid)
{
    return mp_sys3(SYS_tgkill, pid, tid, 0) != -ESRCH;
}

static inline void mp_sys_yield(void) { mp_sys3(SYS_sched_yield, 0, 0, 0); }
/* Sleeps while *word is `value`, at most ns. May end early without a reason. Returns false if
 * seccomp refuses it; then it only yields. */
static inline bool mp_sys_futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
    const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    const long r = mp_sys6(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)&t, 0, 0);
    if (r == 0 || r == -EAGAIN || r == -EINTR || r == -ETIMEDOUT) return true;
    mp_sys_yield();
    return false;
}
static inline void mp_sys_futex_wake_some(uint32_t *word, uint32_t threads)
{
    mp_sys6(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, threads, 0, 0, 0);
}
static inline void mp_sys_futex_wake(uint32_t *word)
{
    mp_sys6(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

/* Number of sections of this thread in which signals are not blocked, because a filter of the
 * program refuses to block them. A handler that finds it above 0 has interrupted such a section. */
extern __thread uint32_t mp_sys_signals_come
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Blocks every signal for the calling thread and returns the previous mask. */
static inline uint64_t mp_sys_block_signals(void)
{
    const uint64_t every_signal = ~UINT64_C(0);
    uint64_t before = 0;
    if (mp_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every_signal, (long)&before,
                sizeof every_signal, 0, 0) < 0) {
        mp_sys_signals_come++;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    return before;
}
static inline void mp_sys_restore_signals(uint64_t before)
{
    const long r = mp_sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
    if (r < 0 && mp_sys_signals_come) mp_sys_signals_come--;
}

static inline uint64_t mp_sys_clock(clockid_t clock)
{
    struct timespec t = { 0 };
    mp_sys3(SYS_clock_gettime, clock, (long)&t, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time limit of a wait. Every wait of memprof in a thread of the program ends, even if a filter
 * of the program refuses the clock: then looks are counted. Time in which the process was stopped
 * (SIGSTOP, a frozen cgroup) does not count, because the awaited thread was also stopped. */
struct mp_patience {
    /* Time of the last look, and the remaining ns, which are 0 only if the limit was 0. */
    uint64_t seen, left;
};
struct mp_patience mp_patience(uint64_t ns);
/* Sleeps a short time while *word is `value`, at most `look` ns. Returns false at once if the time
 * is over. */
bool mp_wait(struct mp_patience *patience, uint32_t *word, uint32_t value, uint64_t look);

struct mpf_file mp_sys_file(int fd);
/* Opens the file at the path if it is still `file`, because the path may be that of another file
 * now. Returns -E... otherwise. */
int mp_sys_reopen(const char *path, int flags, struct mpf_file file);
/* Copies memory of this process, whose ID is `pid`. Returns false if it is not mapped. */
bool mp_sys_peek(int pid, uintptr_t at, void *out, size_t bytes);
/* Returns true if this process has no readable memory at the address. Returns false also if that is
 * unknown. */
bool mp_sys_is_unreadable(uintptr_t at);
/* Reads a whole small file into buf and terminates it with 0. Returns the length, or -E... */
long mp_sys_slurp(const char *path, char *buf, size_t cap);
/* Returns the bytes of a line "Key:   123 kB" of such a file, or UINT64_MAX without such a line. */
uint64_t mp_sys_kib(const char *text, const char *key);
/* Returns the n-th field of a text like /proc/PID/stat, counted after the name, or 0 if the text is
 * shorter. */
uint64_t mp_sys_stat_field(const char *text, int n);
/* Returns the high-water mark of the process's resident memory in bytes. */
uint64_t mp_sys_hwm(void);
/* Returns the number of threads of the process, and the state of its main thread ('R', 'S', ... 'Z'
 * after its end). Returns 0 without /proc. */
long mp_sys_threads(char *main_state);
/* Calls take(arg, number) for the entries of a directory of /proc that are numbers, until it
 * returns false. *dir is the directory's descriptor during the calls. Returns false if it cannot be
 * read. */
bool mp_sys_numbers(const char *path, int *dir, bool (*take)(void *arg, int number), void *arg);
/* Returns the exit status of the process's main thread, which has ended, as in SYS_exit. */
int mp_sys_main_status(void);
/* Returns the number of processors that the calling thread may run on, or 1 if that is unknown. */
unsigned mp_sys_processors(void);
/* Returns true if bytes can be written to the descriptor within ms, without SIGPIPE. */
bool mp_sys_writable(int fd, int ms);
/* Returns true if the memory that the program may map is limited. */
bool mp_sys_limited(void);
/* Writes all bytes. Returns 0, or -E... with *done bytes written. */
long mp_sys_write_all(int fd, const void *buf, size_t bytes, size_t *done);

/* Returns the file name of the program, or "" if it is unknown. One thread at a time. */
const char *mp_sys_program_name(void);
/* Returns the name by which the program was executed: its file name, or that of a link to it
 * (python3). The name is that of the first call, which must be made before the program can change
 * its directory. One thread at a time. */
const char *mp_sys_executed_name(void);

/* A lock for short sections, during which all signals are blocked. mp_unlock gets the result of
 * mp_lock. */
struct mp_lock {
    uint32_t word;
};
uint64_t mp_lock(struct mp_lock *lock);
/* The same if the holder may hang (on a disk). Returns false if the lock cannot be taken within
 * ns. */
bool mp_lock_within(struct mp_lock *lock, uint64_t ns, uint64_t *before);
void mp_unlock(struct mp_lock *lock, uint64_t before);

#endif
