/* Process numbers are reused, and each namespace has its own.  So a process is identified by its
 * number, its start time, and the boot of its kernel; and it has ended only if this process would
 * see it otherwise. */
#include "life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "mpf/header.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { LOOKS = 10, LOOK_NS = 10000000 };

/* PROC_PID_INIT_INO, the first pid namespace, which sees all processes */
#define FIRST_PIDNS UINT64_C(0xeffffffc)

/* From the last beat of a journal, which are 100 ms apart, to the end that the launcher records,
 * which is after the memory of the process was released. */
#define BEAT_TO_END_MAX_NS UINT64_C(1000000000)

__attribute__((format(printf, 2, 3))) static struct mpr_life_verdict verdict(enum mpr_life life,
                                                                             const char *format,
                                                                             ...)
{
    struct mpr_life_verdict v = { .life = life };
    va_list list;
    va_start(list, format);
    vsnprintf(v.why, sizeof v.why, format, list);
    va_end(list);
    return v;
}

/* ---- /proc */

/* Reads a small file.  Returns its bytes, or 0 if it cannot be read. */
static size_t read_text(const char *path, char *text, size_t cap)
{
    FILE *file = fopen(path, "re");
    const size_t bytes = file ? fread(text, 1, cap - 1, file) : 0;
    if (file) fclose(file);
    text[bytes] = 0;
    return bytes;
}

/* Returns the inode of a file, or 0 if it is not visible. */
static uint64_t inode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

void mpr_life_own_identity(struct mpf_identity *identity)
{
    char boot[64];
    *identity = (struct mpf_identity){ .pidns = inode_of("/proc/self/ns/pid"),
                                       .timens = inode_of("/proc/self/ns/time") };
    if (read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot))
        mpf_hex_read(boot, identity->boot);
}

bool mpr_life_same_boot(const struct mpf_identity *process)
{
    struct mpf_identity own;
    mpr_life_own_identity(&own);
    return memcmp(own.boot, process->boot, sizeof own.boot) == 0;
}

bool mpr_life_same_clock(const struct mpf_identity *process)
{
    struct mpf_identity own;
    mpr_life_own_identity(&own);
    return process->started && own.timens == process->timens && mpr_life_same_boot(process);
}

struct process {
    char state;
    uint64_t threads, started;
};

static bool read_process(uint64_t pid, struct process *process)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    const char *after_name = read_text(path, line, sizeof line) ? strrchr(line, ')') : NULL;
    return after_name &&
           sscanf(after_name,
                  ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu64
                  " %*d %" SCNu64,
                  &process->state, &process->threads, &process->started) == 3;
}

/* The main thread may be a zombie while other threads run. */
static bool is_alive(const struct process *process)
{
    return (process->state != 'Z' && process->state != 'X') || process->threads > 1;
}

/* ---- the process */

static struct mpr_life_verdict find_in_own_namespace(const struct mpr_header *h)
{
    struct process process;
    if (read_process(h->pid, &process)) {
        if (process.started != h->identity.started)
            return verdict(MPR_LIFE_ENDED, "number %" PRIu64 " is now another process", h->pid);
        return is_alive(&process)
                   ? verdict(MPR_LIFE_RUNS, "process %" PRIu64 " exists", h->pid)
                   : verdict(MPR_LIFE_ENDED, "process %" PRIu64 " is a zombie", h->pid);
    }
    if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH)
        return verdict(MPR_LIFE_ENDED, "process %" PRIu64 " does not exist", h->pid);
    return verdict(MPR_LIFE_UNKNOWN, "process %" PRIu64 " exists, but /proc hides its start time",
                   h->pid);
}

/* Returns true if the process that has this number in our namespace is that of the header.  If
 * /proc hides its namespace, number and start time suffice. */
