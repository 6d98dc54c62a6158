/* memprof.run, the run's record next to its logs: the ends of processes as the launcher saw them
 * (format/FORMAT.md has the lines). */
#ifndef MPL_RECORD_H
#define MPL_RECORD_H

#include <stdbool.h>

#include "watch.h"

#define MPL_RECORD_NAME "memprof.run"

/* fd is -1 if there is no record */
struct mpl_record {
    int directory, fd;
    bool made;
    char host[256];
    const char *run;
};

/* Adds to the file of an earlier run in the directory, which stays the caller's and open.
 * @run: the run's id, as long as the record is open */
void mpl_record_open(struct mpl_record *r, int directory, const char *run);
void mpl_record_end(const struct mpl_record *r, const struct mpl_watched *p);
void mpl_record_unseen(const struct mpl_record *r, const struct mpl_watched *p);
/* keep: there are logs that it speaks of; else a file that this run made goes. */
void mpl_record_close(struct mpl_record *r, bool keep);

#endif
