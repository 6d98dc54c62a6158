#include "logs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* The first entry that memprof did not make, or "". */
static void find_foreign(DIR *directory, char name[NAME_MAX + 1])
{
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        const char *n = entry->d_name;
        if (!strcmp(n, ".") || !strcmp(n, "..") || ends_with(n, ".zst") || ends_with(n, ".journal")) continue;
        snprintf(name, NAME_MAX + 1, "%s", n);
        return;
    }
    *name = 0;
}

int mp_logs_open(struct mp_logs *logs, const char *directory, char *reason, size_t cap)
{
    memset(logs, 0, sizeof *logs);
    clock_gettime(CLOCK_REALTIME_COARSE, &logs->since);     /* the clock of file times */
    logs->made = mkdir(directory, 0777) == 0;
    DIR *d = logs->made || errno == EEXIST ? opendir(directory) : NULL;
    char foreign[NAME_MAX + 1] = "";
    if (!d || !realpath(directory, logs->path)) {
        snprintf(reason, cap, "%s: %s", directory, strerror(errno));
        if (d) closedir(d);
        return -1;
    }
    find_foreign(d, foreign);
    closedir(d);
    if (!*foreign) return 0;
    snprintf(reason, cap, "%s holds other files (%s); give an empty or a new directory", directory, foreign);
    return -1;
}

char *mp_logs_template(const struct mp_logs *logs)
{
    static const char name[] = "/%e.%h.%p.zst";
    char *out = malloc(2 * strlen(logs->path) + sizeof name), *p = out;
    if (!out) return NULL;
    for (const char *s = logs->path; *s; s++) {
        if (*s == '%') *p++ = '%';      /* %% stands for % */
        *p++ = *s;
    }
    memcpy(p, name, sizeof name);
    return out;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* A log that cannot be folded stays readable beside its journal; a report tells why. */
static bool fold_journal(const char *path)
{
    struct mpr_recovery recovery;
    struct mpr_error error;
    return mpr_recover(path, &recovery, &error) == 0 && recovery.outcome == MPR_RECOVER_DONE;
}

static void take(struct mp_logs *logs, const char *name, bool fold)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", logs->path, name);
    if (stat(path, &st) != 0 || before(&st.st_mtim, &logs->since)) return;
    logs->count++;
    if (fold && fold_journal(path)) logs->recovered++;
    if (stat(path, &st) != 0 || (size_t)st.st_size < logs->bytes) return;
    logs->bytes = (size_t)st.st_size;
    snprintf(logs->biggest, sizeof logs->biggest, "%s", name);
}

void mp_logs_survey(struct mp_logs *logs, bool fold)
{
    DIR *d = opendir(logs->path);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (ends_with(entry->d_name, ".zst")) take(logs, entry->d_name, fold);
    }
    if (d) closedir(d);
}

void mp_logs_close(const struct mp_logs *logs)
{
    if (logs->made) rmdir(logs->path);
}
