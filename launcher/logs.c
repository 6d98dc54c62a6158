#include "logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "folded.h"
#include "header.h"
#include "perf_maps.h"
#include "record.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Returns the directory's entries, or NULL with errno. The caller keeps its descriptor. */
static DIR *list(int dir)
{
    const int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (!d && again >= 0) close(again);
    return d;
}

/* Finds the first entry that memprof did not create, or "". */
static void find_foreign(int dir, char name[NAME_MAX + 1])
{
    const struct dirent *entry;
    DIR *d = list(dir);
    *name = 0;
    while (d && !*name && (entry = readdir(d))) {
        const char *n = entry->d_name;
        if (!strcmp(n, ".") || !strcmp(n, "..") || ends_with(n, ".zst") ||
            ends_with(n, ".journal") || strstr(n, ".zst.fold") || strstr(n, ".zst.digest") ||
            strstr(n, ".zst.symbols") || strstr(n, ".zst.recover") ||
            strstr(n, ".zst" MPR_PERF_MAP_ENDING) || !strcmp(n, MPL_RECORD_NAME))
            continue;
        snprintf(name, NAME_MAX + 1, "%s", n);
    }
    if (d) closedir(d);
}

/* Removes files of killed processes of earlier runs, even if the log does not exist any more. */
static void remove_leftovers(int dir)
{
    static const char suffix[] = ".zst" MPR_FOLDED_NEW;
    struct dirent *entry;
    DIR *d = list(dir);
    while (d && (entry = readdir(d))) {
        if (!ends_with(entry->d_name, suffix)) continue;
        entry->d_name[strlen(entry->d_name) - strlen(MPR_FOLDED_NEW)] = 0;
        mpr_folded_clean(dir, entry->d_name);
    }
    if (d) closedir(d);
}

/* Creates NAME, or the first of NAME.2, NAME.3, ... that does not exist. Returns 0, or -1 with
 * errno. */
static int make_directory(const char *directory, bool usual, char name[PATH_MAX])
{
    snprintf(name, PATH_MAX, "%s", directory);
    int result = mkdir(name, 0775);
    for (int n = 2; result != 0 && errno == EEXIST && usual && n < 1000; n++) {
        snprintf(name, PATH_MAX, "%s.%d", directory, n);
        result = mkdir(name, 0775);
    }
    return result;
}

/* Sets the absolute path, after checking that it leads to the directory. */
static int find_path(struct mpl_logs *logs, const char *name)
{
    struct stat by_path, opened;
    if (!realpath(name, logs->path) || stat(logs->path, &by_path) != 0 ||
        fstat(logs->dir, &opened) != 0)
        return -1;
    if (by_path.st_dev == opened.st_dev && by_path.st_ino == opened.st_ino) return 0;
    errno = ESTALE;
    return -1;
}

/* Returns the reason why the directory must not be used, or NULL. */
static const char *objection(int dir)
{
    struct stat st;
    if (fstat(dir, &st) != 0) return strerror(errno);
    if (st.st_uid != geteuid())
        return "this directory belongs to another user; give one of yours, or a new one";
    if (st.st_mode & S_IWOTH)
        return "every user can write to this directory; give another one, or a new one";
    return NULL;
}

static int take_directory(struct mpl_logs *logs, const char *directory, bool usual, char *reason,
                          size_t cap)
{
    char name[PATH_MAX], foreign[NAME_MAX + 1];
    logs->made = make_directory(directory, usual, name) == 0;
    const bool exists = logs->made || (errno == EEXIST && !usual);
    logs->dir = exists
                    ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (logs->made ? O_NOFOLLOW : 0))
                    : -1;
    const char *why = logs->dir < 0 ? strerror(errno) : objection(logs->dir);
    if (!why && find_path(logs, name) != 0) why = strerror(errno);
    if (why) {
        snprintf(reason, cap, "%s: %s", name, why);
        return -1;
    }
    find_foreign(logs->dir, foreign);
    if (!*foreign) {
        remove_leftovers(logs->dir);
        return 0;
    }
    snprintf(reason, cap, "%s: this directory has other files (%s); give an empty or a new one",
             name, foreign);
    return -1;
}

