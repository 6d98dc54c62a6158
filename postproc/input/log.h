/* A log as one stream of events in time order: its frames, then what its journal still holds.
 *
 * Memory: one frame, and the pending events of a journal.  One thread. */
#ifndef MPR_LOG_H
#define MPR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "header.h"
#include "life.h"
#include "mpf/end.h"
#include "mpf/event.h"
#include "run.h"

#define MPR_BATCH 1024 /* events in one batch at most */

/* What became of the log's beginning. */
struct mpr_log_fold {
    enum mpr_log_folded {
        MPR_LOG_WHOLE,   /* it is as it was written */
        MPR_LOG_FOLDED,  /* thinned: the rest says how */
        MPR_LOG_LACKS,   /* it was folded, and there is no LOG.fold beside the log */
        MPR_LOG_OLDER,   /* LOG.fold is older than the log: what lies between them is missing */
        MPR_LOG_FOREIGN, /* LOG.fold is of another log or another user, and was not read */
        MPR_LOG_DAMAGED, /* LOG.fold does not say what it stands for, and was not read */
    } state;
    uint64_t until_ns; /* thinned up to this time */
    uint64_t events;   /* that were taken away */
    uint64_t grain_ns; /* finer than that nothing is told of before */
    uint64_t bytes;    /* of LOG.fold; 0: it is in the log */
};

/* What is known of the log's state; final once mpr_log_next has returned 0. */
struct mpr_log_status {
    bool ended;                 /* an END frame is its last frame */
    struct mpr_verdict process; /* does its process live?  Where the log has ended it goes on, if at
                                   all, in another one */
    bool cut;                   /* it ends inside a frame, at cut_offset */
    bool has_journal;           /* joined with its journal, or holds recovered slots */
    bool copied;       /* a copy, and its process may have recorded more after it was made */
    bool journal_only; /* a journal whose log is not there: older events are missing */
    bool has_header;
    struct mpr_log_fold fold;
    uint64_t bytes;   /* to be read: of the file, or of its fold and of what that does not stand for
                       */
    uint64_t frames;  /* read */
    uint64_t damaged; /* stretches of damage that were skipped */
    uint64_t missing_frames; /* that the frames' numbers say were there */
    uint64_t bad_offset;     /* of the first damage or hole; UINT64_MAX: none */
    uint64_t cut_offset;
    uint64_t good_ns;        /* the log is whole up to this time */
    uint64_t events;         /* delivered */
    uint64_t journal_events; /* of them out of the journal */
    uint64_t lost; /* what END or the journal says was lost in all; LOST events tell of most of it
                    */
    uint64_t torn; /* events that were being written when the process died */
    uint64_t journal_bytes; /* of the image that was joined */
    uint64_t last_ns;       /* time of the newest event */
    uint64_t end_ns; /* of the last sign of life: an event, a frame, a beat of the journal, what the
                        run's record says */
    struct mpf_unwritten unwritten; /* of END or the journal's head: what no event tells of; events
                                       0: nothing */
    uint64_t hwm;                   /* high-water resident bytes as END says; 0: not known */
    struct mpr_run_end run;         /* how a process ended of which END says nothing */
    bool status_told;               /* END says "exit", and the run's record with what status: */
    int exit_status;
    uint8_t major, minor; /* of the format */
    enum mpf_end end;     /* the reason in END; MPF_END_NONE without END */
};

struct mpr_log;

/* Opens a log, or a journal whose log is gone.  0, or -1 with *error filled. */
int mpr_log_open(struct mpr_log **log, const char *path, struct mpr_error *error);
void mpr_log_close(struct mpr_log *log);
/* Opens a log that may grow while it is read.  Of one whose process runs the frames alone are read,
 * which are up to a tenth of a second behind it: where there is none for now mpr_log_next returns
 * 0, and mpr_log_more says whether to go on.  Once the process has ended all of the log is read as
 * of any other.  In between the file is shared with nobody (file.h). */
int mpr_log_follow(struct mpr_log **log, const char *path, struct mpr_error *error);
/* 1: there may be more by now; 0: the log has ended, or it is not followed; 2: another file has its
 * name, which is to be opened instead; -1 with *error filled. */
enum { MPR_LOG_ENDED, MPR_LOG_MORE, MPR_LOG_REPLACED };
int mpr_log_more(struct mpr_log *log, struct mpr_error *error);
/* Ends behind the frame of that number: nothing of later ones, nor of a journal. */
void mpr_log_stop_after(struct mpr_log *log, uint64_t seq);
/* Next events; *events is valid until the next call, and so is their data.  Their number, 0 at the
 * end, -1 with *error filled (a newer format, no memory). */
long mpr_log_next(struct mpr_log *log, const struct mpf_event **events, struct mpr_error *error);
/* The same into a batch of the caller's; their data is the log's, and valid until the next call. */
long mpr_log_read(struct mpr_log *log, struct mpf_event events[MPR_BATCH], struct mpr_error *error);
const struct mpr_header *mpr_log_header(const struct mpr_log *log);
const struct mpr_log_status *mpr_log_status(const struct mpr_log *log);
/* For progress: bytes read so far, of status->bytes. */
uint64_t mpr_log_position(const struct mpr_log *log);
/* True when events are missing: damage, a cut or a missing end that no journal makes good.  LOST
 * events are counted by who reads the events. */
bool mpr_log_incomplete(const struct mpr_log_status *status);

#endif
