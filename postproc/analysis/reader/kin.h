/* Which of some logs are of processes that started those of others.  Private to this layer. */
#ifndef MPR_KIN_H
#define MPR_KIN_H

#include <stddef.h>
#include <stdint.h>

#include "summary.h"

#define MPR_NO_PROCESS SIZE_MAX

/* Places in the list; MPR_NO_PROCESS: not among these. */
struct mpr_kin {
    size_t parent; /* the process of the same run that started it: the log that its own names, else
                      the newest one before it that had the parent's number on that host */
    size_t above;  /* the same, or where it left no log whom the user started on that host, if that
                      was one */
    size_t image_of; /* the same process as it was when it executed this program; it has its parent
                      */
};

/* By their starts: a parent comes before its children. */
int mpr_kin_order(const struct mpr_summary *a, const struct mpr_summary *b);
/* Of logs in any order; claims of logs make no circle. */
void mpr_kin_find(const struct mpr_summary *const *log, size_t logs, struct mpr_kin *kin);

#endif
