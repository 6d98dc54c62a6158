/* States: FRAMES (reader open: inside an EVENTS frame; first those of LOG.fold, if there is one) ->
 * JOURNAL -> DONE; PENDING interrupts FRAMES for a SLOTS frame.  A log that is followed pauses in
 * FRAMES as long as its process runs.
 *
 *   FRAMES --SLOTS frame--> PENDING --end--> FRAMES --last frame--> JOURNAL --end--> DONE */
#include "log_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy.h"
#include "file.h"
#include "mpf/header.h"

/* A frame of more events is damage: a writer's have 49,152 */
#define FRAME_EVENTS_MAX (1u << 18)

static void sync_status(struct mpr_log *log)
{
    const struct mpr_frames *f = &log->frames;
    struct mpr_log_status *s = &log->status;
    if (s->bad_offset == MPR_NO_OFFSET && f->bad_offset != MPR_NO_OFFSET) s->good_ns = s->last_ns;
    s->frames = f->good;
    s->damaged = f->damaged;
    s->missing_frames = f->missing;
    s->bad_offset = f->bad_offset;
    if (f->hole && s->fold.state == MPR_LOG_WHOLE) s->fold.state = MPR_LOG_LACKS;
    if (f->hole && s->fold.state == MPR_LOG_FOLDED) s->fold.state = MPR_LOG_OLDER;
    s->cut = f->cut;
    s->cut_offset = f->cut_offset;
    s->major = f->major;
    s->minor = f->minor;
}

/* ---- frames */

static int open_events(struct mpr_log *log, const struct mpf_frame *frame)
{
    const long events = mpf_columns_events(frame->body, frame->body_bytes);
    if (events < 0 || events > FRAME_EVENTS_MAX) return MPF_ERR_DAMAGED;
    if ((uint32_t)events > log->block_cap) {
        struct mpf_block *grown = realloc(log->block, (size_t)events * sizeof *grown);
        if (!grown) return MPF_ERR_SPACE;
        log->block = grown;
        log->block_cap = (uint32_t)events;
    }
    const uint64_t origin = log->header.start.mono;
    const int error = mpf_columns_open(&log->reader, frame->body, frame->body_bytes, origin,
                                       log->block, log->block_cap);
    log->reading = !error;
    return error;
}

/* Without a header the times count from the first frame's clock. */
static void find_origin(struct mpr_log *log)
{
    if (log->status.has_header || log->header.start.mono) return;
    log->header.start = log->reader.from;
    log->reader.origin = log->reader.from.mono;
}

static void lived_until(struct mpr_log *log, uint64_t mono)
{
    const uint64_t start = log->header.start.mono;
    if (mono > start && mono - start > log->status.end_ns) log->status.end_ns = mono - start;
}

static void read_end(struct mpr_log *log, const struct mpf_frame *frame)
{
    const char *at = (const char *)frame->body, *key, *value;
    const char *const end = at + frame->body_bytes;
    log->status.ended = true;
    while (mpf_pairs_next(&at, end, &key, &value) == 1) {
        if (strcmp(key, "reason") == 0) log->status.end = mpf_end_named(value);
        if (strcmp(key, "lost") == 0) log->status.lost = strtoull(value, NULL, 10);
        if (strcmp(key, "hwm") == 0) log->status.hwm = strtoull(value, NULL, 10);
        if (strcmp(key, "unwritten.errno") == 0)
            log->status.unwritten.error = strtoull(value, NULL, 10);
        if (strcmp(key, "unwritten.from") == 0)
            log->status.unwritten.from = strtoull(value, NULL, 10);
        if (strcmp(key, "unwritten.to") == 0) log->status.unwritten.to = strtoull(value, NULL, 10);
        if (strcmp(key, "unwritten.events") == 0)
            log->status.unwritten.events = strtoull(value, NULL, 10);
    }
}

/* The journal names frames that were written before it and are not here: the end of a log that was
 * cut between two frames, or all that followed LOG.fold. */
static void miss_frames(struct mpr_log *log)
{
    struct mpr_frames *f = &log->frames;
    if (log->pending.announced <= log->kept_seq || log->status.process.life == MPR_LIFE_RUNS)
        return; /* of a process that runs it is newer than what was read */
    if (f->bad_offset == MPR_NO_OFFSET) f->bad_offset = f->at;
    f->missing += log->pending.announced - log->kept_seq;
    sync_status(log);
}

