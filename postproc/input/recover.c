/* The order of writes: a new file with all whole frames (those of LOG.fold first), SLOTS and END;
 * fsync; its identity in the journal's `heir`; rename; removal of LOG.fold and the journal. */
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "folded.h"
#include "frames.h"
#include "header.h"
#include "journal.h"
#include "life.h"
#include "map.h"
#include "mpf/end.h"
#include "mpf/header.h"

enum { ZSTD_LEVEL = 3, END_BYTES = 64 /* for the body of END */ };

/* The result of scanning the log's frames. */
struct scan {
    struct mpr_header header;
    uint64_t next_seq;     /* 1 + the number of the newest frame */
    uint64_t kept_seq;     /* 1 + the number of the newest frame that is not SLOTS */
    uint64_t newest_frame; /* CLOCK_MONOTONIC ns at which it was written */
    uint64_t header_end;   /* offset after the header */
    uint64_t good_end;     /* offset after the last whole frame */
    struct mpr_ending ending;
    bool ended, has_header, has_slots;
};

/* The log that is recovered.  It is opened once, so that another file with its name is never
 * replaced. */
struct subject {
    const char *path, *name; /* the name in the directory `dir` */
    int dir;
    struct mpr_map map;
    struct mpr_folded folded;
    struct scan scan;
    struct mpr_journal journal;
};

static bool is_folded(const struct subject *s) { return s->folded.state == MPR_FOLDED_USED; }

/* ---- scanning the log */

static int scan_frame(struct subject *s, struct mpr_frames *frames, const struct mpf_frame *frame)
{
    struct scan *scan = &s->scan;
    scan->ended = frame->kind == MPF_FRAME_END;
    if (scan->ended) {
        struct mpr_ending *e = &scan->ending;
        const struct mpr_pair_number number[] = { { "events", &e->events },
                                                  { "lost", &e->lost },
                                                  { "hwm", &e->hwm } };
        *e = (struct mpr_ending){ 0 };
        mpr_pairs_read_numbers(frame->body, frame->body_bytes, number, 3);
    }
    scan->next_seq = frames->next_seq;
    scan->good_end = frames->at;
    if (frame->kind == MPF_FRAME_SLOTS) scan->has_slots = true;
    else scan->kept_seq = frames->next_seq;
    if (mpr_frame_time(frame)) scan->newest_frame = mpr_frame_time(frame);
    if (frame->kind != MPF_FRAME_HEADER || scan->has_header) return 0;
    scan->header_end = frames->at;
    const int error = mpr_header_read(&scan->header, frame->body, frame->body_bytes);
    scan->has_header = !error;
    scan->newest_frame = scan->header.start.mono;
    if (error) return error == MPF_ERR_SPACE ? error : 0;
    if (mpr_folded_find(&s->folded, s->dir, s->name, &s->map, frames->at, &scan->header) != 0)
        return MPF_ERR_SPACE;
    if (!is_folded(s)) return 0;
    /* The frames of LOG that LOG.fold replaces are skipped. */
    mpr_frames_continue(frames, &s->map, s->folded.mark.offset);
    frames->next_seq = scan->next_seq = scan->kept_seq = s->folded.mark.seq + 1;
    scan->good_end = frames->at;
    return 0;
}

static int scan_log(struct subject *s, struct mpr_error *error)
{
    struct mpr_frames frames;
    struct mpf_frame frame;
    int got = MPF_ERR_SPACE;
    if (mpr_frames_open(&frames, &s->map) == 0) {
        while ((got = mpr_frames_next(&frames, &frame)) == 1) {
            if ((got = scan_frame(s, &frames, &frame)) != 0) break;
            mpr_map_drop(&s->map, frames.at);
        }
        mpr_frames_close(&frames);
    }
    if (got == MPF_ERR_SPACE) return mpr_fail_memory(error, s->path);
    if (got < 0) return mpr_fail(error, "%s: cannot read: %s", s->path, mpf_error_text(got));
    if (!s->scan.has_header)
        return mpr_fail(
            error,
            "%s: offset 0: no readable header, so the journal of this log is unknown; nothing was changed",
            s->path);
    return 0;
}

/* ---- the new frames */

