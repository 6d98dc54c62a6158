/* The worker: memprof's thread with its own descriptor table. Everything that opens a file runs on
 * it.
 *
 * Only the constructor opens files in the program's table. A descriptor that memprof used there
 * would be missing for the program, and between memprof's open and its mmap or write the program
 * could put another file at that number (dup2). Therefore callers post a job and wait.
 *
 * The worker is created for the first job and is kept. In a program with one thread that thread
 * does the job itself, with signals blocked and on the worker's stack, because no second thread can
 * see or use the descriptor. Any thread, any context in which signals can be blocked; takes no lock
 * of the program. */
#ifndef MP_WORKER_H
#define MP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raw_thread.h"
#include "base/sys.h"

struct mp_worker {
    struct mp_lock lock;  /* one caller at a time */
    struct mp_lock lines; /* of mp_worker_lines */
    uint32_t state;       /* futex: whether the worker exists, and has a job (worker.c) */
    bool (*job)(void);
    bool result;
    uint64_t failed; /* CLOCK_MONOTONIC ns of the last failure to create the thread */
    bool overdue; /* a caller stopped waiting for the current job, so the next ones do not wait */
    struct mp_raw_thread thread;
};

/* Runs job() on the worker and returns its result. Returns false also if no worker can be created,
 * or if the job is not done within ns. It may still be done later, so job() must not use its
 * caller's memory. */
bool mp_worker_run(bool (*job)(void), uint64_t ns);
/* The same for the end of a process or of its program: also tried if the worker has just failed. */
bool mp_worker_run_last(bool (*job)(void), uint64_t ns);
/* Lets the worker run job(), always on its own thread, and does not wait. Returns false if the
 * worker has another job or cannot be created. */
bool mp_worker_post(bool (*job)(void));
/* Detects that a worker with a job has ended because it could not get a descriptor table. */
void mp_worker_check(void);
/* Called in the constructor: remembers the processors that memprof's threads may use. */
void mp_worker_init(void);
/* Wakes a waiting worker so that it checks for changes (ids.h). */
void mp_worker_wake(void);
/* Ends the worker and the encoders before a call that fails in a process with several threads
 * (unshare, setns). Returns true if an encoder ran, which the caller must start again
 * afterwards. */
bool mp_worker_stop(void);
/* Returns true if neither the worker nor an encoder exists. */
bool mp_worker_has_ended(void);

/* Reads a whole file of /proc or the like and passes its lines, without their ends, to take(arg,
 * line) on the calling thread. Passes nothing if the file cannot be read. `path` must stay valid.
 * Not in a job, and not within take. */
void mp_worker_lines(const char *path, void (*take)(void *arg, const char *line), void *arg);

#endif
