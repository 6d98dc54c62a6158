/* A log is read in these states, from FRAMES to DONE; the frames of LOG.fold are first:
 *
 *   FRAMES --SLOTS frame--> PENDING --end--> FRAMES --last frame--> JOURNAL --end--> DONE
 *
 * A followed log (mpr_log_follow) stays in FRAMES while its process runs. */
#include "log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "file.h"
#include "folded.h"
#include "frames.h"
#include "journal.h"
#include "map.h"
#include "mpf/columns.h"
#include "mpf/header.h"

#define FRAME_EVENTS_MAX (1u << 18)    /* memprof writes at most 49,152; more is damage */
#define DATA_BYTES       (64u * 1024u) /* for the data of one batch from a journal */
#define SNAPSHOTS        10            /* attempts: a busy process writes several frames a second */

enum state { STATE_FRAMES, STATE_PENDING, STATE_JOURNAL, STATE_IMPORT, STATE_DONE };

static const struct mpr_log_import *import;

void mpr_log_set_import(const struct mpr_log_import *new_import) { import = new_import; }

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
    bool reading;            /* `reader` is inside an EVENTS frame */
    bool life_known;         /* status.process is set */
    bool unlock_at_end;      /* a log that was opened with mpr_log_follow */
    bool followed;           /* its process runs, and its journal is not read */
    bool paused;             /* followed, and all frames are read for now */
    struct mpf_block *block; /* memory for `reader` */
    uint32_t block_cap;
    uint64_t newest_frame; /* CLOCK_MONOTONIC ns at which it was written */
    uint64_t kept_seq;     /* 1 + the number of the newest frame that is not SLOTS */
    uint64_t until;        /* ns; if not 0, later events of the journal are not read */
    uint64_t frame_offset; /* where the frame that is being read begins */
    uint64_t stop_after;   /* number of the last frame that is read */
    struct mpr_log_status status;
    uint8_t *data;                          /* DATA_BYTES */
    void *imported;                         /* the reading of `import`, or NULL */
    struct mpf_event batch[MPR_BATCH], *to; /* to: the batch that is being filled */
};

static int fail_truncated(const struct mpr_log *log, struct mpr_error *error)
{
    return mpr_fail(error, "%s: truncated while it was read; try again", log->path);
}

/* Copies to the status what is known about the frames read so far. */
static void update_status(struct mpr_log *log)
{
    const struct mpr_frames *f = &log->frames;
    struct mpr_log_status *s = &log->status;
    if (s->bad_offset == MPR_NO_OFFSET && f->bad_offset != MPR_NO_OFFSET) s->good_ns = s->last_ns;
    s->frames = f->good;
    s->damaged = f->damaged;
    s->missing_frames = f->missing;
    s->bad_offset = f->bad_offset;
    if (f->hole && s->fold.state == MPR_LOG_WHOLE) s->fold.state = MPR_LOG_FOLD_MISSING;
    if (f->hole && s->fold.state == MPR_LOG_FOLDED) s->fold.state = MPR_LOG_FOLD_OUTDATED;
    s->cut = f->cut;
    s->cut_offset = f->cut_offset;
    s->major = f->major;
    s->minor = f->minor;
}

/* The process ran at least until this CLOCK_MONOTONIC time. */
static void note_life_sign(struct mpr_log *log, uint64_t mono)
{
    const uint64_t start = log->header.start.mono;
    if (mono > start && mono - start > log->status.end_ns) log->status.end_ns = mono - start;
}

/* ---- frames */

static int open_events(struct mpr_log *log, const struct mpf_frame *frame)
{
    const long events = mpf_columns_events(frame->body, frame->body_bytes);
    if (events < 0 || events > FRAME_EVENTS_MAX) return MPF_ERR_DAMAGED;
    if ((uint32_t)events > log->block_cap) {
        struct mpf_block *larger = realloc(log->block, (size_t)events * sizeof *larger);
        if (!larger) return MPF_ERR_SPACE;
        log->block = larger;
        log->block_cap = (uint32_t)events;
    }
    const int error = mpf_columns_open(&log->reader, frame->body, frame->body_bytes,
                                       log->header.start.mono, log->block, log->block_cap);
    log->reading = !error;
    if (error) return error;
    if (!log->status.has_header && !log->header.start.mono) {
        /* Without a header, times count from the first event. */
        log->header.start = log->reader.from;
        log->reader.origin = log->reader.from.mono;
    }
    log->newest_frame = mpr_frame_time(frame);
    note_life_sign(log, log->newest_frame);
    return 0;
}

