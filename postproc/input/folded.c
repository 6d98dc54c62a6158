#include "folded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file.h"
#include "frames.h"
#include "mpf/header.h"

enum { ZSTD_LEVEL = 3, BODY_BYTES = MPR_MARK_BYTES / 2 };

/* ---- the mark */

int mpr_mark_read(struct mpr_mark *mark, const struct mpf_frame *frame)
{
    const struct mpr_pair_number field[] = { { "seq", &mark->seq },
                                             { "offset", &mark->offset },
                                             { "until", &mark->until },
                                             { "events", &mark->events },
                                             { "grain", &mark->grain } };
    *mark = (struct mpr_mark){ 0 };
    mpr_pairs_read_numbers(frame->body, frame->body_bytes, field, sizeof field / sizeof *field);
    return mark->seq >= frame->seq ? MPF_OK : MPF_ERR_DAMAGED;
}

long mpr_mark_write(const struct mpr_mark *mark, uint64_t frames, uint8_t out[MPR_MARK_BYTES])
{
    uint8_t payload[MPF_FRAME_HEAD + BODY_BYTES];
    struct mpf_pairs p;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd) return MPF_ERR_SPACE;
    mpf_pairs_init(&p, payload + MPF_FRAME_HEAD, BODY_BYTES);
    mpf_pairs_add_u64(&p, "seq", mark->seq);
    if (mark->offset) mpf_pairs_add_u64(&p, "offset", mark->offset);
    mpf_pairs_add_u64(&p, "until", mark->until);
    mpf_pairs_add_u64(&p, "events", mark->events);
    mpf_pairs_add_u64(&p, "grain", mark->grain);
    const struct mpf_frame frame = { .major = MPF_MAJOR,
                                     .minor = MPF_MINOR,
                                     .kind = MPF_FRAME_FOLD,
                                     .seq = mark->seq - frames,
                                     .body_bytes = mpf_pairs_bytes(&p) };
    const long length = mpf_frame_write(zstd, ZSTD_LEVEL, &frame, payload, out, MPR_MARK_BYTES);
    ZSTD_freeCCtx(zstd);
    return length;
}

/* ---- LOG.fold */

/* Returns false if the name is too long. */
static bool add_suffix(char out[PATH_MAX], const char *name, const char *suffix)
{
    return snprintf(out, PATH_MAX, "%s%s", name, suffix) < PATH_MAX;
}

/* Returns true if the log was merged with its LOG.fold, which only was not removed then. */
static bool contains_mark(struct mpr_frames *frames, const struct mpr_map *log, size_t header_end,
                          uint64_t seq)
{
    struct mpf_frame frame;
    struct mpr_mark mark;
    mpr_frames_continue(frames, log, header_end);
    return header_end < log->size &&
           mpf_frame_length(log->data + header_end, log->size - header_end) > 0 &&
           mpr_frames_next(frames, &frame) == 1 && frame.kind == MPF_FRAME_FOLD &&
           mpr_mark_read(&mark, &frame) == 0 && mark.seq >= seq;
}

static enum mpr_folded_state read_fold(struct mpr_folded *f, struct mpr_frames *frames,
                                       const struct mpr_map *log, size_t header_end,
                                       const struct mpr_header *header)
{
    static const uint8_t unknown[sizeof header->id];
    struct mpf_frame frame;
    struct mpr_header own;
    if (mpr_frames_next(frames, &frame) != 1) return MPR_FOLDED_DAMAGED;
    if (frame.kind != MPF_FRAME_HEADER || mpr_header_read(&own, frame.body, frame.body_bytes) != 0)
        return MPR_FOLDED_FOREIGN;
    const bool same = memcmp(own.id, unknown, sizeof unknown) != 0 &&
                      memcmp(own.id, header->id, sizeof unknown) == 0;
    mpr_header_free(&own);
    if (!same) return MPR_FOLDED_FOREIGN;
    f->mark_at = frames->at;
    if (mpr_frames_next(frames, &frame) != 1 || frames->damaged || frame.kind != MPF_FRAME_FOLD ||
        mpr_mark_read(&f->mark, &frame) != 0 || f->mark.offset < header_end)
        return MPR_FOLDED_DAMAGED;
    f->frames_at = frames->at;
    f->frames = f->mark.seq - frame.seq;
    return contains_mark(frames, log, header_end, f->mark.seq) ? MPR_FOLDED_NONE : MPR_FOLDED_USED;
}

