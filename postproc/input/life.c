#include "life.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { LOOKS = 10, LOOK_NS = 10000000 };

enum holder { NOBODY, THE_PROCESS, SOMEBODY, NOT_KNOWN };

/* Whose locks a file system shows here are all that there are: not where another host has it, too,
 * nor through an overlay. */
static bool shows_all_locks(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0) return false;
    const unsigned long type = (unsigned long)fs.f_type;
    return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

/* Who has byte 0.  The process locks that byte alone, for an open file (l_pid is -1); a lock of
 * anyone else there means that the process's is gone, for the two would be in each other's way. */
static enum holder holder_of(const struct mpr_journal *j)
{
    struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    if (!j->image || !(j->head.flags & MPF_JOURNAL_LOCKED) ||
        !mpr_life_same_file(&j->head.self, &j->head.process, &j->st))
        return NOT_KNOWN;
    if (fcntl(j->fd, F_OFD_GETLK, &first) != 0) return NOT_KNOWN;
    if (first.l_type != F_UNLCK && first.l_pid == -1 && first.l_start == 0 && first.l_len == 1)
        return THE_PROCESS;
    if (!shows_all_locks(j->fd)) return NOT_KNOWN;
    return first.l_type == F_UNLCK ? NOBODY : SOMEBODY;
}

static struct mpr_verdict verdict(enum mpr_life life, const char *why)
{
    struct mpr_verdict v = { .life = life };
    snprintf(v.why, sizeof v.why, "%s", why);
    return v;
}

/* Who reads /proc/PID/maps may keep the memory of a process, and so its lock, for a moment longer
 * than the process. */
static bool gives_back(const struct mpr_header *header, const struct mpr_journal *journal)
{
    if (mpr_process_tell(header).life != MPR_LIFE_ENDED) return false;
    for (int i = 0; i < LOOKS; i++) {
        if (holder_of(journal) != THE_PROCESS) return true;
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
    }
    return false;
}

struct mpr_verdict mpr_life_tell(const struct mpr_header *header, const struct mpr_journal *journal)
{
    switch (holder_of(journal)) {
    case THE_PROCESS:
        if (!gives_back(header, journal)) return verdict(MPR_LIFE_RUNS, "it holds its journal");
        __attribute__((fallthrough));
    case NOBODY: return verdict(MPR_LIFE_ENDED, "it holds its journal no more");
    case SOMEBODY:
        return verdict(MPR_LIFE_ENDED, "it holds its journal no more; someone else does");
    case NOT_KNOWN: break;
    }
    /* before 1.2, and nothing left that a living process would need: the log lacks its end,
     * whatever that one does */
    if (!header->identity.started && !journal->image)
        return verdict(MPR_LIFE_ENDED, "nothing here is left of it");
    return mpr_process_tell(header);
}

static bool same_boot(const struct mpf_identity *process)
{
    struct mpf_identity here;
    mpr_process_here(&here);
    return memcmp(here.boot, process->boot, sizeof here.boot) == 0;
}

bool mpr_life_same_file(const struct mpf_file *recorded, const struct mpf_identity *by,
                        const struct stat *st)
{
    return recorded->ino && recorded->ino == st->st_ino &&
           (recorded->dev == st->st_dev || !same_boot(by));
}

bool mpr_life_same_clock(const struct mpf_identity *process)
{
    struct mpf_identity here;
    mpr_process_here(&here);
    return process->started && here.timens == process->timens && same_boot(process);
}