static void read_end(struct mpr_log *log, const struct mpf_frame *frame)
{
    struct mpr_log_status *s = &log->status;
    const struct mpr_pair_number number[] = { { "lost", &s->lost },
                                              { "hwm", &s->hwm },
                                              { "unwritten.errno", &s->unwritten.error },
                                              { "unwritten.from", &s->unwritten.from },
                                              { "unwritten.to", &s->unwritten.to },
                                              { "unwritten.events", &s->unwritten.events } };
    const char *at = (const char *)frame->body, *const end = at + frame->body_bytes, *key, *value;
    s->ended = true;
    mpr_pairs_read_numbers(frame->body, frame->body_bytes, number, sizeof number / sizeof *number);
    while (mpf_pairs_next(&at, end, &key, &value) == 1)
        if (strcmp(key, "reason") == 0) s->end = mpf_end_named(value);
}

/* Copies the losses from the head of a journal, or of a SLOTS frame.
 *
 * If the process has ended and the journal knows more frames than the log has, the log has lost
 * them: it was cut between two frames, or only its LOG.fold is left. */
static void note_journal(struct mpr_log *log, size_t bytes)
{
    const struct mpf_journal *head = &log->pending.head;
    struct mpr_frames *f = &log->frames;
    log->status.has_journal = true;
    log->status.journal_bytes += bytes;
    log->status.lost = head->lost;
    log->status.unwritten = head->unwritten;
    note_life_sign(log, head->beat);
    if (log->pending.log_frames <= log->kept_seq || log->status.process.life == MPR_LIFE_RUNS)
        return;
    if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = f->at;
    f->missing += log->pending.log_frames - log->kept_seq;
    update_status(log);
}

static int read_header(struct mpr_log *log, const struct mpf_frame *frame)
{
    if (log->status.has_header) return 0;
    const struct mpf_clock guessed = log->header.start;
    const int error = mpr_header_read(&log->header, frame->body, frame->body_bytes);
    log->status.has_header = !error;
    if (error) log->header.start = guessed;
    log->newest_frame = log->header.start.mono;
    return error;
}

static void read_mark(struct mpr_log *log, const struct mpf_frame *frame)
{
    const uint64_t start = log->header.start.mono;
    struct mpr_log_fold *fold = &log->status.fold;
    struct mpr_mark mark;
    if (mpr_mark_read(&mark, frame) != 0) return;
    fold->state = MPR_LOG_FOLDED;
    fold->until_ns = mark.until > start ? mark.until - start : 0;
    fold->events = mark.events;
    fold->grain_ns = mark.grain;
}

static int open_frame(struct mpr_log *log, const struct mpf_frame *frame)
{
    int error;
    log->status.ended = false;
    if (frame->kind != MPF_FRAME_SLOTS) log->kept_seq = log->frames.next_seq;
    switch (frame->kind) {
    case MPF_FRAME_HEADER: return read_header(log, frame);
    case MPF_FRAME_SLOTS:
        error = mpr_pending_open(&log->pending, frame->body, frame->body_bytes, log->kept_seq);
        if (error) return error;
        log->state = STATE_PENDING;
        note_journal(log, frame->body_bytes);
        return 0;
    case MPF_FRAME_EVENTS: return open_events(log, frame);
    case MPF_FRAME_END: read_end(log, frame); return 0;
    case MPF_FRAME_FOLD: read_mark(log, frame); return 0;
    default: return 0; /* a newer minor version's */
    }
}

static int fail_code(const struct mpr_log *log, int code, struct mpr_error *error)
{
    if (code == MPF_ERR_VERSION) {
        return mpr_fail(
            error,
            "%s: offset %zu: written by a newer memprof (this one reads format %d); use its memprof-report",
            log->path, log->frames.at, MPF_MAJOR);
    }
    return mpr_fail_memory(error, log->path);
}

/* Opens the next frame.  The frames of LOG follow those of LOG.fold.  Returns 1, 0 after the last
 * one, or -1. */