int mpr_folded_find(struct mpr_folded *f, int directory, const char *name,
                    const struct mpr_map *log, size_t header_end, const struct mpr_header *header)
{
    char file[PATH_MAX];
    struct mpr_error error;
    struct mpr_frames frames;
    struct stat st;
    *f = (struct mpr_folded){ .map.fd = -1 };
    if (!add_suffix(file, name, MPR_FOLDED_SUFFIX)) return 0;
    const int fd = mpr_file_open(directory, file, O_RDONLY | O_NOFOLLOW, &st);
    f->exists = fd >= 0;
    if (fd < 0) return 0;
    f->state = MPR_FOLDED_FOREIGN;
    int result = 0;
    if (st.st_uid == log->st.st_uid &&
        (result = mpr_map_file(&f->map, fd, &st, file, &error)) == 0) {
        if (mpr_frames_open(&frames, &f->map) == 0) {
            f->state = read_fold(f, &frames, log, header_end, header);
            mpr_frames_close(&frames);
        } else result = -1;
    } else close(fd);
    if (f->state == MPR_FOLDED_USED) return result;
    mpr_map_close(&f->map);
    f->map.st = st;
    return result;
}

void mpr_folded_close(struct mpr_folded *f) { mpr_map_close(&f->map); }

/* ---- the lock */

/* A file that a killed process left is used if it is a regular file of this user. */
int mpr_folded_lock(int directory, const char *name, const char *path, struct mpr_error *error)
{
    char file[PATH_MAX];
    struct stat st;
    if (!add_suffix(file, name, MPR_FOLDED_NEW))
        return mpr_fail(error, "%s: the name is too long", path);
    const int fd =
        openat(directory, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    const bool own = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                     st.st_uid == geteuid() && st.st_nlink == 1;
    if (fd >= 0 && !own) errno = EEXIST;
    if (!own) mpr_fail_errno(error, path, "create its " MPR_FOLDED_NEW " file");
    else if (mpr_file_try_lock(fd) && fstat(fd, &st) == 0 && mpr_file_is_at(directory, file, &st)) {
        if (ftruncate(fd, 0) == 0) return fd;
        mpr_fail_errno(error, path, "empty its " MPR_FOLDED_NEW " file");
    } else
        mpr_fail(error,
                 "%s: another memprof-report is changing this log; try again when it has ended",
                 path);
    if (fd >= 0) close(fd);
    return -1;
}

/* On a file system without locks the file stays, because nothing shows that it is unused. */
void mpr_folded_clean(int directory, const char *name)
{
    char file[PATH_MAX];
    struct stat st;
    if (!add_suffix(file, name, MPR_FOLDED_NEW)) return;
    const int fd = mpr_file_open(directory, file, O_RDWR | O_NOFOLLOW, &st);
    if (fd < 0) return;
    if (st.st_uid == geteuid() && st.st_nlink == 1 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        mpr_file_is_at(directory, file, &st))
        unlinkat(directory, file, 0);
    close(fd);
}

void mpr_folded_unlock(int directory, const char *name, int lock)
{
    char file[PATH_MAX];
    struct stat st;
    if (add_suffix(file, name, MPR_FOLDED_NEW) && fstat(lock, &st) == 0 &&
        mpr_file_is_at(directory, file, &st))
        unlinkat(directory, file, 0);
    close(lock);
}
