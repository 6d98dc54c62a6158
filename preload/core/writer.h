/* The state of one writer of frames, from taking slots to returning them.
 *
 * Each writer has one of these. It encodes its frame alone and waits for its turn to write it. All
 * functions are called with the writer's lock held, and under epoch_lock if so stated. */
#ifndef MP_WRITER_H
#define MP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/merge.h"
#include "mpf/columns.h"

#define MP_NOTES      32u /* maximum number of memprof's own events in a frame */
#define MP_NOTE_BYTES 128u
#define MP_ENDS       2000u /* maximum number of thread ends in a frame */

struct mp_note {
    uint64_t addr, size;
    uint8_t op, has_data, data[MP_NOTE_BYTES];
};

struct mp_writer {
    struct mpf_columns *columns;
    unsigned number;
    uint32_t ticket; /* frames are written in the order of their tickets */
    uint64_t seq;    /* the frame's number, if all previous frames can be written */
    uint64_t after;  /* all of its events are later */
    uint64_t noted;  /* time of the notes; they are not older than its events */
    struct mpf_clock from, to;
    int error;        /* 0, or -E... if it could not be written, */
    uint32_t lost;    /* and the number of events that are lost with it */
    bool more;        /* set if events were left when it was full */
    bool is_large;    /* set if it has memory for MP_FRAME_EVENTS */
    uint32_t chunks;  /* number of completely taken chunks */
    uint64_t touched; /* bytes of memory that the largest frame so far used */
    uint32_t notes, ends;
    struct mp_note note[MP_NOTES];
    uint32_t end[MP_ENDS]; /* numbers of the threads */
    uint8_t data[MPF_DATA_MAX + MPF_CONT_BYTES];
    struct mp_selection slots;
};

/* Returns a writer with memory for frames of this many events, or NULL. */
struct mp_writer *mp_writer_map(unsigned number, uint32_t events);
void mp_writer_unmap(struct mp_writer *w, uint32_t events);
/* Discards the previous frame. Called under epoch_lock. */
void mp_writer_begin(struct mp_writer *w, uint64_t after);
/* Takes the merged slots up to `upto`. Called under epoch_lock. */
void mp_writer_take(struct mp_writer *w, struct mp_merge *merge, uint64_t upto);
/* Encodes the frame from the taken slots. */
void mp_writer_encode(struct mp_writer *w);
/* Waits until *turn (futex) is its ticket, writes the frame, releases its slots, and increments the
 * turn. */
void mp_writer_write(struct mp_writer *w, uint32_t *turn);

#endif
