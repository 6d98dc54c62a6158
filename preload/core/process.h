/* The recorded process: its start, its children, its end. */
#ifndef MP_PROCESS_H
#define MP_PROCESS_H

#include "core/state.h"

/* Maps the state and starts the recording of the program's first process. Returns false if nothing
 * is recorded. */
bool mp_process_init(void);
/* Starts the recording of a process that runs already, possibly after an earlier recording.
 * @children: also record the processes that it forks. @bytes: of its blocks, or 0 if they are
 * unknown. Returns false if nothing is recorded. Not
 * called in two threads at once. */
bool mp_process_attach(bool children, uint64_t bytes);
/* Called when that recording has ended (mp_process_finish) and the program continues: ends
 * memprof's threads. */
void mp_process_leave(void);
/* Between these two calls the thread uses this state: a later recording does not replace it
 * meanwhile. Enter returns false, and nothing follows, if the recording has ended. Any context. */
struct mp_process *mp_process_enter(void);
void mp_process_exit(struct mp_process *p);
/* Returns true if this copy of the library records. A copy that was dlopen'ed later (children
 * inherit NVTX_INJECTION64_PATH even if LD_PRELOAD was dropped) stays inert. */
bool mp_process_active(void);
/* Returns true if events are recorded. Starts the recording of a forked child. Any context; keeps
 * errno. */
bool mp_process_ready(void);
/* Ends the recording: writes everything and END to the log, and removes the journal. Does nothing
 * in a vfork child. */
void mp_process_finish(const char *reason);
/* Returns true if the calling process is recorded: false in a vfork child, which has its parent's
 * memory, and once the recording has ended. */
bool mp_process_is_owner(void);
/* Called before exec: completes the log and removes everything else. Recording continues if the
 * exec fails (mp_process_resume). */
void mp_process_suspend(void);
void mp_process_resume(void);
/* Called by the C library's fork handler in the child. */
void mp_process_forked(void);
/* Called once in the constructor. @root: the user started this process. */
void mp_process_adopt(bool root);

#endif
