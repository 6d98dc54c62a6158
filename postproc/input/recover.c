/* Order of writes: cut a torn tail, append SLOTS and END in one write, fsync, remove the journal. */
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames.h"
#include "header.h"
#include "journal.h"
#include "map.h"
#include "mpf/header.h"
#include "pending.h"
#include "process.h"

#define LEVEL 3         /* of zstd */
#define END_BYTES 64u   /* of the END frame's body */

/* What the scan of the log's frames found. */
struct scan {
    struct mpr_header header;
    uint64_t next_seq;          /* of the next frame */
    uint64_t kept_seq;          /* frames that the journal's marks speak of: without SLOTS */
    uint64_t good_end;          /* offset behind the last whole frame */
    bool ended, has_header, has_slots;
};

static void note_frame(struct scan *scan, const struct mpr_frames *frames, const struct mpf_frame *frame)
{
    scan->ended = frame->kind == MPF_FRAME_END;
    scan->next_seq = frames->next_seq;
    scan->good_end = frames->at;
    if (frame->kind == MPF_FRAME_SLOTS) scan->has_slots = true;
    else scan->kept_seq = frames->next_seq;
    if (frame->kind == MPF_FRAME_HEADER && !scan->has_header) {
        scan->has_header = mpr_header_read(&scan->header, frame->body, frame->body_bytes) == 0;
    }
}

static int scan_log(struct scan *scan, const char *path, struct mpr_error *error)
{
    struct mpr_map map;
    struct mpr_frames frames;
    struct mpf_frame frame;
    int got = MPF_ERR_SPACE;
    if (mpr_map_open(&map, path, error) != 0) return -1;
    if (mpr_frames_open(&frames, map.data, map.size) == 0) {
        while ((got = mpr_frames_next(&frames, &frame)) == 1) {
            note_frame(scan, &frames, &frame);
            mpr_map_drop(&map, frames.at);
        }
        mpr_frames_close(&frames);
    }
    mpr_map_close(&map);
    if (got < 0) return mpr_fail(error, "%s: cannot be read: %s", path, mpf_error_text(got));
    if (!scan->has_header)
        return mpr_fail(error,
                        "%s: offset 0: no readable header, so its journal cannot be told; nothing was changed", path);
    return 0;
}

/* ---- the SLOTS frame */

/* Payload of the frame: room for its head, then a journal of only the chunks that hold something. */
struct image { uint8_t *payload; size_t used; };

static void add_chunk(void *arg, const uint8_t *chunk)
{
    struct image *image = arg;
    memcpy(image->payload + image->used, chunk, MPF_CHUNK_BYTES);
    image->used += MPF_CHUNK_BYTES;
}

static int make_image(struct image *image, const struct mpr_pending *pending)
{
    struct mpf_journal head = pending->head;
    image->used = MPF_FRAME_HEAD + MPF_JOURNAL_HEAD;
    image->payload = calloc(1, image->used + pending->chunks * MPF_CHUNK_BYTES);
    if (!image->payload) return -1;
    head.chunks = (uint32_t)pending->chunks;
    head.head_bytes = MPF_JOURNAL_HEAD;
    memcpy(image->payload + MPF_FRAME_HEAD, &head, sizeof head);
    mpr_pending_chunks(pending, add_chunk, image);
    return 0;
}

struct output { uint8_t *bytes; size_t used, cap; ZSTD_CCtx *zstd; };

static int add_frame(struct output *out, int kind, uint64_t seq, uint8_t *payload, size_t body_bytes)
{
    const struct mpf_frame frame = { MPF_MAJOR, MPF_MINOR, (uint8_t)kind, seq, NULL, body_bytes };
    const long length = mpf_frame_write(out->zstd, LEVEL, &frame, payload, out->bytes + out->used,
                                        out->cap - out->used);
    if (length < 0) return -1;
    out->used += (size_t)length;
    return 0;
}

static int add_end(struct output *out, uint64_t seq)
{
    uint8_t payload[MPF_FRAME_HEAD + END_BYTES];
    struct mpf_pairs pairs;
    mpf_pairs_init(&pairs, payload + MPF_FRAME_HEAD, END_BYTES);
    mpf_pairs_add(&pairs, "reason", "recovered");
    return add_frame(out, MPF_FRAME_END, seq, payload, mpf_pairs_bytes(&pairs));
}

