/* The beginning of a log that was folded: LOG.fold beside LOG has the log's header, a mark and the
 * frames that stand for those of LOG up to the mark, whose room in LOG was given back
 * (docs/keep.md, format/FORMAT.md).
 *
 * It is replaced as a whole and never changed.  Who makes one, or makes one file of both, holds the
 * lock that LOG.fold.tmp is; LOG is shared by who reads it (file.h), and taken for the moment in
 * which LOG.fold is replaced and room given back: a reader that has LOG and LOG.fold open has two
 * that fit. */
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
#define MPR_FOLDED_NEW    ".fold.tmp"  /* the next one, and the lock */
#define MPR_FOLDED_THIN   ".fold.thin" /* what it is made from: has no name but for an instant */

/* What a FOLD frame says. */
struct mpr_mark {
    uint64_t seq;    /* the last frame that the frames behind it stand for */
    uint64_t offset; /* of the first that they do not, in LOG; 0: it follows them */
    uint64_t until;  /* CLOCK_MONOTONIC ns: the newest event that was thinned */
    uint64_t events; /* that were taken away */
    uint64_t grain;  /* ns: finer than that, nothing is told of before `until` */
};

enum mpr_folded_state {
    MPR_FOLDED_NONE,    /* there is none, or one that the log has inside */
    MPR_FOLDED_USED,    /* it stands for the log's beginning */
    MPR_FOLDED_FOREIGN, /* of another log, or another user: not read */
    MPR_FOLDED_DAMAGED, /* it does not say what it stands for */
};

struct mpr_folded {
    enum mpr_folded_state state;
    bool there; /* a file of that name, and map.st tells which; whatever it is */
    struct mpr_mark mark;
    uint64_t frames;           /* that stand for more: their numbers end at mark.seq */
    size_t mark_at, frames_at; /* in map: the FOLD frame; the first one behind it */
    struct mpr_map map;        /* open only where it is USED */
};

/* Looks for that of the log `name` in a directory (or AT_FDCWD), which is `log` with that header,
 * ending at header_end.  0, or -1 without memory. */
int mpr_folded_find(struct mpr_folded *f, int directory, const char *name,
                    const struct mpr_map *log, size_t header_end, const struct mpr_header *header);
void mpr_folded_close(struct mpr_folded *f);

/* The mark of a FOLD frame.  0 or MPF_ERR_DAMAGED. */
int mpr_mark_read(struct mpr_mark *mark, const struct mpf_frame *frame);
/* The FOLD frame of a mark in front of so many frames: its length, at most MPR_MARK_BYTES, or an
 * mpf_error. */
#define MPR_MARK_BYTES 1024
long mpr_mark_write(const struct mpr_mark *mark, uint64_t frames, uint8_t out[MPR_MARK_BYTES]);

/* Makes LOG.fold.tmp, empty, and locks it: nobody else folds LOG until it is closed.  The
 * descriptor, or -1 with *error filled. */
int mpr_folded_lock(int directory, const char *name, const char *path, struct mpr_error *error);
/* Gives it back; the file goes unless it has another name by then. */
void mpr_folded_unlock(int directory, const char *name, int lock);
/* Removes the LOG.fold.tmp that a killed process left, unless another process locks it. */
void mpr_folded_clean(int directory, const char *name);

#endif
