/* The journal of a log: its path, its bytes, and the events in it that the log does not have. */
#ifndef MPR_JOURNAL_H
#define MPR_JOURNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "header.h"
#include "mpf/journal.h"

struct mpr_journal {
    char path[PATH_MAX]; /* "" if no journal was found */
    uint8_t *image;      /* a copy of the head page and the chunks in use */
    size_t bytes;
    struct mpf_journal head;
    struct stat st; /* of the file */
    int fd;         /* the open file, or -1 */
    bool no_memory; /* an error: memory ran out before it was known whether there is a journal */
};

/* Looks for the journal of a log: as LOG.journal, under the header's file name in the log's folder
 * (for a folder that was moved or copied), and at the header's path.  Any file may be there, so the
 * journal must belong to the log's owner and have the header's id.  Returns true if it was read.
 * @log: the log's file */
bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct stat *log,
                      const struct mpr_header *header);
/* Reads the journal at a path, also through a link.  Returns false if it is not a journal. */
bool mpr_journal_load(struct mpr_journal *j, const char *path);
void mpr_journal_free(struct mpr_journal *j);

/* The events of a journal image that the log does not have, merged over threads by time.  An image
 * is a journal file or the body of a SLOTS frame.  Takes 16 bytes of memory an event, twice that
 * while it sorts; a journal holds a fraction of a second. */
struct mpr_pending {
    const uint8_t *image;
    size_t bytes;
    struct mpf_journal head;
    struct mpr_pending_chunk *chunk;
    size_t chunks;
    struct mpr_pending_event *event;
    size_t events, next, cap;
    uint64_t torn;       /* slots that were begun and never finished */
    uint64_t log_frames; /* number of frames in the log according to the chunks in use; a log with
                            fewer frames has lost some */
};

/* Lists the events that a log of @frames frames does not have.  The image stays the caller's and
 * must outlive *p.  Returns 0 or an mpf_error. */
int mpr_pending_open(struct mpr_pending *p, const uint8_t *image, size_t bytes, uint64_t frames);
void mpr_pending_close(struct mpr_pending *p);
/* Reads the next event; data of a DATA event is copied to data[MPF_DATA_MAX].  Returns 1, or 0 at
 * the end. */
int mpr_pending_next(struct mpr_pending *p, uint64_t origin, struct mpf_event *event,
                     uint8_t *data);
/* Copies every chunk with such events to @out, which has room for p->chunks of them. */
void mpr_pending_copy_chunks(const struct mpr_pending *p, uint8_t *out);

#endif
