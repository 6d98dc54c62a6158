/* Order of writes: the thinned frames to a file without a name; header, mark and these to
 * LOG.fold.tmp; fsync; rename to LOG.fold; fsync of the directory; a hole in LOG. */
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
#include "file.h"
#include "folded.h"
#include "frames.h"
#include "journal.h"
#include "life.h"
#include "thin.h"

/* A log is kept at its size by sixteenths: ten are its newest part, which is whole, one is the
 * fold. Folding is worth one.  Four are for what a round takes (the fold that there is, and the new
 * one twice) and for what the program adds meanwhile. */
enum { PARTS = 16, WHOLE = 10, FOLD = 1, WORTH = 1 };
/* Of a time nobody says what it takes; less is no budget. */
#define BUDGET_LEAST (UINT64_C(16) << 20)

struct subject {
    const char *path, *name; /* the name in the directory `dir` */
    int dir, lock;
    struct mpr_map map;
    struct mpr_folded folded;
    struct mpr_header header;
    size_t header_end;
    size_t *frame, frames, cap; /* where in LOG those begin that are not folded */
    size_t end;                 /* of the last one */
    bool ended;                 /* its process has */
};

/* Where is cut: in front of a frame. */
struct cut {
    uint64_t seq;    /* the frame before it */
    uint64_t offset; /* 0: nowhere */
    uint64_t budget; /* bytes */
};

/* ---- what there is */

static int read_header(struct subject *s, struct mpr_error *error)
{
    const int status = mpr_header_find(&s->header, &s->map, &s->header_end);
    if (status == MPF_ERR_SPACE) return mpr_fail_memory(error, s->path);
    return status
               ? mpr_fail(error, "%s: offset 0: no readable header; nothing was changed", s->path)
               : 0;
}

static bool is_of_run(const struct mpr_header *header, const char *run)
{
    static const uint8_t unknown[sizeof header->identity.boot];
    struct mpf_identity here;
    const char *own = mpr_header_get(header, "run");
    mpr_life_own_identity(&here);
    return own && strcmp(own, run) == 0 && mpr_header_get(header, "keep") &&
           (memcmp(header->identity.boot, unknown, sizeof unknown) == 0 ||
            memcmp(header->identity.boot, here.boot, sizeof unknown) == 0);
}

/* The frames' lengths are told by their blocks, without decoding.  The last one may be on its way
 * into the file. */
static void find_frames(struct subject *s)
{
    const bool folded = s->folded.state == MPR_FOLDED_USED;
    size_t at = folded ? s->folded.mark.offset : s->header_end;
    long length;
    while (at < s->map.size &&
           (length = mpf_frame_length(s->map.data + at, s->map.size - at)) > 0) {
        MPR_GROW(s->frame, s->frames, s->cap);
        s->frame[s->frames++] = at;
        at += (size_t)length;
    }
    s->end = at;
}

static int examine(struct subject *s, struct mpr_error *error)
{
    if (mpr_folded_find(&s->folded, s->dir, s->name, &s->map, s->header_end, &s->header) != 0)
        return mpr_fail_memory(error, s->path);
    if (s->folded.exists && s->folded.state != MPR_FOLDED_USED &&
        s->folded.state != MPR_FOLDED_NONE)
        return mpr_fail(error, "%s%s: not this log's fold, or damaged; move it away", s->path,
                        MPR_FOLDED_SUFFIX);
    find_frames(s);
    return 0;
}

/* ---- where to cut */

/* The number of a frame of events, and the CLOCK_MONOTONIC ns at which it ends; false for any other
 * and for damage. */
static bool read_frame(const struct subject *s, size_t i, uint64_t *seq, uint64_t *mono)
{
    struct mpr_frames frames;
    struct mpf_frame frame;
    struct mpf_clock to;
    if (mpr_frames_open(&frames, &s->map) != 0) return false;
    frames.at = s->frame[i];
    const bool good = mpr_frames_next(&frames, &frame) == 1 && !frames.damaged &&
                      frame.kind == MPF_FRAME_EVENTS && frame.body_bytes >= 2 * sizeof to;
    if (good) memcpy(&to, frame.body + sizeof to, sizeof to);
    if (good) *seq = frame.seq, *mono = to.mono;
    mpr_frames_close(&frames);
    return good;
}

/* The last frame of events: behind it are slots and an end, or nothing.  False: there is none. */
static bool last_events(const struct subject *s, size_t *i, uint64_t *mono)
{
    uint64_t seq;
    for (*i = s->frames; (*i)-- > 0;)
        if (read_frame(s, *i, &seq, mono)) return true;
    return false;
}

static size_t first_of_bytes(const struct subject *s, size_t last, uint64_t bytes)
{
    size_t i = last;
    while (i > 0 && s->end - s->frame[i - 1] <= bytes) i--;
    return i;
}

