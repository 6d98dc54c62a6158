/* How an analysis tells how far it is; called often, so cheap. */
#ifndef MPR_PROGRESS_H
#define MPR_PROGRESS_H

#include <stdint.h>

struct mpr_progress {
    void (*tick)(void *arg, const char *path, uint64_t done, uint64_t total); /* bytes of the file;
                                                                                 NULL: not wanted */
    void *arg;
};

#endif