static int next_frame(struct mpr_log *log, struct mpr_error *error)
{
    struct mpf_frame frame;
    int got = mpr_frames_next(&log->frames, &frame);
    if (got == 0 && log->read_from != &log->map) {
        mpr_frames_continue(&log->frames, &log->map, log->folded.mark.offset);
        log->read_from = &log->map;
        log->frame_offset = log->frames.at;
        got = mpr_frames_next(&log->frames, &frame);
    }
    update_status(log);
    if (got < 0) return fail_code(log, got, error);
    if (got == 0) return 0;
    if (frame.seq > log->stop_after) {
        log->state = STATE_DONE;
        return 1;
    }
    mpr_map_drop(log->read_from, log->frames.at);
    const int status = open_frame(log, &frame);
    if (status == MPF_ERR_SPACE) return fail_code(log, status, error);
    if (status) mpr_frames_reject(&log->frames, log->frame_offset);
    log->frame_offset = log->frames.at;
    update_status(log);
    return 1;
}

/* Each frame has its own clock, so one may begin a little before the previous one ended.  Readers
 * rely on times that never go back, because they compute differences. */
static void keep_order(struct mpr_log *log, long count)
{
    uint64_t newest = log->status.last_ns;
    for (long i = 0; i < count; i++) {
        struct mpf_event *event = &log->to[i];
        if (event->time < newest) event->time = newest;
        newest = event->time;
    }
}

/* ---- the journal */

static long read_pending(struct mpr_log *log)
{
    long count = 0;
    size_t used = 0;
    while (count < MPR_BATCH && DATA_BYTES - used >= MPF_DATA_MAX) {
        struct mpf_event *event = &log->to[count];
        if (!mpr_pending_next(&log->pending, log->header.start.mono, event, log->data + used))
            break;
        if (log->until && event->time > log->until) {
            log->pending.next = log->pending.events;
            break;
        }
        if (event->data == log->data + used) used += event->size;
        count++;
    }
    keep_order(log, count);
    log->status.journal_events += (uint64_t)count;
    return count;
}

/* Finds out whether the process runs.  This must be done before the file is mapped for reading: if
 * the process has ended by then, the file does not change any more. */
static void find_life(struct mpr_log *log)
{
    if (!log->journal.image) mpr_journal_find(&log->journal, log->path, &log->map.st, &log->header);
    log->status.process = mpr_life_find(&log->header, &log->journal);
    log->life_known = true;
}

/* Returns true if the process may still write to the log.  A copy never grows.  The answer is not
 * kept, because it may be another one later. */
static bool may_grow(struct mpr_log *log)
{
    find_life(log);
    const bool copied = mpr_life_is_copy(&log->journal, &log->map.st);
    mpr_journal_free(&log->journal);
    log->life_known = false;
    return !copied && log->status.process.life != MPR_LIFE_ENDED;
}

/* Continues with the journal if the log has no END.  With END, the process has ended as far as this
 * log is concerned; after an exec it continues in another log. */
static int open_journal(struct mpr_log *log, struct mpr_error *error)
{
    log->state = STATE_DONE;
    if (log->status.ended) {
        log->status.process = (struct mpr_life_verdict){ .life = MPR_LIFE_ENDED };
        return 0;
    }
    if (!log->life_known) find_life(log);
    if (log->journal.no_memory) return mpr_fail_memory(error, log->path);
    if (!log->journal.image) return 0;
    const int status =
        mpr_pending_open(&log->pending, log->journal.image, log->journal.bytes, log->kept_seq);
    if (status == MPF_ERR_SPACE) return fail_code(log, status, error);
    if (status) return 0;
    log->state = STATE_JOURNAL;
    log->status.journal_bytes = 0;
    note_journal(log, log->journal.bytes);
    return 0;
}

/* Completes the status from the run's record, which has the exit status and the end of a process
 * that wrote no END. */
static void find_end(struct mpr_log *log)
{
    struct mpr_log_status *s = &log->status;
    if (log->imported) {
        s->end_ns = s->last_ns;
        return;
    }
    const bool wrote_end = s->ended && s->end != MPF_END_RECOVERED,
               exited = wrote_end && s->end == MPF_END_EXIT;
    struct mpr_run_end run = { .known = false };
    if ((exited || !wrote_end) && s->process.life != MPR_LIFE_RUNS)
        run = mpr_run_find(log->path, &log->header);
    if (!wrote_end) s->run = run;
    s->copied =
        !s->ended && mpr_life_copy_may_miss(&(struct mpr_copied){ .journal = &log->journal,
                                                                  .log = &log->map.st,
                                                                  .log_fd = log->map.fd,
                                                                  .newest_frame = log->newest_frame,
                                                                  .life = s->process.life,
                                                                  .end = run });
    s->exit_status_known = exited && run.how == MPR_RUN_EXIT;
    s->exit_status = run.status;
    if (s->run.known) note_life_sign(log, s->run.mono);
    if (s->last_ns > s->end_ns) s->end_ns = s->last_ns;
}

