/* The order of writes: the thinned frames to a file without a name; the header, the mark and these
 * frames to LOG.fold.tmp; fsync; rename to LOG.fold; fsync of the directory; a hole in LOG. */
#include "compact.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "bisect.h"
#include "file.h"
#include "folded.h"
#include "frames.h"
#include "journal.h"
#include "life.h"
#include "thin.h"

/* The budget has PARTS equal parts: WHOLE for the newest part of the log, which stays whole, and
 * FOLD for LOG.fold.  A round is only done if it releases WORTH.  The rest is for the old LOG.fold
 * and two copies of the new one during a round, and for what the program writes meanwhile. */
enum { PARTS = 16, WHOLE = 10, FOLD = 1, WORTH = 1 };
/* Minimum budget if a time is given instead. */
#define MIN_BUDGET (UINT64_C(16) << 20)

#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

struct subject {
    const char *path, *name; /* the name in the directory `dir` */
    int dir, lock;
    struct mpr_map map;
    struct mpr_folded folded;
    struct mpr_header header;
    size_t header_end;
    size_t *frame, frames, cap; /* offsets in LOG of the frames that are not thinned */
    size_t end;                 /* end of the last one */
    bool ended;                 /* its process has ended */
};

/* The frame before which the log is cut. */
struct cut {
    uint64_t seq;    /* number of the previous frame */
    uint64_t offset; /* 0 if the log is not cut */
    uint64_t budget; /* bytes */
};

/* ---- where to cut */

/* Reads the number of a frame of events, and the CLOCK_MONOTONIC ns at which it ends.  Returns
 * false for any other frame and for damage. */
static bool read_frame(const struct subject *s, size_t i, uint64_t *seq, uint64_t *mono)
{
    struct mpr_frames frames;
    struct mpf_frame frame;
    if (mpr_frames_open(&frames, &s->map) != 0) return false;
    frames.at = s->frame[i];
    const bool good = mpr_frames_next(&frames, &frame) == 1 && !frames.damaged &&
                      frame.kind == MPF_FRAME_EVENTS &&
                      frame.body_bytes >= 2 * sizeof(struct mpf_clock);
    if (good) *seq = frame.seq, *mono = mpr_frame_time(&frame);
    mpr_frames_close(&frames);
    return good;
}

/* Returns the first frame that stays whole.  After the last frame of events there are only slots
 * and an end.  A budget that is a time is estimated from the size of the log in that time. */
static size_t find_first_whole(const struct subject *s, const struct mpf_keep *keep,
                               struct cut *cut)
{
    uint64_t seq, newest, mono;
    size_t last = s->frames;
    cut->budget = keep->bytes;
    do {
        if (!last) return 0;
    } while (!read_frame(s, --last, &seq, &newest));
    if (keep->bytes) {
        size_t first = last;
        while (first > 0 && s->end - s->frame[first - 1] <= keep->bytes / PARTS * WHOLE) first--;
        return first;
    }
    const uint64_t from = newest > keep->ns ? newest - keep->ns : 0;
    const size_t first = MPR_COUNT_FIRST(i, last, read_frame(s, i, &seq, &mono) && mono < from);
    cut->budget = (s->end - s->frame[first]) / WHOLE * PARTS;
    if (cut->budget < MIN_BUDGET) cut->budget = MIN_BUDGET;
    return first;
}

/* Frames are found by their lengths, without decoding.  The last one may be incomplete. */
static struct cut choose_cut(struct subject *s, const struct mpf_keep *keep)
{
    struct cut cut = { 0 };
    uint64_t seq, mono;
    long length;
    s->end = s->folded.state == MPR_FOLDED_USED ? s->folded.mark.offset : s->header_end;
    while (s->end < s->map.size &&
           (length = mpf_frame_length(s->map.data + s->end, s->map.size - s->end)) > 0) {
        *MPR_ADD(s->frame, s->frames, s->cap) = s->end;
        s->end += (size_t)length;
    }
    if (!s->frames) return cut;
    const size_t first = find_first_whole(s, keep, &cut);
    if (s->frame[first] - s->frame[0] < cut.budget / PARTS * WORTH || first == 0 ||
        !read_frame(s, first, &seq, &mono))
        return cut;
    cut.seq = seq - 1;
    cut.offset = s->frame[first];
    return cut;
}

