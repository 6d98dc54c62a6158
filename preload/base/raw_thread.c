/* Layout of a thread's memory, from its lowest address: a page that cannot be accessed, the stack,
 * and the thread-local storage around the thread pointer.
 *
 * The flags of clone are those of the C library's threads, because seccomp filters and emulators
 * know these. The new thread leaves the program's descriptor table by close_range, which copies
 * nothing. Kernels before 5.9 do not have that call. There clone copies the table, and the new
 * thread closes everything in the copy at once. */
#include "base/raw_thread.h"

#include <sched.h>

#include "base/machine.h"
#include "base/sys.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
    STACK_BYTES = 128 << 10,
    RECORD_BYTES = 4096, /* for the C library's record at the other side of the thread pointer */
    SPARE_BYTES = 4096,  /* beyond the farthest variable that is used */
};

int mp_raw_thread_status;

/* ---- memory */

static size_t whole_pages(size_t bytes)
{
    const size_t page = mp_sys_page();
    return (bytes + page - 1) / page * page;
}

static size_t distance(uintptr_t a, uintptr_t b) { return a > b ? a - b : b - a; }

/* Returns the bytes from the thread pointer to the end of the variables that are used: memprof's
 * and errno. Each has the same distance in every thread. */
static size_t variables_bytes(void)
{
    const uintptr_t tp = mp_machine_thread_pointer();
    const size_t own_tls = distance((uintptr_t)&mp_sys_signals_come, tp),
                 libc = distance((uintptr_t)&errno, tp);
    return whole_pages((own_tls > libc ? own_tls : libc) + SPARE_BYTES);
}

static size_t memory_bytes(void)
{
    return mp_sys_page() + STACK_BYTES + variables_bytes() + whole_pages(RECORD_BYTES);
}

static uint8_t *stack_end(const struct mp_raw_thread *thread)
{
    return (uint8_t *)thread->memory + mp_sys_page() + STACK_BYTES;
}

static uintptr_t thread_pointer(const struct mp_raw_thread *thread)
{
    return (uintptr_t)stack_end(thread) +
           (MP_MACHINE_VARIABLES_BELOW ? variables_bytes() : whole_pages(RECORD_BYTES));
}

bool mp_raw_thread_prepare(struct mp_raw_thread *thread)
{
    if (thread->memory) return true;
    uint8_t *memory = mp_sys_map(memory_bytes());
    if (!memory) return false;
    mp_sys3(SYS_mprotect, (long)memory, (long)mp_sys_page(), PROT_NONE);
    thread->memory = memory;
    return true;
}

/* ---- the descriptors of the new thread */

static bool has_close_range(void)
{
    static uint32_t known; /* 1: no, 2: yes */
    uint32_t k = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!k) {
        k = mp_sys3(SYS_close_range, ~0u, ~0u, 0) == 0 ? 2 : 1;
        __atomic_store_n(&known, k, __ATOMIC_RELAXED);
    }
    return k == 2;
}

static bool close_one(void *arg, int fd)
{
    if (fd != *(const int *)arg) mp_sys_close(fd);
    return true;
}

/* Closes every descriptor of the calling thread's table, which only this thread has. */
static bool close_copies(void)
{
    int dir;
    return mp_sys_numbers("/proc/thread-self/fd", &dir, close_one, &dir);
}

static bool empty_table(void)
{
    return has_close_range() ? mp_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0
                             : close_copies();
}

/* ---- start and end */

/* A thread that cannot leave the program's table ends before it has used a descriptor. */
static void run(void *arg)
{
    const struct mp_raw_thread *thread = arg;
    if (thread->table == MP_TABLE_SHARED || empty_table()) thread->run();
    for (;;) mp_sys3(SYS_exit, mp_raw_thread_status, 0, 0);
}

bool mp_raw_thread_start(struct mp_raw_thread *thread, void (*f)(void), enum mp_raw_table table)
{
    if (mp_sys_signals_come || !mp_raw_thread_prepare(thread)) return false;
    const bool copies = table == MP_TABLE_EMPTY && !has_close_range();
    const unsigned long flags = CLONE_VM | CLONE_FS | (copies ? 0 : CLONE_FILES) | CLONE_SIGHAND |
                                CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                CLONE_CHILD_CLEARTID;
    const uintptr_t tp = thread_pointer(thread);
    mp_machine_begin_storage(tp);
    thread->run = f;
    thread->table = table;
    __atomic_store_n(&thread->running, 1, __ATOMIC_RELEASE);
    const long tid =
        mp_machine_clone(flags, stack_end(thread), &thread->tid, &thread->running, tp, run, thread);
    if (tid < 0) __atomic_store_n(&thread->running, 0, __ATOMIC_RELEASE);
    return tid > 0;
}

bool mp_raw_thread_call(struct mp_raw_thread *thread, void (*f)(void *), void *arg)
{
    const bool runs = __atomic_load_n(&thread->running, __ATOMIC_ACQUIRE);
    if (runs || mp_sys_signals_come || !mp_raw_thread_prepare(thread)) return false;
    mp_machine_call_on(stack_end(thread), f, arg);
    return true;
}

/* The kernel clears `running` shortly before it removes the thread. */
bool mp_raw_thread_await_end(struct mp_raw_thread *thread, uint64_t ns)
{
    enum { LOOKS = 1000 };
    struct mp_patience patience = mp_patience(ns);
    if (!thread->tid) return true;
    while (__atomic_load_n(&thread->running, __ATOMIC_ACQUIRE))
        if (!mp_wait(&patience, &thread->running, 1, 50000u)) return false;
    for (int i = 0; i < LOOKS && mp_sys_thread_lives(mp_sys_getpid(), (int)thread->tid); i++)
        mp_sys_yield();
    thread->tid = 0;
    return true;
}
