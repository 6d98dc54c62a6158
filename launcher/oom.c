#include "oom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds the cgroup's path in its hierarchy, in the line "0::PATH" or "N:...,memory,...:PATH". */
static bool own_group(bool v1, char path[PATH_MAX])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX + 256], controllers[256];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        const char *at = strchr(line, ':'), *colon = at ? strchr(at + 1, ':') : NULL;
        if (!colon) continue;
        snprintf(controllers, sizeof controllers, ",%.*s,", (int)(colon - at - 1), at + 1);
        found = v1 ? strstr(controllers, ",memory,") != NULL : colon == at + 1;
        if (found) snprintf(path, PATH_MAX, "%s", colon + 1);
    }
    if (f) fclose(f);
    return found;
}

/* Finds the mount point of the hierarchy, and the cgroup that is mounted there. */
static bool mount_point(bool v1, char root[PATH_MAX], char point[PATH_MAX])
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t cap = 0;
    bool found = false;
    while (f && !found && getline(&line, &cap, f) > 0) {
        char type[64], options[1024];
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(rest, " - %63s %*s %1023s", type, options) != 2) continue;
        const bool right =
            v1 ? !strcmp(type, "cgroup") && strstr(options, "memory") : !strcmp(type, "cgroup2");
        found = right && sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2;
    }
    free(line);
    if (f) fclose(f);
    return found;
}

/* In a container the mounted cgroup may be that of the process, with a path that only the host
 * knows. */
static FILE *open_in_group(bool v1, const char *file)
{
    char group[PATH_MAX], root[PATH_MAX], point[PATH_MAX], path[3 * PATH_MAX];
    if (!own_group(v1, group) || !mount_point(v1, root, point)) return NULL;
    const size_t above = strcmp(root, "/") ? strlen(root) : 0;
    const char *below = strncmp(group, root, above) == 0 ? group + above : "";
    snprintf(path, sizeof path, "%s%s/%s", point, below, file);
    return fopen(path, "re");
}

static long counter(FILE *f, const char *name)
{
    char key[64];
    long value, result = -1;
    while (f && result < 0 && fscanf(f, "%63s %ld", key, &value) == 2) {
        if (strcmp(key, name) == 0) result = value;
    }
    if (f) fclose(f);
    return result;
}

long mpl_oom_kills(void)
{
    const long v1 = counter(open_in_group(true, "memory.oom_control"), "oom_kill");
    return v1 >= 0 ? v1 : counter(open_in_group(false, "memory.events"), "oom_kill");
}

/* ---- the kernel's log */

#define FIRST_NAMESPACE                                                                            \
    0xEFFFFFFCu /* the inode of the first namespace's file: PROC_PID_INIT_INO                      \
                 */

static bool in_first_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_NAMESPACE;
}

int mpl_oom_log_open(void)
{
    const int log =
        in_first_namespace() ? open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (log >= 0) lseek(log, 0, SEEK_END);
    return log;
}

/* Each read returns one record. EPIPE means that records were overwritten before they were read. */
bool mpl_oom_log_next(int log, pid_t *killed)
{
    static const char prefix[] = "Killed process ";
    char record[8192];
    ssize_t n;
    while (log >= 0 && ((n = read(log, record, sizeof record - 1)) > 0 ||
                        (n < 0 && (errno == EPIPE || errno == EINTR)))) {
        record[n > 0 ? n : 0] = 0;
        const char *at = strstr(record, prefix);
        const long pid = at ? strtol(at + strlen(prefix), NULL, 10) : 0;
        if (pid <= 0) continue;
        *killed = (pid_t)pid;
        return true;
    }
    return false;
}