/* Frames are in order of time. */
static size_t first_of_time(const struct subject *s, size_t last, uint64_t from)
{
    size_t low = 0, high = last;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint64_t seq, mono;
        if (read_frame(s, middle, &seq, &mono) && mono < from) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The budget of a time is what its size makes of it. */
static size_t first_kept(const struct subject *s, const struct mpf_keep *keep, struct cut *cut)
{
    uint64_t newest;
    size_t last;
    cut->budget = keep->bytes;
    if (!last_events(s, &last, &newest)) return 0;
    if (keep->bytes) return first_of_bytes(s, last, keep->bytes / PARTS * WHOLE);
    const size_t first = first_of_time(s, last, newest > keep->ns ? newest - keep->ns : 0);
    cut->budget = (s->end - s->frame[first]) / WHOLE * PARTS;
    if (cut->budget < BUDGET_LEAST) cut->budget = BUDGET_LEAST;
    return first;
}

static struct cut choose(const struct subject *s, const struct mpf_keep *keep)
{
    struct cut cut = { 0 };
    uint64_t seq, mono;
    if (!s->frames) return cut;
    const size_t first = first_kept(s, keep, &cut);
    if (s->frame[first] - s->frame[0] < cut.budget / PARTS * WORTH || first == 0 ||
        !read_frame(s, first, &seq, &mono))
        return cut;
    cut.seq = seq - 1;
    cut.offset = s->frame[first];
    return cut;
}

/* ---- LOG.fold */

/* Without a name it is gone whenever this ends. */
static int open_thin(const struct subject *s, struct mpr_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s" MPR_FOLDED_THIN, s->name);
    unlinkat(s->dir, name, 0); /* nearly whenever: the lock is this one's */
    const int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return mpr_fail_errno(error, s->path, "make a file beside it");
    unlinkat(s->dir, name, 0);
    return fd;
}

static int copy(int from, uint64_t bytes, int to)
{
    loff_t at = 0;
    while (at < (loff_t)bytes) {
        const ssize_t n = copy_file_range(from, &at, to, NULL, bytes - (size_t)at, 0);
        if (n == 0) errno = EIO;
        if (n <= 0) return -1;
    }
    return 0;
}

static bool put(int fd, const void *bytes, size_t count)
{
    const ssize_t n = write(fd, bytes, count);
    if (n >= 0 && (size_t)n < count) errno = ENOSPC;
    return n == (ssize_t)count;
}

static int write_fold(const struct subject *s, const struct mpr_mark *mark,
                      const struct mpr_thinned *thinned, int thin, struct mpr_error *error)
{
    const struct stat *st = &s->map.st;
    uint8_t bytes[MPR_MARK_BYTES];
    const long length = mpr_mark_write(mark, thinned->frames, bytes);
    if (length < 0) return mpr_fail_memory(error, s->path);
    if (put(s->lock, s->map.data, s->header_end) && put(s->lock, bytes, (size_t)length) &&
        copy(thin, thinned->bytes, s->lock) == 0 &&
        (st->st_gid == getegid() || fchown(s->lock, (uid_t)-1, st->st_gid) == 0) &&
        fchmod(s->lock, st->st_mode & 0777) == 0 && fsync(s->lock) == 0)
        return 0;
    return mpr_fail_errno(error, s->path, "write " MPR_FOLDED_SUFFIX " beside it");
}

static int make_fold(const struct subject *s, const struct cut *cut, struct mpr_thinned *thinned,
                     struct mpr_error *error)
{
    const int thin = open_thin(s, error);
    if (thin < 0) return -1;
    int result = mpr_thin(s->path, cut->seq, cut->budget / PARTS * FOLD, thin, thinned, error);
    const uint64_t before = s->folded.state == MPR_FOLDED_USED ? s->folded.mark.events : 0;
    const struct mpr_mark mark = { .seq = cut->seq,
                                   .offset = cut->offset,
                                   .until = thinned->until,
                                   .events = before + thinned->removed,
                                   .grain = thinned->grain };
    if (result == 0) result = write_fold(s, &mark, thinned, thin, error);
    close(thin);
    return result;
}

/* ---- into place */

#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

static int rename_fold(const struct subject *s, struct mpr_error *error)
{
    char new[PATH_MAX], fold[PATH_MAX];
    snprintf(new, sizeof new, "%s" MPR_FOLDED_NEW, s->name);
    snprintf(fold, sizeof fold, "%s" MPR_FOLDED_SUFFIX, s->name);
    if (renameat(s->dir, new, s->dir, fold) != 0 || fsync(s->dir) != 0)
        return mpr_fail_errno(error, s->path, "put " MPR_FOLDED_SUFFIX " beside it");
    return 0;
}

/* No reader has the log open now, and none opens it until this is done. */
static int put_in_place(const struct subject *s, const struct cut *cut, struct mpr_error *error)
{
    if (!mpr_file_is_at(s->dir, s->name, &s->map.st))
        return mpr_fail(error, "%s: it is not the file any more that was read; nothing was changed",
                        s->path);
    if (rename_fold(s, error) != 0) return -1;
    if (fallocate(s->map.fd, PUNCH, (off_t)s->header_end, (off_t)(cut->offset - s->header_end)) ==
            0 ||
        s->ended)
        return 0;
    return mpr_fail_errno(error, s->path, "give room back in");
}

/* The same of two readers of one file: this one's mapping stays. */
static int replace(struct subject *s, const struct cut *cut, struct mpr_compaction *out,
                   struct mpr_error *error)
{
    if (mpr_file_try_lock(s->map.fd)) return put_in_place(s, cut, error);
    out->outcome = MPR_COMPACT_READ;
    return 0;
}

/* ---- one round */

static int fold(struct subject *s, const struct cut *cut, struct mpr_compaction *out,
                struct mpr_error *error)
{
    struct mpr_thinned thinned;
    if (make_fold(s, cut, &thinned, error) != 0) return -1;
    const uint64_t start = s->header.start.mono;
    out->outcome = MPR_COMPACT_FOLDED;
    out->until_ns = thinned.until > start ? thinned.until - start : 0;
    out->before = cut->offset - s->frame[0];
    out->after = thinned.bytes;
    return replace(s, cut, out, error);
}

static int wanted(const struct subject *s, const struct mpf_keep *given, struct mpf_keep *keep,
                  struct mpr_error *error)
{
    const char *text = mpr_header_get(&s->header, "keep");
    if (given) *keep = *given;
    if (given || (text && mpf_keep_read(text, keep))) return 0;
    return mpr_fail(
        error, "%s: it was not recorded with MEMPROF_KEEP; say with --keep how much is to be kept",
        s->path);
}

/* A file system without holes says so of any file.  A log that has ended needs none: of it and its
 * fold recover makes a file anew. */
static int may_punch(const struct subject *s, struct mpr_error *error)
{
    if (s->ended || fallocate(s->lock, PUNCH, 0, 1) == 0 || errno != EOPNOTSUPP) return 0;
    return mpr_fail(
        error,
        "%s: room in it cannot be given back on this file system, which has no holes: it grows until its process has ended",
        s->path);
}

static int ask(struct subject *s, struct mpr_error *error)
{
    struct mpr_journal journal;
    mpr_journal_find(&journal, s->path, &s->map.st, &s->header);
    if (journal.no_memory) return mpr_fail_memory(error, s->path);
    s->ended = mpr_life_find(&s->header, &journal).life == MPR_LIFE_ENDED;
    mpr_journal_free(&journal);
    return 0;
}

static int with_lock(struct subject *s, const struct mpf_keep *given, struct mpr_compaction *out,
                     struct mpr_error *error)
{
    struct mpf_keep keep;
    if (examine(s, error) != 0 || wanted(s, given, &keep, error) != 0 || ask(s, error) != 0)
        return -1;
    const struct cut cut = choose(s, &keep);
    out->outcome = MPR_COMPACT_LITTLE;
    out->ended = s->ended;
    out->next = s->map.size + cut.budget / PARTS * WORTH / 2;
    if (!cut.offset) return 0;
    return may_punch(s, error) == 0 ? fold(s, &cut, out, error) : -1;
}

static int open_log(struct subject *s, struct mpr_error *error)
{
    struct stat st;
    const int fd = mpr_file_open(s->dir, s->name, O_RDWR | O_NOFOLLOW, &st);
    if (fd < 0 && errno == ELOOP)
        return mpr_fail(error, "%s: it is a link; give the log itself", s->path);
    if (fd < 0) return mpr_fail_errno(error, s->path, "open for writing");
    mpr_file_lock_shared(fd);
    if (mpr_file_check_owner(&st, s->path, error) == 0 && st.st_size > 0 &&
        mpr_map_file(&s->map, fd, &st, s->path, error) == 0)
        return 0;
    close(fd);
    return st.st_size > 0 ? -1 : mpr_fail(error, "%s: it is empty", s->path);
}

static int take_lock(struct subject *s, const struct mpf_keep *keep, struct mpr_compaction *out,
                     struct mpr_error *error)
{
    s->lock = mpr_folded_lock(s->dir, s->name, s->path, error);
    if (s->lock < 0) return -1;
    const int result = with_lock(s, keep, out, error);
    mpr_folded_unlock(s->dir, s->name, s->lock);
    return result;
}

static int in_directory(struct subject *s, const struct mpf_keep *keep, const char *run,
                        struct mpr_compaction *out, struct mpr_error *error)
{
    if (open_log(s, error) != 0) return -1;
    int result = read_header(s, error);
    if (result == 0 && run && !is_of_run(&s->header, run)) out->outcome = MPR_COMPACT_OTHER;
    else if (result == 0) result = take_lock(s, keep, out, error);
    mpr_folded_close(&s->folded);
    mpr_header_free(&s->header);
    mpr_map_close(&s->map);
    free(s->frame);
    return result;
}

int mpr_compact(const char *path, const struct mpf_keep *keep, const char *run,
                struct mpr_compaction *out, struct mpr_error *error)
{
    struct subject s = { .path = path, .map.fd = -1, .folded.map.fd = -1 };
    *out = (struct mpr_compaction){ 0 };
    s.dir = mpr_file_directory(path, &s.name, error);
    if (s.dir < 0) return -1;
    const int result = in_directory(&s, keep, run, out, error);
    close(s.dir);
    return result;
}