static int make_frames(struct output *out, const struct scan *scan, const struct image *image)
{
    uint64_t seq = scan->next_seq;
    out->cap = mpf_frame_bound(image->used) + mpf_frame_bound(END_BYTES);
    out->bytes = malloc(out->cap);
    out->zstd = ZSTD_createCCtx();
    if (!out->bytes || !out->zstd) return -1;
    if (!scan->has_slots && add_frame(out, MPF_FRAME_SLOTS, seq++, image->payload, image->used - MPF_FRAME_HEAD) != 0)
        return -1;
    return add_end(out, seq);
}

/* ---- writing */

static int write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count) {
        const ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        bytes += n;
        count -= (size_t)n;
    }
    return 0;
}

static int append(int fd, const char *path, uint64_t offset, const struct output *out, struct mpr_error *error)
{
    if (ftruncate(fd, (off_t)offset) != 0 || lseek(fd, 0, SEEK_END) < 0) return mpr_fail_errno(error, path, "write");
    if (write_all(fd, out->bytes, out->used) == 0 && fsync(fd) == 0) return 0;
    mpr_fail_errno(error, path, "write");
    if (ftruncate(fd, (off_t)offset) != 0)
        return mpr_fail(error, "%s: cannot write, nor take back what was written", path);
    return -1;
}

static int fold(int fd, const char *path, const struct scan *scan, const struct mpr_journal *journal,
                struct mpr_recovery *recovery,
                struct mpr_error *error)
{
    struct mpr_pending pending;
    struct image image = { 0 };
    struct output out = { 0 };
    const int status = mpr_pending_open(&pending, journal->image, journal->bytes, scan->kept_seq);
    if (status != 0) return mpr_fail(error, "%s: %s", journal->path, mpf_error_text(status));
    recovery->events = pending.events;
    int result = -1;
    if (make_image(&image, &pending) != 0) mpr_fail_memory(error, path);
    else if (image.used - MPF_FRAME_HEAD > MPF_BODY_MAX)
        mpr_fail(error, "%s: too large to fold into one frame; reports read it where it is", journal->path);
    else if (make_frames(&out, scan, &image) != 0) mpr_fail_memory(error, path);
    else result = append(fd, path, scan->good_end, &out, error);
    ZSTD_freeCCtx(out.zstd);
    free(out.bytes);
    free(image.payload);
    mpr_pending_close(&pending);
    return result;
}

/* Not that of the log which this one is a copy of. */
static bool own_journal(const char *journal, int fd)
{
    static const char suffix[] = ".journal";
    char log[PATH_MAX];
    struct stat this, other;
    const size_t bytes = strlen(journal), stem = bytes - strlen(suffix);
    if (bytes < strlen(suffix) || strcmp(journal + stem, suffix) != 0) return true;
    snprintf(log, sizeof log, "%.*s", (int)stem, journal);
    if (stat(log, &other) != 0 || fstat(fd, &this) != 0) return true;
    return this.st_dev == other.st_dev && this.st_ino == other.st_ino;
}

/* Of a process or a recovery that was killed between the log's END and the end of its journal. */
static void remove_left(const char *path, int fd, const struct mpr_header *header)
{
    struct mpr_journal journal;
    if (!mpr_journal_find(&journal, path, header)) return;
    if (own_journal(journal.path, fd)) unlink(journal.path);
    mpr_journal_free(&journal);
}

static int recover_locked(int fd, const char *path, struct mpr_recovery *recovery, struct scan *scan,
                          struct mpr_error *error)
{
    struct mpr_journal journal;
    if (scan_log(scan, path, error) != 0) return -1;
    recovery->outcome = MPR_RECOVER_WHOLE;
    const bool runs = mpr_process_runs(&scan->header);
    if (scan->ended) {
        if (!runs) remove_left(path, fd, &scan->header);
        return 0;
    }
    if (runs)
        return mpr_fail(error, "%s: its process %llu still runs; try again when it has ended", path,
                                                         (unsigned long long)scan->header.pid);
    recovery->outcome = MPR_RECOVER_NOTHING;
    if (!mpr_journal_find(&journal, path, &scan->header)) return 0;
    recovery->outcome = MPR_RECOVER_DONE;
    const int result = fold(fd, path, scan, &journal, recovery, error);
    if (result == 0 && own_journal(journal.path, fd)) unlink(journal.path);
    mpr_journal_free(&journal);
    return result;
}

int mpr_recover(const char *path, struct mpr_recovery *recovery, struct mpr_error *error)
{
    struct scan scan = { 0 };
    *recovery = (struct mpr_recovery){ 0 };
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return mpr_fail_errno(error, path, "open for writing");
    const int result = flock(fd, LOCK_EX) == 0 ? recover_locked(fd, path, recovery, &scan,
        error) : mpr_fail_errno(error, path, "lock");
    mpr_header_free(&scan.header);
    close(fd);
    return result;
}
