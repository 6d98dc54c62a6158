/* Reads a log as one stream of events in order of time: the events of its frames, then those that
 * only its journal has.
 *
 * In memory are one frame and the pending events of the journal.  Only one thread at a time may use
 * a log. */
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

struct stat;

#define MPR_BATCH 1024 /* maximum of events in one batch */

/* Whether the beginning of the log was thinned (folded.h). */
struct mpr_log_fold {
    enum mpr_log_folded {
        MPR_LOG_WHOLE,         /* the log is as it was written */
        MPR_LOG_FOLDED,        /* thinned: the other members describe how */
        MPR_LOG_FOLD_MISSING,  /* thinned, but LOG.fold is missing */
        MPR_LOG_FOLD_OUTDATED, /* LOG.fold is older than the log: events between them are missing */
        MPR_LOG_FOLD_FOREIGN,  /* LOG.fold belongs to another log or user, and was not read */
        MPR_LOG_FOLD_DAMAGED,  /* LOG.fold is damaged, and was not read */
    } state;
    uint64_t until_ns; /* thinned up to this time */
    uint64_t events;   /* removed events */
    uint64_t grain_ns; /* the resolution before until_ns */
    uint64_t bytes;    /* of LOG.fold, or 0 if the thinned part is in the log itself */
};

/* The state of the log; final when mpr_log_next has returned 0.  Times are ns since the log began.
 * END is its last frame, which is written when the process ends. */
struct mpr_log_status {
    bool ended;                      /* the log has END */
    struct mpr_life_verdict process; /* whether the process runs; ENDED for a log with END, although
                                        the process may continue in another log */
    bool cut;                        /* the log ends inside a frame, at cut_offset */
    bool has_journal;                /* its journal was read, or it contains recovered slots */
    bool copied;       /* a copy, and its process may have recorded more after it was made */
    bool journal_only; /* a journal without its log: older events are missing */
    bool has_header;
    struct mpr_log_fold fold;
    uint64_t bytes;          /* to read: the file, or LOG.fold and the rest of the file */
    uint64_t frames;         /* read so far */
    uint64_t damaged;        /* places with damaged bytes, which were skipped */
    uint64_t missing_frames; /* frames that must have existed, according to the frames' numbers */
    uint64_t bad_offset;     /* offset of the first damage or missing frame, or UINT64_MAX */
    uint64_t cut_offset;
    uint64_t good_ns;        /* the log is complete up to this time */
    uint64_t events;         /* read so far */
    uint64_t journal_events; /* read from the journal */
    uint64_t lost;           /* all lost events, from END or the journal; LOST events report most */
    uint64_t torn;           /* events that were being written when the process died */
    uint64_t journal_bytes;  /* read from the journal */
    uint64_t last_ns;        /* time of the newest event */
    uint64_t end_ns;         /* the last sign of life: an event, a frame, a beat of the journal, or
                                the end in the run's record */
    struct mpf_unwritten unwritten; /* from END or the journal: a loss that no event reports; events
                                       is 0 without one */
    uint64_t hwm;                   /* maximum of resident bytes from END, or 0 if unknown */
    struct mpr_run_end run;         /* how the process ended, if END does not say it */
    bool exit_status_known;         /* END says "exit", and the run's record has the status */
    int exit_status;
    uint8_t major, minor; /* of the format */
    enum mpf_end end;     /* the reason in END; MPF_END_NONE without END */
};

struct mpr_log;

/* Opens a log, or a journal without its log.  Returns 0, or -1 with *error filled. */
int mpr_log_open(struct mpr_log **log, const char *path, struct mpr_error *error);
void mpr_log_close(struct mpr_log *log);
/* Opens a log that may grow while it is read.  While its process runs, only the frames are read,
 * and not the journal with the events of the last tenth of a second.  After the last frame
 * mpr_log_next returns 0, and mpr_log_more says whether to continue; between the two, other
 * processes may change the file (file.h).  After the process has ended the log is read to its end
 * like any other. */
int mpr_log_follow(struct mpr_log **log, const char *path, struct mpr_error *error);
/* Returns MPR_LOG_MORE if there may be more to read now, MPR_LOG_ENDED if the log has ended or is
 * not followed, MPR_LOG_REPLACED if another file has its name, which must be opened instead, or -1
 * with *error filled. */
enum { MPR_LOG_ENDED, MPR_LOG_MORE, MPR_LOG_REPLACED };
int mpr_log_more(struct mpr_log *log, struct mpr_error *error);
/* Makes the log end after the frame with this number; its journal is not read either. */
void mpr_log_stop_after(struct mpr_log *log, uint64_t seq);
/* Reads the next events.  *events and their data are valid until the next call.  Returns their
 * number, 0 at the end, or -1 with *error filled (a newer format, no memory). */
long mpr_log_next(struct mpr_log *log, const struct mpf_event **events, struct mpr_error *error);
/* Does the same with an array of the caller's.  The data of the events is valid until the next
 * call. */
long mpr_log_read(struct mpr_log *log, struct mpf_event events[MPR_BATCH], struct mpr_error *error);
const struct mpr_header *mpr_log_header(const struct mpr_log *log);
const struct mpr_log_status *mpr_log_status(const struct mpr_log *log);
/* Returns the bytes read so far, of status->bytes. */
uint64_t mpr_log_position(const struct mpr_log *log);
/* Returns true if events are missing because of damage, a copy, or an end that no journal
 * completes.  Losses that LOST events report do not count. */
bool mpr_log_incomplete(const struct mpr_log_status *status);

/* ---- files of other programs
 *
 * A file that memprof did not write can be opened as a log if its events can be made from it. */
struct mpr_log_import {
    bool (*recognizes)(const uint8_t *data, size_t bytes);
    /* Returns a reading, or NULL with *error filled.
     * @header: the pairs of a HEADER frame (FORMAT.md), valid until the reading is closed */
    void *(*open)(const char *path, const struct stat *st, const uint8_t **header, size_t *bytes,
                  struct mpr_error *error);
    /* Makes up to MPR_BATCH events in order of time.  Returns their number, 0 at the end.  Their
     * data is valid until the next call. */
    long (*read)(void *reading, struct mpf_event *events);
    void (*close)(void *reading);
};
/* Sets the kind of file that mpr_log_open also opens.  The structure must stay valid. */
void mpr_log_set_import(const struct mpr_log_import *import);

/* ---- decoding ahead
 *
 * A thread decodes the log some batches ahead of its reader, because decoding takes a third of the
 * time of a report.  With only one processor, or for a short log, no thread is started.
 *
 * From start to stop other code may read only the header of the log, and those parts of its status
 * that were final before the events at hand. */

struct mpr_ahead;

/* Returns NULL if memory runs out; mpr_ahead_next then reports it. */
struct mpr_ahead *mpr_ahead_start(struct mpr_log *log);
/* Does the same as mpr_log_next.  *position: mpr_log_position after these events. */
long mpr_ahead_next(struct mpr_ahead *ahead, const struct mpf_event **events, uint64_t *position,
                    struct mpr_error *error);
/* The log may have been read further than the events that were returned. */
void mpr_ahead_stop(struct mpr_ahead *ahead);

#endif