/* The frames that are appended. */
struct output {
    uint8_t *bytes;
    size_t used, cap;
    ZSTD_CCtx *zstd;
};

static int add_frame(struct output *out, int kind, uint64_t seq, uint8_t *payload,
                     size_t body_bytes)
{
    const struct mpf_frame frame = { MPF_MAJOR, MPF_MINOR, (uint8_t)kind, seq, NULL, body_bytes };
    const long length = mpf_frame_write(out->zstd, ZSTD_LEVEL, &frame, payload,
                                        out->bytes + out->used, out->cap - out->used);
    if (length < 0) return -1;
    out->used += (size_t)length;
    return 0;
}

/* Makes END, after SLOTS if the log has none.  @slots: a payload of this many bytes.  Returns 0, or
 * -1 if memory runs out. */
static int make_frames(struct output *out, const struct scan *scan, uint8_t *slots, size_t bytes)
{
    uint8_t payload[MPF_FRAME_HEAD + END_BYTES];
    struct mpf_pairs pairs;
    uint64_t seq = scan->next_seq;
    out->cap = mpf_frame_bound(bytes) + mpf_frame_bound(END_BYTES);
    out->bytes = malloc(out->cap);
    out->zstd = ZSTD_createCCtx();
    if (!out->bytes || !out->zstd) return -1;
    if (!scan->has_slots &&
        add_frame(out, MPF_FRAME_SLOTS, seq++, slots, bytes - MPF_FRAME_HEAD) != 0)
        return -1;
    mpf_pairs_init(&pairs, payload + MPF_FRAME_HEAD, END_BYTES);
    mpf_pairs_add(&pairs, "reason", mpf_end_name[MPF_END_RECOVERED]);
    return add_frame(out, MPF_FRAME_END, seq, payload, mpf_pairs_bytes(&pairs));
}

/* ---- the new file */

/* Copies bytes of a file.  Some file systems share them, so that the copy needs no disk space. */
static int copy_bytes(const struct mpr_map *map, size_t from, size_t end, int fd)
{
    loff_t at = (loff_t)from;
    while (at < (loff_t)end && copy_file_range(map->fd, &at, fd, NULL, end - (size_t)at, 0) > 0) {}
    return mpr_file_write(fd, map->data + at, end - (size_t)at);
}

/* Copies bytes of a file, and its holes as holes. */
static int copy_data(const struct mpr_map *map, size_t from, size_t end, int fd)
{
    for (size_t hole; from < end; from = hole) {
        const size_t data = mpr_file_skip_hole(map->fd, from, end, &hole);
        if (data > from && lseek(fd, (off_t)(data - from), SEEK_CUR) < 0) return -1;
        if (copy_bytes(map, data, hole, fd) != 0) return -1;
    }
    return 0;
}

/* Writes the frames of LOG and the new ones.  With a LOG.fold the header of LOG is followed by the
 * mark, the frames of LOG.fold, and those of LOG that it does not replace. */
static int write_file(const struct subject *s, int fd, const struct output *out)
{
    const struct stat *st = &s->map.st;
    const struct mpr_folded *f = &s->folded;
    if (is_folded(s)) {
        struct mpr_mark mark = f->mark;
        uint8_t bytes[MPR_MARK_BYTES];
        mark.offset = 0;
        const long length = mpr_mark_write(&mark, f->frames, bytes);
        if (length < 0) errno = ENOMEM;
        if (length < 0 || copy_bytes(&s->map, 0, s->scan.header_end, fd) != 0 ||
            mpr_file_write(fd, bytes, (size_t)length) != 0 ||
            copy_bytes(&f->map, f->frames_at, f->map.size, fd) != 0)
            return -1;
    }
    if (copy_data(&s->map, is_folded(s) ? f->mark.offset : 0, s->scan.good_end, fd) != 0 ||
        mpr_file_write(fd, out->bytes, out->used) != 0)
        return -1;
    if (st->st_gid != getegid() && fchown(fd, (uid_t)-1, st->st_gid) != 0) return -1;
    return fchmod(fd, st->st_mode & 0777) != 0 || fsync(fd) != 0 ? -1 : 0;
}

