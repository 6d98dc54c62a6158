/* memprof.run, the run's record next to its logs, has the ends of processes that the launcher saw
 * (format/FORMAT.md describes the lines). */
#ifndef MPL_RECORD_H
#define MPL_RECORD_H

#include <stdbool.h>

#include "watch.h"

#define MPL_RECORD_NAME "memprof.run"

/* @fd: -1 without a record */
struct mpl_record {
    int directory, fd;
    bool made;
    char host[256];
    const char *run;
};

/* Opens the record for appending. @directory: stays open and the caller's.
 * @run: the run's ID, which must live as long as the record */
void mpl_record_open(struct mpl_record *r, int directory, const char *run);
void mpl_record_end(const struct mpl_record *r, const struct mpl_watched *p);
void mpl_record_unseen(const struct mpl_record *r, const struct mpl_watched *p);
/* @keep: there are logs that the record describes. Otherwise a file that this run created is
 * removed. */
void mpl_record_close(struct mpl_record *r, bool keep);

#endif