static bool is_process_of(const struct mpr_header *h, uint64_t pid)
{
    struct process process;
    char path[64], text[4096];
    if (!read_process(pid, &process) || process.started != h->identity.started ||
        !is_alive(&process))
        return false;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", pid);
    const char *line = read_text(path, text, sizeof text) ? strstr(text, "\nNSpid:") : NULL;
    if (!line) return false;
    /* The last number is the one in its own namespace. */
    const char *end = strchr(line + 1, '\n'), *number = end ? end : text + strlen(text);
    while (number[-1] != '\t' && number[-1] != ':') number--;
    if (strtoull(number, NULL, 10) != h->pid) return false;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/ns/pid", pid);
    const uint64_t pidns = inode_of(path);
    return !pidns || pidns == h->identity.pidns;
}

static struct mpr_life_verdict find_in_other_namespace(const struct mpr_header *h,
                                                       const struct mpf_identity *own)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    uint64_t pid = 0;
    while (proc && !pid && (entry = readdir(proc))) {
        const uint64_t number = strtoull(entry->d_name, NULL, 10);
        if (number && is_process_of(h, number)) pid = number;
    }
    if (proc) closedir(proc);
    if (pid) return verdict(MPR_LIFE_RUNS, "its number here is %" PRIu64, pid);
    /* With hidepid even the first process is hidden. */
    struct process first;
    if (own->pidns == FIRST_PIDNS && read_process(1, &first))
        return verdict(MPR_LIFE_ENDED, "no pid namespace has this process any more");
    return verdict(MPR_LIFE_UNKNOWN, "it ran in another pid namespace, which is not visible here");
}

static struct mpr_life_verdict find_by_number(const struct mpr_header *h)
{
    static const uint8_t unknown[sizeof h->identity.boot];
    const struct mpf_identity *identity = &h->identity;
    struct mpf_identity own;
    char self[32] = "";
    mpr_life_own_identity(&own);
    if (memcmp(identity->boot, unknown, sizeof unknown) == 0 || !identity->pidns ||
        !identity->started || !h->pid || h->pid > INT32_MAX)
        return verdict(MPR_LIFE_UNKNOWN, "the log does not have its start time");
    if (memcmp(identity->boot, own.boot, sizeof own.boot) != 0) {
        const char *host = mpr_header_get(h, "host");
        return verdict(MPR_LIFE_UNKNOWN, "it ran on host %.64s, or before this machine was booted",
                       host ? host : "?");
    }
    if (identity->timens != own.timens)
        return verdict(MPR_LIFE_UNKNOWN, "it ran in another time namespace");
    /* /proc must be the one of this namespace. */
    if (readlink("/proc/self", self, sizeof self - 1) <= 0 || strtol(self, NULL, 10) != getpid())
        return verdict(MPR_LIFE_UNKNOWN, "/proc does not show its pid namespace");
    return identity->pidns == own.pidns ? find_in_own_namespace(h)
                                        : find_in_other_namespace(h, &own);
}

/* ---- the lock of its journal */

enum lock_holder { NO_HOLDER, THE_PROCESS, ANOTHER_HOLDER, UNKNOWN_HOLDER };

/* Returns the holder of the lock on byte 0 of the journal.  The process locks just that byte, with
 * a lock of the open file (l_pid is -1).  Another lock there proves that the process has released
 * its own, because the two would conflict.  That needs a file system that shows all locks: not an
 * overlay, and not one that other hosts can mount. */
static enum lock_holder find_lock_holder(const struct mpr_journal *j)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    struct statfs fs;
    if (!j->image || !(j->head.flags & MPF_JOURNAL_LOCKED) ||
        !mpr_life_same_file(&j->head.self, &j->head.process, &j->st))
        return UNKNOWN_HOLDER;
    if (fcntl(j->fd, F_OFD_GETLK, &lock) != 0) return UNKNOWN_HOLDER;
    if (lock.l_type != F_UNLCK && lock.l_pid == -1 && lock.l_start == 0 && lock.l_len == 1)
        return THE_PROCESS;
    const unsigned long type = fstatfs(j->fd, &fs) == 0 ? (unsigned long)fs.f_type : 0;
    if (type != EXT4_SUPER_MAGIC && type != XFS_SUPER_MAGIC && type != TMPFS_MAGIC)
        return UNKNOWN_HOLDER;
    return lock.l_type == F_UNLCK ? NO_HOLDER : ANOTHER_HOLDER;
}

/* If the process has ended, waits until its lock is released.  A reader of /proc/PID/maps can keep
 * its memory, and so the lock, a little longer.  Returns false if the process still has the lock.
 */
