/* Attaching: libmemprof.so is loaded into a process that runs already, and `memprof attach` lets
 * one of its threads call memprof_attach, later memprof_detach. */
#ifndef MP_ATTACH_H
#define MP_ATTACH_H

#include "mpf/attach.h"

/* The two functions that the launcher calls. The thread holds no lock of the allocator or the
 * loader, and all its signals are blocked except those of faults. Neither changes errno. */
void memprof_attach(const struct mpf_attach_request *request);
void memprof_detach(void);
extern struct mpf_attach_status memprof_attach_status;

/* Called at the end of the constructor. */
void mp_attach_is_loaded(void);
/* Called when the recording of a preloaded process has started: it cannot be attached to. */
void mp_attach_is_preloaded(void);

#endif
