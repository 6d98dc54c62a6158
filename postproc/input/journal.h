/* The journal of a log: where it is, and its bytes. */
#ifndef MPR_JOURNAL_H
#define MPR_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "header.h"

/* The largest that is read: some twenty times what a process with ten thousand threads makes. */
#define MPR_JOURNAL_MAX (UINT64_C(1) << 30)

struct mpr_journal {
    char path[PATH_MAX];        /* "" : none was found */
    uint8_t *image;             /* the head page and the chunks in use */
    size_t bytes;
};

/* Looks for the journal of the log at `log_path`: beside the log, under the header's file name beside the log (a folder that was
 * moved or copied), and where the header says.  Its id must be the header's.  True when found and read. */
bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct mpr_header *header);
/* Reads the journal at `path`; false when it is none. */
bool mpr_journal_load(struct mpr_journal *j, const char *path);
void mpr_journal_free(struct mpr_journal *j);

#endif