static int open_slots(struct mpr_log *log, const struct mpf_frame *frame)
{
    const int error =
        mpr_pending_open(&log->pending, frame->body, frame->body_bytes, log->kept_seq);
    if (error) return error;
    log->state = STATE_PENDING;
    lived_until(log, log->pending.head.beat);
    log->status.lost = log->pending.head.lost;
    log->status.unwritten = log->pending.head.unwritten;
    log->status.has_journal = true;
    log->status.journal_bytes += frame->body_bytes;
    miss_frames(log);
    return 0;
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
    log->status.ended = false;
    if (frame->kind != MPF_FRAME_SLOTS) log->kept_seq = log->frames.next_seq;
    switch (frame->kind) {
    case MPF_FRAME_HEADER: return read_header(log, frame);
    case MPF_FRAME_SLOTS: return open_slots(log, frame);
    case MPF_FRAME_END: read_end(log, frame); return 0;
    case MPF_FRAME_FOLD: read_mark(log, frame); return 0;
    case MPF_FRAME_EVENTS: break;
    default: return 0; /* a newer minor version's */
    }
    const int error = open_events(log, frame);
    if (error) return error;
    find_origin(log);
    log->newest_frame = mpr_frames_made(frame);
    lived_until(log, log->newest_frame);
    return 0;
}

