/* A log is opened: of a running process its frames and its journal are taken at one instant; what
 * of it was folded, first. */
#include "log_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "file.h"
#include "mpf/header.h"

#define SNAPSHOTS 10 /* attempts: a busy process writes some frames a second */

static bool is_journal(const struct mpr_map *map)
{
    return map->size >= sizeof(struct mpf_journal) && memcmp(map->data, MPF_JOURNAL_MAGIC, 8) == 0;
}

/* Its threads go on while the journal is copied: only up to when that began does the copy hold what
 * all of them did.  Before its first frame a journal does not say how long a tick is; it holds
 * little then. */
static uint64_t until(const struct mpr_log *log, uint64_t began)
{
    const struct mpf_journal *head = &log->journal.head;
    if (!log->journal.image || !mpr_life_same_clock(&log->header.identity)) return 0;
    return head->last.ticks > head->start.ticks && began > log->header.start.mono
               ? began - log->header.start.mono
               : 0;
}

static int map_again(struct mpr_log *log, uint64_t bytes, struct mpr_error *error)
{
    const off_t had = log->map.st.st_size;
    mpr_map_close(&log->map);
    if (mpr_map_open(&log->map, log->path, error) != 0) return -1;
    if (log->map.st.st_size < had) return mpr_log_truncated(log, error);
    if (bytes < log->map.size) log->map.size = (size_t)bytes;
    log->status.bytes = log->map.size;
    mpr_frames_turn(&log->frames, &log->map, log->frames.at);
    return 0;
}

/* A running process moves events from its journal to its log: both are taken at one instant,
 * between two frames. */
static int snapshot(struct mpr_log *log, struct mpr_error *error)
{
    struct stat before, after;
    for (int attempt = 0; attempt < SNAPSHOTS; attempt++) {
        struct timespec now;
        if (stat(log->path, &before) != 0) return mpr_fail_errno(error, log->path, "examine");
        clock_gettime(CLOCK_MONOTONIC, &now);
        mpr_journal_free(&log->journal);
        mpr_journal_find(&log->journal, log->path, &before, &log->header);
        log->until = until(log, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
        if (stat(log->path, &after) == 0 && before.st_size == after.st_size) break;
    }
    return map_again(log, (uint64_t)before.st_size, error);
}

/* A log that names a journal which is not there is whole, as a rule: of that one it is asked at its
 * end, if it has none. */
static int take(struct mpr_log *log, struct mpr_error *error)
{
    log->followed = log->followed && mpr_log_may_grow(log);
    if (log->followed) return map_again(log, UINT64_MAX, error);
    if (mpr_journal_find(&log->journal, log->path, &log->map.st, &log->header) ||
        !mpr_header_get(&log->header, "journal"))
        mpr_log_ask(log);
    const bool ended = log->asked && log->status.process.life == MPR_LIFE_ENDED;
    if ((ended ? map_again(log, UINT64_MAX, error) : snapshot(log, error)) != 0) return -1;
    return log->journal.no_memory ? mpr_fail_memory(error, log->path) : 0;
}

/* Its name in the folder that holds it: a link may lead there. */
static void find_path(const struct mpr_log *log, char path[PATH_MAX])
{
    if (!realpath(log->path, path)) snprintf(path, PATH_MAX, "%s", log->path);
}

/* Goes on in LOG.fold, if the log's beginning was folded. */
static int open_fold(struct mpr_log *log, struct mpr_error *error)
{
    static const enum mpr_log_folded told[] = {
        [MPR_FOLDED_FOREIGN] = MPR_LOG_FOREIGN, [MPR_FOLDED_DAMAGED] = MPR_LOG_DAMAGED
    };
    struct mpr_folded *f = &log->folded;
    char path[PATH_MAX];
    if (!log->status.has_header) return 0;
    find_path(log, path);
    if (mpr_folded_find(f, AT_FDCWD, path, &log->map, log->frames.at, &log->header) != 0)
        return mpr_fail_memory(error, log->path);
    if (f->state != MPR_FOLDED_USED) {
        log->status.fold.state = told[f->state];
        return 0;
    }
    mpr_frames_turn(&log->frames, &f->map, f->mark_at);
    log->read_from = &f->map;
    log->frame_offset = log->frames.at;
    log->status.fold.bytes = f->map.size;
    log->status.bytes =
        f->map.size + (log->map.size > f->mark.offset ? log->map.size - f->mark.offset : 0);
    return 0;
}

/* The first frame must be readable as a header, or something behind it as frames: else it is no
 * log. */
static int open_first(struct mpr_log *log, struct mpr_error *error)
{
    const int got = mpr_log_next_frame(log, error);
    if (log->map.changed) return mpr_log_truncated(log, error);
    if (got < 0) return -1;
    if (got == 0)
        return mpr_fail(error, "%s: no memprof log (%s); give a file that memprof wrote", log->path,
                        log->map.size ? "offset 0: no readable frame" : "it is empty");
    if (log->reading) return 0;
    return take(log, error) != 0 ? -1 : open_fold(log, error);
}

static int open_lone_journal(struct mpr_log *log, struct mpr_error *error)
{
    const bool good = mpr_journal_load(&log->journal, log->path);
    if (log->journal.no_memory) return mpr_fail_memory(error, log->path);
    if (!good)
        return mpr_fail(error, "%s: offset 0: damaged journal; nothing can be read", log->path);
    if (mpr_header_from_journal(&log->header, &log->journal.head) != 0)
        return mpr_fail_memory(error, log->path);
    log->status.journal_only = true;
    return mpr_log_join_journal(log, error);
}

/* Of a log that was folded the beginning may be there alone. */
static int no_file(const struct mpr_log *log, struct mpr_error *error)
{
    char fold[PATH_MAX];
    const int length = snprintf(fold, sizeof fold, "%s.fold", log->path);
    struct stat st;
    if (stat(log->path, &st) == 0 || length >= PATH_MAX || stat(fold, &st) != 0) return -1;
    return mpr_fail(error,
                    "%s: it is not there, and with it the newest part, which is kept whole; give "
                    "%s for what was before",
                    log->path, fold);
}

static int open_file(struct mpr_log *log, struct mpr_error *error)
{
    if (mpr_map_open(&log->map, log->path, error) != 0) return no_file(log, error);
    log->status.bytes = log->map.size;
    if (is_journal(&log->map)) return open_lone_journal(log, error);
    if (mpr_frames_open(&log->frames, &log->map) != 0) return mpr_fail_memory(error, log->path);
    return open_first(log, error);
}

static int open_log(struct mpr_log **out, const char *path, bool followed, struct mpr_error *error)
{
    struct mpr_log *log = calloc(1, sizeof *log);
    if (!log) return mpr_fail_memory(error, path);
    log->status.bad_offset = MPR_NO_OFFSET;
    log->journal.fd = log->map.fd = log->folded.map.fd = -1;
    log->read_from = &log->map;
    log->stop_after = UINT64_MAX;
    log->lent = log->followed = followed;
    log->path = strdup(path);
    log->data = malloc(MPR_LOG_DATA_BYTES);
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
