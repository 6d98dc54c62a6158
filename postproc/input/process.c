/* A number is no process: another may have it by now, and in every namespace another has it.  So a
 * process is known by its number with its start time, within one boot of one kernel; and that it is
 * gone is said only by who would see it. */
#include "life.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpf/header.h"

/* PROC_PID_INIT_INO: the namespace from which all others are seen */
#define FIRST_PIDNS UINT64_C(0xeffffffc)

__attribute__((format(printf, 2, 3))) static struct mpr_verdict verdict(enum mpr_life life,
                                                                        const char *format, ...)
{
    struct mpr_verdict v = { .life = life };
    va_list list;
    va_start(list, format);
    vsnprintf(v.why, sizeof v.why, format, list);
    va_end(list);
    return v;
}

/* A small file; its bytes, 0 when it cannot be read. */
static size_t slurp(const char *path, char *text, size_t cap)
{
    FILE *file = fopen(path, "re");
    const size_t bytes = file ? fread(text, 1, cap - 1, file) : 0;
    if (file) fclose(file);
    text[bytes] = 0;
    return bytes;
}

/* 0: it cannot be seen. */
static uint64_t inode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

void mpr_process_here(struct mpf_identity *here)
{
    char text[64];
    *here = (struct mpf_identity){ .pidns = inode_of("/proc/self/ns/pid"),
                                   .timens = inode_of("/proc/self/ns/time") };
    if (slurp("/proc/sys/kernel/random/boot_id", text, sizeof text)) mpf_hex_read(text, here->boot);
}

/* ---- what /proc says */

struct found {
    char state;
    uint64_t threads, started;
};

static bool look(uint64_t pid, struct found *found)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    const char *after_name = slurp(path, line, sizeof line) ? strrchr(line, ')') : NULL;
    return after_name &&
           sscanf(after_name,
                  ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu64
                  " %*d %" SCNu64,
                  &found->state, &found->threads, &found->started) == 3;
}

/* The main thread may be a zombie while others go on. */
static bool alive(const struct found *found)
{
    return (found->state != 'Z' && found->state != 'X') || found->threads > 1;
}

/* Its number in the innermost namespace that it is in; 0: not known. */
static uint64_t innermost(uint64_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", pid);
    const char *line = slurp(path, text, sizeof text) ? strstr(text, "\nNSpid:") : NULL;
    if (!line) return 0;
    const char *end = strchr(line + 1, '\n'), *number = end ? end : text + strlen(text);
    while (number[-1] != '\t' && number[-1] != ':') number--;
    return strtoull(number, NULL, 10);
}

/* Is /proc that of this namespace? */
static bool own_proc(void)
{
    char text[32] = "";
    return readlink("/proc/self", text, sizeof text - 1) > 0 && strtol(text, NULL, 10) == getpid();
}

/* ---- where it may be */

static struct mpr_verdict in_this_namespace(const struct mpr_header *h)
{
    struct found found;
    if (look(h->pid, &found)) {
        if (found.started != h->identity.started)
            return verdict(MPR_LIFE_ENDED,
                           "its number %" PRIu64 " is that of another process by now", h->pid);
        return alive(&found) ? verdict(MPR_LIFE_RUNS, "process %" PRIu64 " is there", h->pid)
                             : verdict(MPR_LIFE_ENDED, "process %" PRIu64 " is a zombie", h->pid);
    }
    if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH)
        return verdict(MPR_LIFE_ENDED, "there is no process %" PRIu64 " any more", h->pid);
    return verdict(MPR_LIFE_UNKNOWN,
                   "there is a process %" PRIu64 ", but /proc hides when it started", h->pid);
}

/* Is it that process, seen from an outer namespace?  Where /proc hides which namespace it is in,
 * what looks the same is taken for it. */
static bool is_it(const struct mpr_header *h, uint64_t pid)
{
    struct found found;
    char path[64];
    if (!look(pid, &found) || found.started != h->identity.started || !alive(&found) ||
        innermost(pid) != h->pid)
        return false;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/ns/pid", pid);
    const uint64_t pidns = inode_of(path);
    return !pidns || pidns == h->identity.pidns;
}

/* Its number here; 0: it is not seen. */
static uint64_t find(const struct mpr_header *h)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    uint64_t pid = 0;
    while (proc && !pid && (entry = readdir(proc))) {
        const uint64_t number = strtoull(entry->d_name, NULL, 10);
        if (number && is_it(h, number)) pid = number;
    }
    if (proc) closedir(proc);
    return pid;
}

static struct mpr_verdict in_another_namespace(const struct mpr_header *h,
                                               const struct mpf_identity *here)
{
    struct found first;
    const uint64_t pid = find(h);
    if (pid) return verdict(MPR_LIFE_RUNS, "it is process %" PRIu64 " here", pid);
    /* hidepid hides the first process, too */
    if (here->pidns == FIRST_PIDNS && look(1, &first))
        return verdict(MPR_LIFE_ENDED, "no process of any namespace is it any more");
    return verdict(MPR_LIFE_UNKNOWN,
                   "it ran in another namespace of process numbers, which is not seen from here");
}

struct mpr_verdict mpr_process_tell(const struct mpr_header *h)
{
    static const uint8_t none[sizeof h->identity.boot];
    const struct mpf_identity *its = &h->identity;
    struct mpf_identity here;
    mpr_process_here(&here);
    if (memcmp(its->boot, none, sizeof none) == 0 || !its->pidns || !its->started || !h->pid ||
        h->pid > INT32_MAX)
        return verdict(MPR_LIFE_UNKNOWN,
                       "its log does not say which process of that number it was");
    if (memcmp(its->boot, here.boot, sizeof here.boot) != 0) {
        const char *host = mpr_header_get(h, "host");
        return verdict(MPR_LIFE_UNKNOWN,
                       "it ran on host %.64s, and not under this boot of this machine",
                       host ? host : "?");
    }
    if (its->timens != here.timens)
        return verdict(MPR_LIFE_UNKNOWN, "it ran in another namespace of time");
    if (!own_proc()) return verdict(MPR_LIFE_UNKNOWN, "there is no /proc here that shows it");
    return its->pidns == here.pidns ? in_this_namespace(h) : in_another_namespace(h, &here);
}