/* ---- the stream */

/* Reads events, or goes to the next frame or state.  Returns the number of events, which may be 0,
 * or -1 with *error filled. */
static long step(struct mpr_log *log, struct mpr_error *error)
{
    long count;
    switch (log->state) {
    case STATE_FRAMES:
        if (log->reading) {
            count = mpf_columns_next(&log->reader, log->to, MPR_BATCH);
            if (count <= 0) log->reading = false;
            keep_order(log, count);
            if (count >= 0) return count;
            mpr_frames_reject(&log->frames, log->frame_offset);
            update_status(log);
            return 0;
        }
        count = next_frame(log, error);
        if (count != 0) return count < 0 ? -1 : 0;
        if (log->followed && !log->status.ended) {
            log->paused = true;
            mpr_file_unlock(log->map.fd);
            return 0;
        }
        return open_journal(log, error);
    case STATE_PENDING:
    case STATE_JOURNAL:
        count = read_pending(log);
        if (count > 0) return count;
        log->state = log->state == STATE_PENDING ? STATE_FRAMES : STATE_DONE;
        /* Slots that a running process is writing now are not torn. */
        if (log->status.process.life != MPR_LIFE_RUNS) log->status.torn += log->pending.torn;
        mpr_pending_close(&log->pending);
        return 0;
    case STATE_IMPORT:
        count = import->read(log->imported, log->to);
        if (count == 0) log->state = STATE_DONE;
        return count;
    case STATE_DONE: break;
    }
    return 0;
}

long mpr_log_read(struct mpr_log *log, struct mpf_event events[MPR_BATCH], struct mpr_error *error)
{
    log->to = events;
    while (log->state != STATE_DONE && !log->paused) {
        const long count = step(log, error);
        if (log->map.changed || log->folded.map.changed) return fail_truncated(log, error);
        if (count < 0) return -1;
        if (count == 0) continue;
        log->status.events += (uint64_t)count;
        log->status.last_ns = events[count - 1].time;
        return count;
    }
    if (log->paused) return 0;
    if (log->unlock_at_end) mpr_file_unlock(log->map.fd);
    if (log->status.bad_offset == MPR_NO_OFFSET) log->status.good_ns = log->status.last_ns;
    find_end(log);
    return 0;
}

long mpr_log_next(struct mpr_log *log, const struct mpf_event **events, struct mpr_error *error)
{
    *events = log->batch;
    return mpr_log_read(log, log->batch, error);
}

/* ---- a log that grows */

/* Only a running process makes the log grow; if it has not grown, look for the process. */
int mpr_log_more(struct mpr_log *log, struct mpr_error *error)
{
    struct stat st;
    if (!log->paused) return MPR_LOG_ENDED;
    if (stat(log->path, &st) != 0) return mpr_fail_errno(error, log->path, "examine");
    if (!mpr_file_same(&st, &log->map.st)) return MPR_LOG_REPLACED;
    if (st.st_size <= log->map.st.st_size) {
        log->followed = may_grow(log);
        if (log->followed) return MPR_LOG_MORE;
    }
    mpr_file_lock_shared(log->map.fd);
    if (mpr_map_grow(&log->map, log->path, error) != 0) return -1;
    log->paused = false;
    log->status.bytes = mpr_log_position(log) + log->map.size - log->frames.at;
    mpr_frames_grow(&log->frames, &log->map);
    return MPR_LOG_MORE;
}

/* ---- opening */

static int map_again(struct mpr_log *log, uint64_t bytes, struct mpr_error *error)
{
    const off_t old_size = log->map.st.st_size;
    mpr_map_close(&log->map);
    if (mpr_map_open(&log->map, log->path, error) != 0) return -1;
    if (log->map.st.st_size < old_size) return fail_truncated(log, error);
    if (bytes < log->map.size) log->map.size = (size_t)bytes;
    log->status.bytes = log->map.size;
    mpr_frames_continue(&log->frames, &log->map, log->frames.at);
    return 0;
}

