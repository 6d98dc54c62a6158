#include "perf_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "log.h"
#include "tell.h"

/* Reads the ID and the start time of the log's process. Returns false if they are unknown. */
static bool read_process(const struct mpl_logs *logs, const char *name, uint64_t *pid,
                         uint64_t *start)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct mpr_log *log;
    struct mpr_error error;
    snprintf(path, sizeof path, "%s/%s", logs->path, name);
    if (mpr_log_open(&log, path, &error) != 0) return false;
    *pid = mpr_log_header(log)->pid;
    *start = mpr_log_header(log)->start.real;
    mpr_log_close(log);
    return *pid != 0;
}

/* The clock of file times may be a few milliseconds late. */
static bool is_of(const struct stat *map, const struct stat *log, uint64_t start)
{
    enum { BEHIND_NS = 20000000 };
    const uint64_t changed =
        (uint64_t)map->st_mtim.tv_sec * 1000000000u + (uint64_t)map->st_mtim.tv_nsec;
    return map->st_uid == log->st_uid && !(map->st_mode & S_IWOTH) && changed + BEHIND_NS >= start;
}

static int copy(int from, int to, off_t bytes)
{
    ssize_t done = 0;
    while (bytes > 0 && (done = sendfile(to, from, NULL, (size_t)bytes)) > 0) bytes -= done;
    return done < 0 ? -1 : 0;
}

static int copy_beside(const struct mpl_logs *logs, const char *name, const struct stat *log,
                       int map, const struct stat *st)
{
    char kept[NAME_MAX + 1], part[NAME_MAX + 1];
    if (snprintf(part, sizeof part, "%s" MPR_PERF_MAP_ENDING ".part", name) >= (int)sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(kept, sizeof kept, "%s" MPR_PERF_MAP_ENDING, name);
    const int to = mpr_file_open_part(logs->dir, part, log->st_mode & 0666);
    if (to < 0) return -1;
    int result = copy(map, to, st->st_size);
    if (result == 0) result = renameat(logs->dir, part, logs->dir, kept);
    const int failed = errno;
    if (result != 0) unlinkat(logs->dir, part, 0);
    close(to);
    errno = failed;
    return result;
}

void mpl_perf_map_keep(const struct mpl_logs *logs, const char *name, const struct stat *log)
{
    char path[64];
    uint64_t pid, start;
    struct stat st;
    if (!read_process(logs, name, &pid, &start)) return;
    snprintf(path, sizeof path, "/tmp/perf-%" PRIu64 ".map", pid);
    const int map = mpr_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &st);
    if (map < 0) return;
    if (is_of(&st, log, start)) {
        if (st.st_size > MPR_PERF_MAP_MAX) mpl_say("%s: too large to keep", path);
        else if (st.st_size && copy_beside(logs, name, log, map, &st) != 0)
            mpl_say("%s: cannot copy it to the directory of the log: %s", path, strerror(errno));
    }
    close(map);
}