/* Returns false if the log is a copy, and the journal belongs to the original.  A journal records
 * its log; the copy of a journal belongs to the log with its name. */
static bool is_own_journal(const struct subject *s)
{
    const struct mpf_journal *head = &s->journal.head;
    const struct stat *log = &s->map.st;
    if (mpr_life_same_file(&head->self, &head->process, &s->journal.st))
        return mpr_life_same_file(&head->log, &head->process, log) ||
               mpr_life_same_file(&head->heir, &head->process, log);
    const size_t stem = strlen(s->path);
    return strncmp(s->journal.path, s->path, stem) == 0 &&
           strcmp(s->journal.path + stem, ".journal") == 0;
}

/* Records the new file in the journal, unless that belongs to another log or its format is too old:
 * if this recovery is killed before it removes the journal, that belongs to the new log.  @journal:
 * a descriptor, or -1 */
static int record_new_log(const struct subject *s, int journal, int fd)
{
    struct stat st;
    if (journal < 0 || !is_own_journal(s)) return 0;
    if (s->journal.head.head_bytes < sizeof s->journal.head) return 0;
    if (fstat(fd, &st) != 0) return -1;
    const struct mpf_file heir = { st.st_dev, st.st_ino };
    const ssize_t n = pwrite(journal, &heir, sizeof heir, offsetof(struct mpf_journal, heir));
    return n == (ssize_t)sizeof heir ? 0 : -1;
}

/* Replaces the log.  A reader that has the old file open can read on.  @journal: a descriptor, or
 * -1 */
static int replace_log(const struct subject *s, int journal, const struct output *out,
                       struct mpr_error *error)
{
    char name[NAME_MAX + 1];
    if (snprintf(name, sizeof name, "%s.recover", s->name) >= (int)sizeof name)
        return mpr_fail(error, "%s: the name is too long", s->path);
    unlinkat(s->dir, name, 0); /* left by a recovery that was killed */
    const int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return mpr_fail_errno(error, s->path, "create a new file next to it");
    int result = -1;
    if (write_file(s, fd, out) != 0 || record_new_log(s, journal, fd) != 0)
        mpr_fail_errno(error, s->path, "write");
    else if (s->map.changed || s->folded.map.changed ||
             !mpr_file_is_at(s->dir, s->name, &s->map.st))
        mpr_fail(error, "%s: the file was replaced while it was read; nothing was changed",
                 s->path);
    else if (renameat(s->dir, name, s->dir, s->name) != 0)
        mpr_fail_errno(error, s->path, "replace");
    else result = 0;
    if (result != 0) unlinkat(s->dir, name, 0);
    else fsync(s->dir);
    close(fd);
    return result;
}

/* Removes LOG.fold, whose frames are in the log now. */
static void remove_folded(const struct subject *s)
{
    char name[NAME_MAX + 1];
    snprintf(name, sizeof name, "%s" MPR_FOLDED_SUFFIX, s->name);
    if (mpr_file_is_at(s->dir, name, &s->folded.map.st)) unlinkat(s->dir, name, 0);
}

/* Makes one file of LOG.fold, if it is used, LOG and the new frames.  @journal: a descriptor, or
 * -1 */
static int merge(const struct subject *s, int journal, const struct output *out,
                 struct mpr_recovery *recovery, struct mpr_error *error)
{
    if (!is_folded(s)) return out->used ? replace_log(s, journal, out, error) : 0;
    const int lock = mpr_folded_lock(s->dir, s->name, s->path, error);
    if (lock < 0) return -1;
    const int result = replace_log(s, journal, out, error);
    recovery->merged = result == 0;
    if (recovery->merged) remove_folded(s);
    mpr_folded_unlock(s->dir, s->name, lock);
    return result;
}

/* ---- the journal */

