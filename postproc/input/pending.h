/* The events of a journal image that the log does not hold, merged over threads by time.
 *
 * A journal file and the body of a SLOTS frame are such images.  16 bytes of memory an event, and
 * as much again while it sorts; a journal holds a fraction of a second. */
#ifndef MPR_PENDING_H
#define MPR_PENDING_H

#include <stddef.h>
#include <stdint.h>

#include "mpf/journal.h"

struct mpr_pending {
    const uint8_t *image;
    size_t bytes;
    struct mpf_journal head;
    struct mpr_pending_chunk *chunk;
    size_t chunks;
    struct mpr_pending_event *event;
    size_t events, next, cap;
    uint64_t torn;      /* slots begun and never finished */
    uint64_t announced; /* frames that the log had when a frame was announced last, of the chunks in
                           use: a log of fewer lacks some */
};

/* Lists what a log of `frames` frames lacks.  `image` stays the caller's and must outlive *p.  0 or
 * an mpf_error. */
int mpr_pending_open(struct mpr_pending *p, const uint8_t *image, size_t bytes, uint64_t frames);
void mpr_pending_close(struct mpr_pending *p);
/* Next event in order; data of a DATA event goes to data[MPF_DATA_MAX].  1, or 0 at the end. */
int mpr_pending_next(struct mpr_pending *p, uint64_t origin, struct mpf_event *event,
                     uint8_t *data);
/* Calls `each` with the bytes of every chunk that holds such events, in no order. */
void mpr_pending_chunks(const struct mpr_pending *p, void (*each)(void *arg, const uint8_t *chunk),
                        void *arg);

#endif