int mpl_logs_open(struct mpl_logs *logs, const char *directory, const char *program, pid_t pid,
                  char *reason, size_t cap)
{
    char usual[NAME_MAX + 64];
    memset(logs, 0, sizeof *logs);
    clock_gettime(CLOCK_REALTIME_COARSE, &logs->since); /* the clock of file times */
    snprintf(usual, sizeof usual, "memprof.%s.%ld", program, (long)pid);
    if (take_directory(logs, directory ? directory : usual, !directory, reason, cap) == 0) return 0;
    const size_t length = strlen(reason);
    if (!directory)
        snprintf(reason + length, cap - length, "; choose another directory with -o DIR");
    if (logs->dir >= 0) close(logs->dir);
    logs->dir = -1;
    return -1;
}

char *mpl_logs_template(const struct mpl_logs *logs)
{
    static const char name[] = "/%e.%h.%p.zst";
    char *out = malloc(2 * strlen(logs->path) + sizeof name), *p = out;
    if (!out) return NULL;
    for (const char *s = logs->path; *s; s++) {
        if (*s == '%') *p++ = '%'; /* %% is an escaped % */
        *p++ = *s;
    }
    memcpy(p, name, sizeof name);
    return out;
}

static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* If the merge fails, the log and its journal are kept, and reports read both. The log of a process
 * that may still run is also kept, because the process may outlive the command. */
static struct mpr_recovery merge_journal(struct mpl_logs *logs, const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct mpr_recovery recovery;
    struct mpr_error error;
    snprintf(path, sizeof path, "%s/%s", logs->path, name);
    const bool failed = mpr_recover_in(logs->dir, name, path, false, &recovery, &error) != 0;
    if (failed && !recovery.runs && !recovery.may_run && !logs->unmerged++) logs->failure = error;
    logs->recovered += !failed && recovery.outcome == MPR_RECOVER_DONE;
    logs->cut += recovery.cut;
    logs->lossy += recovery.lost > 0;
    logs->lost += recovery.lost;
    return recovery;
}

/* A log whose header cannot be read is assumed to be of this run. */
static bool is_of_run(const struct mpl_logs *logs, const char *name)
{
    struct mpr_header header;
    if (mpr_header_read_file(&header, logs->dir, name) != 0) return true;
    const char *run = mpr_header_get(&header, "run");
    const bool same = !run || strcmp(run, logs->run) == 0;
    mpr_header_free(&header);
    return same;
}

static bool find_log(const struct mpl_logs *logs, const char *name, struct stat *st)
{
    return fstatat(logs->dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

static void add_log(struct mpl_logs *logs, const char *name, bool merge)
{
    struct stat st;
    if (!find_log(logs, name, &st) || is_earlier(&st.st_mtim, &logs->since) ||
        !is_of_run(logs, name))
        return;
    const struct mpr_recovery recovery =
        merge ? merge_journal(logs, name) : (struct mpr_recovery){ 0 };
    if (recovery.runs) logs->running++;
    if (recovery.runs || !find_log(logs, name, &st)) return; /* its process has removed it */
    struct mpl_log *log = &logs->log[logs->count++];
    *log = (struct mpl_log){ .bytes = (uint64_t)st.st_size, .ending = recovery.ending };
    snprintf(log->name, sizeof log->name, "%s", name);
    mpl_perf_map_keep(logs, name, &st);
}

static int is_log(const struct dirent *entry) { return ends_with(entry->d_name, ".zst"); }

/* Lists all names first, because merging replaces files. */
void mpl_logs_survey(struct mpl_logs *logs, bool merge)
{
    struct dirent **entry;
    const int count = scandirat(logs->dir, ".", &entry, is_log, alphasort);
    if (count < 0) return;
    logs->log = calloc((size_t)count, sizeof *logs->log);
    for (int i = 0; i < count; i++) {
        if (logs->log) add_log(logs, entry[i]->d_name, merge);
        free(entry[i]);
    }
    free(entry);
}

void mpl_logs_close(struct mpl_logs *logs)
{
    if (logs->made) rmdir(logs->path);
    close(logs->dir);
    logs->dir = -1;
    free(logs->log);
}