/* A running process moves events from its journal to its log, so the journal is copied between two
 * frames of the log.
 *
 * Its threads record more events during the copy, so the copy has the events of all threads only up
 * to the time at which it began: `until`.  Before its first frame a journal does not know the
 * length of a tick, so all its events are read, which are few. */
static int take_snapshot(struct mpr_log *log, struct mpr_error *error)
{
    const struct mpf_journal *head = &log->journal.head;
    const uint64_t start = log->header.start.mono;
    struct stat before, after;
    for (int attempt = 0; attempt < SNAPSHOTS; attempt++) {
        struct timespec now;
        if (stat(log->path, &before) != 0) return mpr_fail_errno(error, log->path, "examine");
        clock_gettime(CLOCK_MONOTONIC, &now);
        mpr_journal_free(&log->journal);
        mpr_journal_find(&log->journal, log->path, &before, &log->header);
        const uint64_t began = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        const bool limited = log->journal.image && mpr_life_same_clock(&log->header.identity) &&
                             head->last.ticks > head->start.ticks && began > start;
        log->until = limited ? began - start : 0;
        if (stat(log->path, &after) == 0 && before.st_size == after.st_size) break;
    }
    return map_again(log, (uint64_t)before.st_size, error);
}

/* Maps the part of the log that will be read.  A log whose journal is gone is usually complete:
 * whether its process runs is looked up later, and only if it has no END. */
static int map_final(struct mpr_log *log, struct mpr_error *error)
{
    log->followed = log->followed && may_grow(log);
    if (log->followed) return map_again(log, UINT64_MAX, error);
    if (mpr_journal_find(&log->journal, log->path, &log->map.st, &log->header) ||
        !mpr_header_get(&log->header, "journal"))
        find_life(log);
    const bool ended = log->life_known && log->status.process.life == MPR_LIFE_ENDED;
    const int result = ended ? map_again(log, UINT64_MAX, error) : take_snapshot(log, error);
    if (result != 0) return -1;
    return log->journal.no_memory ? mpr_fail_memory(error, log->path) : 0;
}

/* Continues in LOG.fold if the log's beginning was thinned.  The path may be a link; LOG.fold is
 * next to the file itself. */
static int open_fold(struct mpr_log *log, struct mpr_error *error)
{
    static const enum mpr_log_folded unused[] = {
        [MPR_FOLDED_FOREIGN] = MPR_LOG_FOLD_FOREIGN, [MPR_FOLDED_DAMAGED] = MPR_LOG_FOLD_DAMAGED
    };
    struct mpr_folded *f = &log->folded;
    char path[PATH_MAX];
    if (!log->status.has_header) return 0;
    if (!realpath(log->path, path)) snprintf(path, sizeof path, "%s", log->path);
    if (mpr_folded_find(f, AT_FDCWD, path, &log->map, log->frames.at, &log->header) != 0)
        return mpr_fail_memory(error, log->path);
    if (f->state != MPR_FOLDED_USED) {
        log->status.fold.state = unused[f->state];
        return 0;
    }
    mpr_frames_continue(&log->frames, &f->map, f->mark_at);
    log->read_from = &f->map;
    log->frame_offset = log->frames.at;
    log->status.fold.bytes = f->map.size;
    log->status.bytes =
        f->map.size + (log->map.size > f->mark.offset ? log->map.size - f->mark.offset : 0);
    return 0;
}

/* Opens a log.  Without any readable frame it is not a log. */
static int open_frames(struct mpr_log *log, struct mpr_error *error)
{
    if (mpr_frames_open(&log->frames, &log->map) != 0) return mpr_fail_memory(error, log->path);
    const int got = next_frame(log, error);
    if (log->map.changed) return fail_truncated(log, error);
    if (got < 0) return -1;
    if (got == 0)
        return mpr_fail(error, "%s: not a memprof log (%s); give a file that memprof wrote",
                        log->path,
                        log->map.size ? "offset 0: no readable frame" : "the file is empty");
    if (log->reading) return 0;
    return map_final(log, error) != 0 ? -1 : open_fold(log, error);
}

