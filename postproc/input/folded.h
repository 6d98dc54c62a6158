/* The thinned beginning of a log.  LOG.fold has the header of LOG, a mark, and the frames that
 * replace those of LOG up to the mark; the disk space of those was released (docs/keep.md,
 * format/FORMAT.md).
 *
 * LOG.fold is never changed, only replaced.  A process that makes LOG.fold, or merges both files,
 * locks LOG.fold.tmp.  It also holds the exclusive lock of LOG (file.h) when it replaces LOG.fold
 * and releases disk space, and readers hold the shared lock, so they open two files that match. */
#ifndef MPR_FOLDED_H
#define MPR_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "error.h"
#include "header.h"
#include "map.h"
#include "mpf/frame.h"

#define MPR_FOLDED_SUFFIX ".fold"
#define MPR_FOLDED_NEW    ".fold.tmp"  /* the next LOG.fold, and the lock */
#define MPR_FOLDED_THIN   ".fold.thin" /* its writer's temporary file, removed when it is open */

/* The mark: the contents of a FOLD frame. */
struct mpr_mark {
    uint64_t seq;    /* the last frame that was replaced */
    uint64_t offset; /* of the first frame in LOG that was not replaced, or 0 in a merged log */
    uint64_t until;  /* CLOCK_MONOTONIC ns of the newest event that was thinned */
    uint64_t events; /* removed events */
    uint64_t grain;  /* ns: the resolution before `until` */
};

enum mpr_folded_state {
    MPR_FOLDED_NONE,    /* LOG.fold is missing, or the log already contains it */
    MPR_FOLDED_USED,    /* it replaces the log's beginning */
    MPR_FOLDED_FOREIGN, /* it belongs to another log or user, and is not read */
    MPR_FOLDED_DAMAGED,
};

struct mpr_folded {
    enum mpr_folded_state state;
    bool exists; /* there is a file with that name, described by map.st, in whatever state */
    struct mpr_mark mark;
    uint64_t frames;           /* in it; the last one has the number mark.seq */
    size_t mark_at, frames_at; /* offsets in the map: the FOLD frame, and the frame after it */
    struct mpr_map map;        /* open only if USED */
};

/* Looks for the LOG.fold of the log with this name in a directory (or AT_FDCWD).  Returns 0, or -1
 * if memory runs out.
 * @log, @header: the log's file and its header, which ends at @header_end */
int mpr_folded_find(struct mpr_folded *f, int directory, const char *name,
                    const struct mpr_map *log, size_t header_end, const struct mpr_header *header);
void mpr_folded_close(struct mpr_folded *f);

/* Reads the mark of a FOLD frame.  Returns 0 or MPF_ERR_DAMAGED. */
int mpr_mark_read(struct mpr_mark *mark, const struct mpf_frame *frame);
/* Writes a FOLD frame for a mark that precedes this number of frames.  Returns its length, at most
 * MPR_MARK_BYTES, or an mpf_error. */
#define MPR_MARK_BYTES 1024
long mpr_mark_write(const struct mpr_mark *mark, uint64_t frames, uint8_t out[MPR_MARK_BYTES]);

/* Makes an empty LOG.fold.tmp and locks it.  Returns the descriptor, or -1 with *error filled. */
int mpr_folded_lock(int directory, const char *name, const char *path, struct mpr_error *error);
/* Releases the lock, and removes the file unless it was renamed. */
void mpr_folded_unlock(int directory, const char *name, int lock);
/* Removes a LOG.fold.tmp that a killed process left.  Keeps it while another process locks it. */
void mpr_folded_clean(int directory, const char *name);

#endif