/* ---- LOG.fold */

static int write_fold(const struct subject *s, const struct mpr_mark *mark,
                      const struct mpr_thinned *thinned, int scratch, struct mpr_error *error)
{
    const struct stat *st = &s->map.st;
    uint8_t bytes[MPR_MARK_BYTES];
    const long length = mpr_mark_write(mark, thinned->frames, bytes);
    if (length < 0) return mpr_fail_memory(error, s->path);
    bool good = mpr_file_write(s->lock, s->map.data, s->header_end) == 0 &&
                mpr_file_write(s->lock, bytes, (size_t)length) == 0;
    for (loff_t at = 0; good && at < (loff_t)thinned->bytes;) {
        const size_t left = thinned->bytes - (size_t)at;
        const ssize_t n = copy_file_range(scratch, &at, s->lock, NULL, left, 0);
        if (n == 0) errno = EIO;
        good = n > 0;
    }
    if (good && (st->st_gid == getegid() || fchown(s->lock, (uid_t)-1, st->st_gid) == 0) &&
        fchmod(s->lock, st->st_mode & 0777) == 0 && fsync(s->lock) == 0)
        return 0;
    return mpr_fail_errno(error, s->path, "write its " MPR_FOLDED_SUFFIX " file");
}

/* The thinned frames are first written to a file without a name, which disappears with this
 * process. */
static int make_fold(const struct subject *s, const struct cut *cut, struct mpr_thinned *thinned,
                     struct mpr_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s" MPR_FOLDED_THIN, s->name);
    unlinkat(s->dir, name, 0); /* a killed process may have left it */
    const int scratch =
        openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (scratch < 0) return mpr_fail_errno(error, s->path, "create a file next to it");
    unlinkat(s->dir, name, 0);
    int result = mpr_thin(s->path, cut->seq, cut->budget / PARTS * FOLD, scratch, thinned, error);
    const uint64_t before = s->folded.state == MPR_FOLDED_USED ? s->folded.mark.events : 0;
    const struct mpr_mark mark = { .seq = cut->seq,
                                   .offset = cut->offset,
                                   .until = thinned->until,
                                   .events = before + thinned->removed,
                                   .grain = thinned->grain };
    if (result == 0) result = write_fold(s, &mark, thinned, scratch, error);
    close(scratch);
    return result;
}

/* Replaces LOG.fold and releases disk space of LOG.  No reader has the log open, and none opens it
 * until this is done.  If the process has ended, the space is not released, because recover makes a
 * new file. */
static int put_in_place(const struct subject *s, const struct cut *cut, struct mpr_error *error)
{
    char new[PATH_MAX], fold[PATH_MAX];
    if (!mpr_file_is_at(s->dir, s->name, &s->map.st))
        return mpr_fail(error, "%s: the file was replaced while it was read; nothing was changed",
                        s->path);
    snprintf(new, sizeof new, "%s" MPR_FOLDED_NEW, s->name);
    snprintf(fold, sizeof fold, "%s" MPR_FOLDED_SUFFIX, s->name);
    if (renameat(s->dir, new, s->dir, fold) != 0 || fsync(s->dir) != 0)
        return mpr_fail_errno(error, s->path, "rename its " MPR_FOLDED_SUFFIX " file");
    const off_t bytes = (off_t)(cut->offset - s->header_end);
    if (fallocate(s->map.fd, PUNCH, (off_t)s->header_end, bytes) == 0 || s->ended) return 0;
    return mpr_fail_errno(error, s->path, "release room in");
}

static int thin_beginning(struct subject *s, const struct cut *cut, struct mpr_compaction *out,
                          struct mpr_error *error)
{
    struct mpr_thinned thinned;
    if (make_fold(s, cut, &thinned, error) != 0) return -1;
    const uint64_t start = s->header.start.mono;
    out->outcome = MPR_COMPACT_FOLDED;
    out->until_ns = thinned.until > start ? thinned.until - start : 0;
    out->before = cut->offset - s->frame[0];
    out->after = thinned.bytes;
    if (mpr_file_try_lock(s->map.fd)) return put_in_place(s, cut, error);
    out->outcome = MPR_COMPACT_READ;
    return 0;
}