/* The file is complete, but how its process ended is not in it. */
static int open_import(struct mpr_log *log, struct mpr_error *error)
{
    struct mpr_log_status *s = &log->status;
    const uint8_t *header;
    size_t bytes;
    log->imported = import->open(log->path, &log->map.st, &header, &bytes, error);
    if (!log->imported) return -1;
    if (mpr_header_read(&log->header, header, bytes) != 0) return mpr_fail_memory(error, log->path);
    s->has_header = s->ended = true;
    s->end = MPF_END_OTHER;
    s->process.life = MPR_LIFE_ENDED;
    s->major = MPF_MAJOR;
    s->minor = MPF_MINOR;
    log->state = STATE_IMPORT;
    return 0;
}

static int open_file(struct mpr_log *log, struct mpr_error *error)
{
    const struct mpr_map *map = &log->map;
    if (mpr_map_open(&log->map, log->path, error) != 0) {
        char fold[PATH_MAX];
        const int length = snprintf(fold, sizeof fold, "%s" MPR_FOLDED_SUFFIX, log->path);
        struct stat st;
        if (stat(log->path, &st) == 0 || length >= PATH_MAX || stat(fold, &st) != 0) return -1;
        return mpr_fail(
            error,
            "%s: this file, the newest part of the log, does not exist; give %s to see the older part",
            log->path, fold);
    }
    log->status.bytes = map->size;
    if (import && import->recognizes(map->data, map->size)) return open_import(log, error);
    const bool is_journal =
        map->size >= sizeof(struct mpf_journal) && memcmp(map->data, MPF_JOURNAL_MAGIC, 8) == 0;
    if (!is_journal) return open_frames(log, error);
    const bool good = mpr_journal_load(&log->journal, log->path);
    if (log->journal.no_memory) return mpr_fail_memory(error, log->path);
    if (!good)
        return mpr_fail(error, "%s: offset 0: damaged journal; nothing can be read", log->path);
    if (mpr_header_from_journal(&log->header, &log->journal.head) != 0)
        return mpr_fail_memory(error, log->path);
    log->status.journal_only = true;
    return open_journal(log, error);
}

static int open_log(struct mpr_log **out, const char *path, bool followed, struct mpr_error *error)
{
    struct mpr_log *log = calloc(1, sizeof *log);
    if (!log) return mpr_fail_memory(error, path);
    log->status.bad_offset = MPR_NO_OFFSET;
    log->journal.fd = log->map.fd = log->folded.map.fd = -1;
    log->read_from = &log->map;
    log->stop_after = UINT64_MAX;
    log->unlock_at_end = log->followed = followed;
    log->path = strdup(path);
    log->data = malloc(DATA_BYTES);
    const int result =
        log->path && log->data ? open_file(log, error) : mpr_fail_memory(error, path);
    if (result != 0) {
        mpr_log_close(log);
        return -1;
    }
    *out = log;
    return 0;
}

int mpr_log_open(struct mpr_log **log, const char *path, struct mpr_error *error)
{
    return open_log(log, path, false, error);
}

int mpr_log_follow(struct mpr_log **log, const char *path, struct mpr_error *error)
{
    return open_log(log, path, true, error);
}

void mpr_log_close(struct mpr_log *log)
{
    if (!log) return;
    if (log->imported) import->close(log->imported);
    mpr_pending_close(&log->pending);
    mpr_journal_free(&log->journal);
    mpr_header_free(&log->header);
    mpr_frames_close(&log->frames);
    mpr_folded_close(&log->folded);
    mpr_map_close(&log->map);
    free(log->block);
    free(log->data);
    free(log->path);
    free(log);
}

/* ---- the log's state */

const struct mpr_header *mpr_log_header(const struct mpr_log *log) { return &log->header; }

const struct mpr_log_status *mpr_log_status(const struct mpr_log *log) { return &log->status; }

uint64_t mpr_log_position(const struct mpr_log *log)
{
    const struct mpr_folded *f = &log->folded;
    const bool after_fold = f->state == MPR_FOLDED_USED && log->read_from == &log->map;
    return after_fold ? f->map.size + log->frames.at - f->mark.offset : log->frames.at;
}

void mpr_log_stop_after(struct mpr_log *log, uint64_t seq) { log->stop_after = seq; }

bool mpr_log_incomplete(const struct mpr_log_status *s)
{
    const bool has_end = s->ended || s->has_journal;
    return !has_end || s->copied || s->journal_only || s->damaged || s->missing_frames ||
           !s->has_header;
}