static int append_journal(const struct subject *s, int journal, struct mpr_recovery *recovery,
                          struct mpr_error *error)
{
    struct mpr_pending pending;
    struct output out = { 0 };
    size_t bytes;
    const int status =
        mpr_pending_open(&pending, s->journal.image, s->journal.bytes, s->scan.kept_seq);
    if (status == MPF_ERR_SPACE) return mpr_fail_memory(error, s->journal.path);
    if (status != 0) return mpr_fail(error, "%s: %s", s->journal.path, mpf_error_text(status));
    recovery->events = pending.events;
    int result = -1;
    uint8_t *slots = mpr_pending_payload(&pending, &bytes);
    if (slots && bytes - MPF_FRAME_HEAD > MPF_BODY_MAX)
        mpr_fail(error,
                 "%s: the journal is too large for one frame of the log; reports read both files",
                 s->journal.path);
    else if (!slots || make_frames(&out, &s->scan, slots, bytes) != 0)
        mpr_fail_memory(error, s->path);
    else result = merge(s, journal, &out, recovery, error);
    ZSTD_freeCCtx(out.zstd);
    free(out.bytes);
    free(slots);
    mpr_pending_close(&pending);
    return result;
}

/* Opens the journal for writing and locks it.  On a file system without locks it counts as locked.
 * Returns the descriptor, or -1. */
static int lock_journal(const struct mpr_journal *j, struct mpr_error *error)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 2 };
    struct stat st;
    const int fd = mpr_file_open(AT_FDCWD, j->path, O_RDWR | O_NOFOLLOW, &st);
    if (fd < 0) return mpr_fail_errno(error, j->path, "open for writing");
    if (!mpr_file_same(&st, &j->st))
        mpr_fail(error, "%s: the file was replaced while it was read; nothing was changed",
                 j->path);
    else if (fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)) return fd;
    else {
        fcntl(fd, F_OFD_GETLK, &lock);
        if (lock.l_pid > 0)
            mpr_fail(error, "%s: process %ld has locked this file; try again when it has ended",
                     j->path, (long)lock.l_pid);
        else
            mpr_fail(
                error,
                "%s: another memprof-report log recover, or another process, has locked this file (fuser shows "
                "which); try again later",
                j->path);
    }
    close(fd);
    return -1;
}

/* Removes the journal, whose events are in the log now. */
static void remove_journal(const struct subject *s, struct mpr_recovery *recovery)
{
    const char *name;
    if (!is_own_journal(s)) {
        mpr_fail(&recovery->left,
                 "%s was kept: it belongs to the log from which this one was copied",
                 s->journal.path);
        return;
    }
    const int dir = mpr_file_directory(s->journal.path, &name, &recovery->left);
    if (dir < 0) return;
    if (mpr_file_is_at(dir, name, &s->journal.st) && unlinkat(dir, name, 0) != 0)
        mpr_fail_errno(&recovery->left, s->journal.path, "remove");
    close(dir);
}

enum { AGAIN = 1 }; /* another recovery was faster */

static int use_journal(struct subject *s, struct mpr_recovery *recovery, struct mpr_error *error)
{
    struct stat st;
    const int journal = lock_journal(&s->journal, error);
    if (journal < 0) return -1;
    int result = AGAIN;
    if (fstat(journal, &st) == 0 && st.st_nlink) {
        result = s->scan.ended ? merge(s, journal, &(struct output){ 0 }, recovery, error)
                               : append_journal(s, journal, recovery, error);
        if (result == 0) remove_journal(s, recovery);
    }
    close(journal);
    return result;
}

/* ---- one log */

/* Removes a LOG.fold that the log already contains, and says why another unused one stays. */
static void clean_unused_fold(const struct subject *s, struct mpr_recovery *recovery)
{
    if (!s->folded.exists || is_folded(s)) return;
    if (s->folded.state == MPR_FOLDED_NONE) remove_folded(s);
    else
        mpr_fail(&recovery->left, "%s" MPR_FOLDED_SUFFIX " was kept: %s", s->path,
                 s->folded.state == MPR_FOLDED_FOREIGN ? "it belongs to another log or another user"
                                                       : "it is damaged and was not read");
}

/* Merges a log that has END with its LOG.fold, and removes a journal that was left if possible. */
static int recover_ended(struct subject *s, enum mpr_life life, bool dead,
                         struct mpr_recovery *recovery, struct mpr_error *error)
{
    recovery->outcome = MPR_RECOVER_WHOLE;
    recovery->lost = s->scan.ending.lost;
    recovery->ending = s->scan.ending;
    if (life != MPR_LIFE_ENDED && !dead) return 0;
    if (!s->journal.image || life != MPR_LIFE_ENDED)
        return merge(s, -1, &(struct output){ 0 }, recovery, error);
    if (is_folded(s)) return use_journal(s, recovery, error);
    use_journal(s, recovery, &recovery->left);
    return 0;
}

