/* The pairs of the log's HEADER and END frames (format/FORMAT.md has the keys). One thread at a
 * time. */
#ifndef MP_LOG_PAIRS_H
#define MP_LOG_PAIRS_H

#include <limits.h>
#include <stdint.h>

#include "mpf/header.h"

/* The log of a forked child's parent. An empty path means that there is none. */
struct mp_log_parent {
    char path[PATH_MAX];
    int pid;
};

void mp_pairs_header(struct mpf_pairs *p, const uint8_t id[16], const struct mp_log_parent *parent);
void mp_pairs_end(struct mpf_pairs *p, const char *reason);

#endif
