/* Threads that the C library does not know: memprof's worker and encoders.
 *
 * Starting one takes no lock, no memory of the program's heap and about 200 bytes of the caller's
 * stack. So it works in any hook, in a signal handler and in a child of any kind of fork. The
 * program stays single-threaded for its C library, whose malloc and stdio then take no locks.
 *
 * Such a thread has its own thread-local storage, which starts as zeros. Only initial-exec
 * variables and errno work there, and no other data that the C library keeps per thread. So the
 * thread may call only functions that compute (memcpy, zstd), and raw system calls (sys.h). All
 * signals are blocked in it. */
#ifndef MP_RAW_THREAD_H
#define MP_RAW_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mp_raw_table {
    MP_TABLE_SHARED, /* the descriptor table of the starting thread */
    MP_TABLE_EMPTY,  /* a new, empty one */
};

struct mp_raw_thread {
    uint32_t running; /* futex; the kernel sets it to 0 at the end of the thread */
    uint32_t tid;     /* the kernel's ID, or 0 before the start and after the end */
    void *memory;     /* stack and thread-local storage; kept for the next start */
    void (*run)(void);
    enum mp_raw_table table;
};

/* The exit status with which the threads end the process, as in SYS_exit; 0 unless it was set. */
extern int mp_raw_thread_status;

/* Maps the memory that a thread needs, if that was not done before. Returns false if the kernel
 * refuses it. */
bool mp_raw_thread_prepare(struct mp_raw_thread *thread);
/* Starts a thread that calls run() and ends when that returns. The earlier thread of this record
 * must have ended. Returns false if the kernel refuses a thread, signals cannot be blocked, or the
 * thread would not get its table. */
bool mp_raw_thread_start(struct mp_raw_thread *thread, void (*run)(void), enum mp_raw_table table);
/* Calls f(arg) on the stack of a thread that is not running. Signals must be blocked. Returns false
 * if it was not called. */
bool mp_raw_thread_call(struct mp_raw_thread *thread, void (*f)(void *), void *arg);
/* Waits at most ns until the kernel has removed the thread. Returns false if it still runs. */
bool mp_raw_thread_await_end(struct mp_raw_thread *thread, uint64_t ns);

#endif
