/* Reads the journal of a log, and the events in it that the log does not have. */
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
    bool no_memory; /* memory ran out, so it is unknown whether there is a journal */
};

/* Looks for the journal of a log: at LOG.journal; in the log's folder, which may have been moved or
 * copied, under the file name in the header; and at the path in the header.  Only a file of the
 * log's owner that has the id of the header is its journal.  Returns true if it was read.
 * @log: the log's file */
bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct stat *log,
                      const struct mpr_header *header);
/* Reads the journal at a path, also through a link.  Returns false if it is not a journal. */
bool mpr_journal_load(struct mpr_journal *j, const char *path);
void mpr_journal_free(struct mpr_journal *j);

/* The pending events: those of a journal's image that the log does not have, of all threads, in
 * order of time.  An image is a journal file or the body of a SLOTS frame.  Takes 16 bytes of
 * memory for an event, twice that while it sorts; a journal holds a fraction of a second. */
struct mpr_pending {
    const uint8_t *image;
    size_t bytes;
    struct mpf_journal head;
    struct mpr_pending_chunk *chunk;
    size_t chunks;
    struct mpr_pending_event *event;
    size_t events, next, cap;
    uint64_t torn;       /* slots that were begun and never finished */
    uint64_t log_frames; /* that the log had according to the chunks in use; may be fewer now */
};

/* Lists the events that a log of @frames frames does not have.  The caller keeps the image until
 * *p is closed.  Returns 0 or an mpf_error. */
int mpr_pending_open(struct mpr_pending *p, const uint8_t *image, size_t bytes, uint64_t frames);
void mpr_pending_close(struct mpr_pending *p);
/* Reads the next event.  The data of a DATA event is copied to data[MPF_DATA_MAX].  Returns 1, or 0
 * at the end. */
int mpr_pending_next(struct mpr_pending *p, uint64_t origin, struct mpf_event *event,
                     uint8_t *data);
/* Makes the payload of a SLOTS frame: room for the frame's head, then a journal of only those
 * chunks that have pending events.  Returns NULL if memory runs out; the caller frees it. */
uint8_t *mpr_pending_payload(const struct mpr_pending *p, size_t *bytes);

#endif
