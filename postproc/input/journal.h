/* The journal of a log: where it is, and its bytes. */
#ifndef MPR_JOURNAL_H
#define MPR_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "header.h"
#include "mpf/journal.h"

/* The largest that is read: some twenty times what a process with ten thousand threads makes. */
#define MPR_JOURNAL_MAX (UINT64_C(1) << 30)

struct mpr_journal {
    char path[PATH_MAX]; /* "" : none was found */
    uint8_t *image;      /* the head page and the chunks in use */
    size_t bytes;
    struct mpf_journal head;
    struct stat st; /* of the file, which is open as fd; -1: none was found */
    int fd;
    bool no_memory; /* there may be one, and there was no memory for it: an error */
};

/* Looks for the journal of the log at `log_path`, which is the file `log`: beside the log, under
 * the header's file name beside the log (a folder that was moved or copied), and where the header
 * says.  Those are but names: the file that is taken belongs to the log's owner and has the
 * header's id.  True when found and read. */
bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct stat *log,
                      const struct mpr_header *header);
/* Reads the journal at `path`, wherever that leads; false when it is none. */
bool mpr_journal_load(struct mpr_journal *j, const char *path);
void mpr_journal_free(struct mpr_journal *j);

#endif