/* Returns -1 with *error filled if the log may not be changed. */
static int check_may_recover(const struct subject *s, const struct mpr_life_verdict *process,
                             bool dead, struct mpr_recovery *recovery, struct mpr_error *error)
{
    const unsigned long long pid = s->scan.header.pid;
    const struct mpr_copied copied = { .journal = &s->journal,
                                       .log = &s->map.st,
                                       .log_fd = s->map.fd,
                                       .newest_frame = s->scan.newest_frame,
                                       .life = process->life,
                                       .end = mpr_run_find(s->path, &s->scan.header) };
    if (!dead && mpr_life_copy_may_miss(&copied))
        return mpr_fail(
            error,
            "%s: this is a copy, and no file shows that process %llu had ended before the copy was made; "
            "recover the original log, or use --dead if you know that the process had ended",
            s->path, pid);
    recovery->may_run = process->life == MPR_LIFE_UNKNOWN && !dead;
    if (recovery->may_run)
        return mpr_fail(
            error,
            "%s: process %llu may still run (%s); run this command where the process ran, or use --dead if "
            "you know that it has ended",
            s->path, pid, process->why);
    return 0;
}

static int recover_scanned(struct subject *s, bool dead, struct mpr_recovery *recovery,
                           struct mpr_error *error)
{
    const struct mpr_header *header = &s->scan.header;
    const bool found = mpr_journal_find(&s->journal, s->path, &s->map.st, header);
    if (s->journal.no_memory) return mpr_fail_memory(error, s->path);
    const struct mpr_life_verdict process = mpr_life_find(header, &s->journal);
    clean_unused_fold(s, recovery);
    if (s->scan.ended) return recover_ended(s, process.life, dead, recovery, error);
    recovery->runs = process.life == MPR_LIFE_RUNS;
    if (recovery->runs)
        return mpr_fail(error, "%s: process %llu still runs (%s); try again when it has ended",
                        s->path, (unsigned long long)header->pid, process.why);
    recovery->outcome = MPR_RECOVER_NOTHING;
    recovery->lost = s->journal.head.lost;
    recovery->cut = !found && process.life == MPR_LIFE_ENDED;
    if (!found && !is_folded(s)) return 0;
    if (check_may_recover(s, &process, dead, recovery, error) != 0) return -1;
    if (!found) return merge(s, -1, &(struct output){ 0 }, recovery, error);
    recovery->outcome = MPR_RECOVER_DONE;
    return use_journal(s, recovery, error);
}

int mpr_recover_in(int directory, const char *name, const char *path, bool dead,
                   struct mpr_recovery *recovery, struct mpr_error *error)
{
    int result = AGAIN;
    mpr_folded_clean(directory, name);
    for (int i = 0; i < 3 && result == AGAIN; i++) {
        struct subject s = { .path = path,
                             .name = name,
                             .dir = directory,
                             .map.fd = -1,
                             .folded.map.fd = -1,
                             .journal.fd = -1 };
        *recovery = (struct mpr_recovery){ 0 };
        result = -1;
        if (mpr_map_open_own(&s.map, directory, name, path, O_RDONLY, error) == 0 &&
            scan_log(&s, error) == 0)
            result = recover_scanned(&s, dead, recovery, error);
        mpr_journal_free(&s.journal);
        mpr_header_free(&s.scan.header);
        mpr_folded_close(&s.folded);
        mpr_map_close(&s.map);
    }
    return result == AGAIN
               ? mpr_fail(error, "%s: the log changed while it was read; try again", path)
               : result;
}

int mpr_recover(const char *path, bool dead, struct mpr_recovery *recovery, struct mpr_error *error)
{
    const char *name;
    *recovery = (struct mpr_recovery){ 0 };
    const int directory = mpr_file_directory(path, &name, error);
    if (directory < 0) return -1;
    const int result = mpr_recover_in(directory, name, path, dead, recovery, error);
    close(directory);
    return result;
}
