/* A log that is read: what log.c, which reads it on, and log_open.c share.  Private to them. */
#ifndef MPR_LOG_PARTS_H
#define MPR_LOG_PARTS_H

#include "folded.h"
#include "frames.h"
#include "journal.h"
#include "log.h"
#include "map.h"
#include "mpf/columns.h"
#include "pending.h"

#define MPR_LOG_DATA_BYTES (64u * 1024) /* of one batch out of a journal */

enum state { STATE_FRAMES, STATE_PENDING, STATE_JOURNAL, STATE_DONE };

struct mpr_log {
    char *path;
    enum state state;
    struct mpr_map map;
    struct mpr_folded folded;
    struct mpr_map *read_from; /* the map that frames come from: one of these two */
    struct mpr_frames frames;
    struct mpr_header header;
    struct mpr_journal journal;
    struct mpr_pending pending;
    struct mpf_columns_reader reader;
    bool reading;            /* `reader` is inside a frame */
    bool asked;              /* whether its process lives: status.process */
    bool lent;               /* to who follows it: it is shared while it is read, and no longer */
    bool followed;           /* its process runs, and its journal is left to it */
    bool paused;             /* followed, and no frame is left for now */
    struct mpf_block *block; /* the reader's scratch */
    uint32_t block_cap;
    uint64_t newest_frame; /* CLOCK_MONOTONIC ns at which it was made */
    uint64_t kept_seq;     /* frames of events that the log holds, for slots in a journal */
    uint64_t until;        /* ns: what a running process stored later is not read; 0: all is */
    uint64_t frame_offset;
    uint64_t stop_after; /* the last frame that is read */
    struct mpr_log_status status;
    uint8_t *data;                          /* MPR_LOG_DATA_BYTES */
    struct mpf_event batch[MPR_BATCH], *to; /* to: the batch that is being read */
};

/* The next frame is opened: 1; 0: there is none; -1 with *error. */
int mpr_log_next_frame(struct mpr_log *log, struct mpr_error *error);
/* After the last frame: joins the journal when the log has no end. */
int mpr_log_join_journal(struct mpr_log *log, struct mpr_error *error);
/* Does its process live?  Before the bytes are taken that are read: what has ended by then changes
 * no more. */
void mpr_log_ask(struct mpr_log *log);
/* Asks, and forgets the answer.  A copy never grows. */
bool mpr_log_may_grow(struct mpr_log *log);
/* -1: it was cut while it was read. */
int mpr_log_truncated(const struct mpr_log *log, struct mpr_error *error);

#endif
