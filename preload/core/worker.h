/* The worker: memprof's thread with its own descriptor table.  Everything that opens a file runs on
 * it.
 *
 * Only the constructor opens files in the program's table.  A number that memprof took there would
 * be missing for the program, and between memprof's open and its mmap or write the program could
 * put another file at that number (dup2).  Therefore callers post a job and wait.
 *
 * The worker is made for the first job and stays.  In a program of one thread that thread does the
 * job itself, with signals blocked and on the worker's stack, because no second thread can see or
 * take a number.  Any thread, any context in which signals can be blocked; takes no lock of the
 * program's. */
#ifndef MP_WORKER_H
#define MP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raw_thread.h"
#include "base/sys.h"

struct mp_worker {
    struct mp_lock lock;  /* one caller at a time */
    struct mp_lock lines; /* of mp_worker_lines */
    uint32_t state;       /* futex: whether the worker is there, and has a job (worker.c) */
    bool (*job)(void);
    bool result;
    uint64_t failed; /* CLOCK_MONOTONIC ns: when the thread could not be made the last time */
    bool overdue;    /* a caller gave up waiting for the job at hand: the next ones do not wait */
    struct mp_raw_thread thread;
};

/* Runs job() on the worker and returns its result.  False also if no worker can be made, or if the
 * job is not done within ns; it may still be done later, so job() uses no memory of its caller's.
 */
bool mp_worker_run(bool (*job)(void), uint64_t ns);
/* The same for the end of a process or of its program: tried even if the worker failed just now. */
bool mp_worker_run_last(bool (*job)(void), uint64_t ns);
/* Has the worker run job(), always on its own thread, and does not wait.  Returns false if the
 * worker has another job or cannot be made. */
bool mp_worker_post(bool (*job)(void));
/* Notices that a worker with a job has ended, because it could get no descriptor table. */
void mp_worker_check(void);
/* In the constructor: remembers the processors that memprof's threads may use. */
void mp_worker_init(void);
/* Lets a worker that waits look around (ids.h). */
void mp_worker_wake(void);
/* Ends the worker and the encoders before a call that fails in a process of several threads
 * (unshare, setns).  Returns true if an encoder ran, which the caller starts again afterwards. */
bool mp_worker_stop(void);

/* Reads a whole file of /proc or the like and passes its lines, without their ends, to
 * take(arg, line) on the calling thread.  Nothing is passed if the file cannot be read.  `path`
 * must stay valid.  Not in a job, and not within take. */
void mp_worker_lines(const char *path, void (*take)(void *arg, const char *line), void *arg);

#endif