/* ---- one round */

static int compact_locked(struct subject *s, const struct mpf_keep *given,
                          struct mpr_compaction *out, struct mpr_error *error)
{
    const struct mpr_folded *f = &s->folded;
    const char *text = mpr_header_get(&s->header, "keep");
    struct mpf_keep keep;
    struct mpr_journal journal;
    if (mpr_folded_find(&s->folded, s->dir, s->name, &s->map, s->header_end, &s->header) != 0)
        return mpr_fail_memory(error, s->path);
    if (f->exists && f->state != MPR_FOLDED_USED && f->state != MPR_FOLDED_NONE)
        return mpr_fail(error, "%s%s: this file is damaged or belongs to another log; move it away",
                        s->path, MPR_FOLDED_SUFFIX);
    if (given) keep = *given;
    else if (!text || !mpf_keep_read(text, &keep))
        return mpr_fail(
            error,
            "%s: this log was recorded without MEMPROF_KEEP; give --keep=SIZE or --keep=TIME",
            s->path);
    mpr_journal_find(&journal, s->path, &s->map.st, &s->header);
    if (journal.no_memory) return mpr_fail_memory(error, s->path);
    s->ended = mpr_life_find(&s->header, &journal).life == MPR_LIFE_ENDED;
    mpr_journal_free(&journal);
    const struct cut cut = choose_cut(s, &keep);
    out->outcome = MPR_COMPACT_LITTLE;
    out->ended = s->ended;
    out->next = s->map.size + cut.budget / PARTS * WORTH / 2;
    if (!cut.offset) return 0;
    /* A file system without holes refuses to make one in any file, so LOG.fold.tmp shows it. */
    if (!s->ended && fallocate(s->lock, PUNCH, 0, 1) != 0 && errno == EOPNOTSUPP)
        return mpr_fail(
            error,
            "%s: this file system cannot release room inside a file, so the log grows until its process has "
            "ended",
            s->path);
    return thin_beginning(s, &cut, out, error);
}

/* Returns true if a log was recorded in this run, on this machine, with MEMPROF_KEEP. */
static bool is_of_run(const struct mpr_header *header, const char *run)
{
    static const uint8_t unknown[sizeof header->identity.boot];
    const char *log_run = mpr_header_get(header, "run");
    return log_run && strcmp(log_run, run) == 0 && mpr_header_get(header, "keep") &&
           (memcmp(header->identity.boot, unknown, sizeof unknown) == 0 ||
            mpr_life_same_boot(&header->identity));
}

int mpr_compact(const char *path, const struct mpf_keep *keep, const char *run,
                struct mpr_compaction *out, struct mpr_error *error)
{
    struct subject s = { .path = path, .map.fd = -1, .folded.map.fd = -1 };
    *out = (struct mpr_compaction){ 0 };
    s.dir = mpr_file_directory(path, &s.name, error);
    if (s.dir < 0) return -1;
    int result = mpr_map_open_own(&s.map, s.dir, s.name, path, O_RDWR, error);
    if (result == 0 && !s.map.size) result = mpr_fail(error, "%s: the file is empty", path);
    const int status = result == 0 ? mpr_header_find(&s.header, &s.map, &s.header_end) : 0;
    if (status == MPF_ERR_SPACE) result = mpr_fail_memory(error, path);
    else if (status != 0)
        result = mpr_fail(error, "%s: offset 0: no readable header; nothing was changed", path);
    if (result == 0 && run && !is_of_run(&s.header, run)) out->outcome = MPR_COMPACT_OTHER;
    else if (result == 0) {
        s.lock = mpr_folded_lock(s.dir, s.name, path, error);
        result = s.lock < 0 ? -1 : compact_locked(&s, keep, out, error);
        if (s.lock >= 0) mpr_folded_unlock(s.dir, s.name, s.lock);
    }
    mpr_folded_close(&s.folded);
    mpr_header_free(&s.header);
    mpr_map_close(&s.map);
    free(s.frame);
    close(s.dir);
    return result;
}
