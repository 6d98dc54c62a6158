/* libmemprof.so in a running process: loads it there, and lets it begin and end the recording. */
#ifndef MPL_INJECTION_H
#define MPL_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mpf/attach.h"
#include "safe_thread.h"

struct mpl_injection {
    struct mpl_remote process;
    struct mpl_safety safety;
    struct mpf_attach_status status; /* as last read; all 0 if the library is not in the process */
    char reason[1024];               /* why the last function failed */
    unsigned long longest_us;        /* for which a thread was stopped */
};

/* Opens the process and reads the status, if the library is in it. Returns false with a reason. The
 * injection must be closed in both cases. */
bool mpl_injection_open(struct mpl_injection *i, pid_t pid);
void mpl_injection_close(struct mpl_injection *i);

/* Loads the library, unless it is in the process. Its path must be absolute. */
bool mpl_injection_load(struct mpl_injection *i, const char *library);
/* Begins the recording. @settings: "NAME=value", each terminated by 0 */
bool mpl_injection_attach(struct mpl_injection *i, const char *settings, size_t bytes,
                          bool children);
/* Ends it. */
bool mpl_injection_detach(struct mpl_injection *i);
/* Reads the status again. Returns false if the process has ended, or executed another program. */
bool mpl_injection_read(struct mpl_injection *i);

#endif