static bool wait_for_release(const struct mpr_header *header, const struct mpr_journal *journal)
{
    if (find_by_number(header).life != MPR_LIFE_ENDED) return false;
    for (int i = 0; i < LOOKS; i++) {
        if (find_lock_holder(journal) != THE_PROCESS) return true;
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
    }
    return false;
}

struct mpr_life_verdict mpr_life_find(const struct mpr_header *header,
                                      const struct mpr_journal *journal)
{
    switch (find_lock_holder(journal)) {
    case THE_PROCESS:
        if (!wait_for_release(header, journal))
            return verdict(MPR_LIFE_RUNS, "it has locked its journal");
        __attribute__((fallthrough));
    case NO_HOLDER: return verdict(MPR_LIFE_ENDED, "the lock of its journal is free");
    case ANOTHER_HOLDER: return verdict(MPR_LIFE_ENDED, "another process has locked its journal");
    case UNKNOWN_HOLDER: break;
    }
    /* A log of a format before 1.2 whose journal is gone: a process that runs has a journal. */
    if (!header->identity.started && !journal->image)
        return verdict(MPR_LIFE_ENDED, "it left no journal");
    return find_by_number(header);
}

/* ---- copies */

bool mpr_life_same_file(const struct mpf_file *recorded, const struct mpf_identity *process,
                        const struct stat *st)
{
    return recorded->ino && recorded->ino == st->st_ino &&
           (recorded->dev == st->st_dev || !mpr_life_same_boot(process));
}

/* On an overlay a journal has no lock, and its device gets a new number with each mount. */
static bool is_recorded_file(const struct mpf_journal *head, const struct mpf_file *recorded,
                             const struct stat *st)
{
    const bool on_overlay = !(head->flags & MPF_JOURNAL_LOCKED) && major(head->self.dev) == 0;
    return mpr_life_same_file(recorded, &head->process, st) ||
           (recorded->ino && recorded->ino == st->st_ino && on_overlay);
}

static bool is_original_journal(const struct mpr_journal *j)
{
    return is_recorded_file(&j->head, &j->head.self, &j->st);
}

static bool is_original_log(const struct mpf_journal *head, const struct stat *log)
{
    return is_recorded_file(head, &head->log, log) || is_recorded_file(head, &head->heir, log);
}

bool mpr_life_is_copy(const struct mpr_journal *journal, const struct stat *log)
{
    const struct mpf_journal *head = &journal->head;
    return journal->image && head->self.ino && head->log.ino &&
           !(is_original_journal(journal) && is_original_log(head, log));
}

/* Returns the CLOCK_REALTIME ns at which a file was created here; when it was last changed, if the
 * file system does not keep that; or 0 if unknown.
 *
 * It can only show that a copy is too early.  A late one proves nothing: a copy of a copy, or a
 * file from an archive, is newer than its contents. */
static uint64_t creation_time(int fd)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_CTIME, &st) != 0) return 0;
    const struct statx_timestamp *at = (st.stx_mask & STATX_BTIME) ? &st.stx_btime : &st.stx_ctime;
    return at->tv_sec > 0 ? (uint64_t)at->tv_sec * 1000000000u + at->tv_nsec : 0;
}

bool mpr_life_copy_may_miss(const struct mpr_copied *c)
{
    const struct mpf_journal *head = &c->journal->head;
    if (!mpr_life_is_copy(c->journal, c->log)) return false;
    if (c->newest_frame < head->last.mono) return true; /* the log was copied too early */
    if (is_original_journal(c->journal)) return c->life != MPR_LIFE_ENDED;
    /* The copy is complete if a signal ended the process just after the journal's last beat, and
     * every copy was begun after that. */
    const bool had_ended =
        c->end.known && c->end.how == MPR_RUN_SIGNAL && c->end.mono >= head->beat &&
        c->end.mono - head->beat <= BEAT_TO_END_MAX_NS &&
        creation_time(c->journal->fd) > c->end.real &&
        (is_original_log(head, c->log) || creation_time(c->log_fd) > c->end.real);
    return !had_ended;
}