int mpr_log_truncated(const struct mpr_log *log, struct mpr_error *error)
{
    return mpr_fail(error, "%s: truncated while it was read; try again", log->path);
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

/* Behind the frames of LOG.fold come those of LOG that it does not stand for. */
static bool turn(struct mpr_log *log)
{
    if (log->read_from == &log->map) return false;
    mpr_frames_turn(&log->frames, &log->map, log->folded.mark.offset);
    log->read_from = &log->map;
    log->frame_offset = log->frames.at;
    return true;
}

/* Goes on to the next frame: 1, 0 when there is none, -1. */
int mpr_log_next_frame(struct mpr_log *log, struct mpr_error *error)
{
    struct mpf_frame frame;
    int got;
    do got = mpr_frames_next(&log->frames, &frame);
    while (got == 0 && turn(log));
    sync_status(log);
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
    sync_status(log);
    return 1;
}

/* Each frame has a clock of its own, so one may begin a little before the last one ended: whoever
 * takes differences of times may rely on their order. */
static void keep_order(struct mpr_log *log, long count)
{
    uint64_t newest = log->status.last_ns;
    for (long i = 0; i < count; i++) {
        struct mpf_event *event = &log->to[i];
        if (event->time < newest) event->time = newest;
        newest = event->time;
    }
}

static long read_columns(struct mpr_log *log)
{
    const long count = mpf_columns_next(&log->reader, log->to, MPR_BATCH);
    if (count <= 0) log->reading = false;
    keep_order(log, count);
    if (count >= 0) return count;
    mpr_frames_reject(&log->frames, log->frame_offset);
    sync_status(log);
    return 0;
}

/* ---- journal */

static long read_pending(struct mpr_log *log)
{
    long count = 0;
    size_t used = 0;
    while (count < MPR_BATCH && MPR_LOG_DATA_BYTES - used >= MPF_DATA_MAX) {
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

/* What a running process is just writing is not torn. */
static void close_pending(struct mpr_log *log)
{
    if (log->status.process.life != MPR_LIFE_RUNS) log->status.torn += log->pending.torn;
    mpr_pending_close(&log->pending);
}

/* Before the bytes are taken that are read: what has ended by then changes no more. */
void mpr_log_ask(struct mpr_log *log)
{
    if (!log->journal.image) mpr_journal_find(&log->journal, log->path, &log->map.st, &log->header);
    log->status.process = mpr_life_tell(&log->header, &log->journal);
    log->asked = true;
}

bool mpr_log_may_grow(struct mpr_log *log)
{
    mpr_log_ask(log);
    const bool copied = mpr_copy_is(&log->journal, &log->map.st);
    mpr_journal_free(&log->journal);
    log->asked = false;
    return !copied && log->status.process.life != MPR_LIFE_ENDED;
}

/* After the last frame: joins the journal when the log has no end. */
int mpr_log_join_journal(struct mpr_log *log, struct mpr_error *error)
{
    log->state = STATE_DONE;
    if (log->status.ended) {
        log->status.process = (struct mpr_verdict){ .life = MPR_LIFE_ENDED }; /* it goes on after an
                                                                                 exec, in another
                                                                                 log */
        return 0;
    }
    if (!log->asked) mpr_log_ask(log);
    if (log->journal.no_memory) return mpr_fail_memory(error, log->path);
    if (!log->journal.image) return 0;
    const int status =
        mpr_pending_open(&log->pending, log->journal.image, log->journal.bytes, log->kept_seq);
    if (status == MPF_ERR_SPACE) return fail_code(log, status, error);
    if (status) return 0;
    log->state = STATE_JOURNAL;
    log->status.has_journal = true;
    log->status.journal_bytes = log->journal.bytes;
    log->status.lost = log->journal.head.lost;
    log->status.unwritten = log->journal.head.unwritten;
    miss_frames(log);
    lived_until(log, log->journal.head.beat);
    return 0;
}

static bool may_miss(const struct mpr_log *log, const struct mpr_run_end *end)
{
    return mpr_copy_may_miss(&(struct mpr_copied){ .journal = &log->journal,
                                                   .log = &log->map.st,
                                                   .log_fd = log->map.fd,
                                                   .newest_frame = log->newest_frame,
                                                   .life = log->status.process.life,
                                                   .end = *end });
}

/* An END that the process wrote itself says all but what it exited with. */
static void find_end(struct mpr_log *log)
{
    struct mpr_log_status *s = &log->status;
    const bool told = s->ended && s->end != MPF_END_RECOVERED,
               exited = told && s->end == MPF_END_EXIT;
    const bool wanted = (exited || !told) && s->process.life != MPR_LIFE_RUNS;
    const struct mpr_run_end run =
        wanted ? mpr_run_find(log->path, &log->header) : (struct mpr_run_end){ .known = false };
    if (!told) s->run = run;
    s->copied = !s->ended && may_miss(log, &run);
    s->status_told = exited && run.how == MPR_RUN_EXIT;
    s->exit_status = run.status;
    if (s->run.known) lived_until(log, s->run.mono);
    if (s->last_ns > s->end_ns) s->end_ns = s->last_ns;
}

/* ---- a log that grows */

/* No frame is left for now; where the last one is an END none will come. */
static bool pauses(struct mpr_log *log)
{
    if (!log->followed || log->status.ended) return false;
    log->paused = true;
    mpr_file_unshare(log->map.fd);
    return true;
}

static int go_on(struct mpr_log *log, struct mpr_error *error)
{
    mpr_file_share(log->map.fd);
    if (mpr_map_grow(&log->map, log->path, error) != 0) return -1;
    log->paused = false;
    log->status.bytes = mpr_log_position(log) + log->map.size - log->frames.at;
    mpr_frames_grow(&log->frames, &log->map);
    return MPR_LOG_MORE;
}

/* Whose log grows lives; one that is idle is asked for. */
int mpr_log_more(struct mpr_log *log, struct mpr_error *error)
{
    struct stat st;
    if (!log->paused) return MPR_LOG_ENDED;
    if (stat(log->path, &st) != 0) return mpr_fail_errno(error, log->path, "examine");
    if (!mpr_file_same(&st, &log->map.st)) return MPR_LOG_REPLACED;
    if (st.st_size > log->map.st.st_size) return go_on(log, error);
    log->followed = mpr_log_may_grow(log);
    return log->followed ? MPR_LOG_MORE : go_on(log, error);
}

/* ---- the stream */

/* One attempt in the present state: events, 0 to go on, -1. */
static long step(struct mpr_log *log, struct mpr_error *error)
{
    long count;
    switch (log->state) {
    case STATE_FRAMES:
        if (log->reading) return read_columns(log);
        count = mpr_log_next_frame(log, error);
        if (count == 0 && !pauses(log)) count = mpr_log_join_journal(log, error);
        return count < 0 ? -1 : 0;
    case STATE_PENDING:
    case STATE_JOURNAL:
        count = read_pending(log);
        if (count == 0) {
            log->state = log->state == STATE_PENDING ? STATE_FRAMES : STATE_DONE;
            close_pending(log);
        }
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
        if (log->map.changed || log->folded.map.changed) return mpr_log_truncated(log, error);
        if (count < 0) return -1;
        if (count == 0) continue;
        log->status.events += (uint64_t)count;
        log->status.last_ns = events[count - 1].time;
        return count;
    }
    if (log->paused) return 0;
    if (log->lent) mpr_file_unshare(log->map.fd);
    if (log->status.bad_offset == MPR_NO_OFFSET) log->status.good_ns = log->status.last_ns;
    find_end(log);
    return 0;
}

long mpr_log_next(struct mpr_log *log, const struct mpf_event **events, struct mpr_error *error)
{
    *events = log->batch;
    return mpr_log_read(log, log->batch, error);
}

/* ---- what is told of it */

const struct mpr_header *mpr_log_header(const struct mpr_log *log) { return &log->header; }

const struct mpr_log_status *mpr_log_status(const struct mpr_log *log) { return &log->status; }

uint64_t mpr_log_position(const struct mpr_log *log)
{
    const struct mpr_folded *f = &log->folded;
    const bool behind = f->state == MPR_FOLDED_USED && log->read_from == &log->map;
    return behind ? f->map.size + log->frames.at - f->mark.offset : log->frames.at;
}

void mpr_log_stop_after(struct mpr_log *log, uint64_t seq) { log->stop_after = seq; }

bool mpr_log_incomplete(const struct mpr_log_status *s)
{
    const bool whole_end = s->ended || s->has_journal;
    return !whole_end || s->copied || s->journal_only || s->damaged || s->missing_frames ||
           !s->has_header;
}
