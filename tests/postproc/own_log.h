/* What the header of a log says whose process is one that runs here, for testlog_open. */
#ifndef OWN_LOG_H
#define OWN_LOG_H

#include <stdint.h>
#include <sys/types.h>

struct own_pairs {
    char boot[33], number[4][24];
    const char *pair[15]; /* ended by NULL */
};

/* When a process of this machine began, in the kernel's ticks. */
uint64_t own_start(pid_t pid);
/* Of the process of that number that began then.  real: start.real; journal: its path. */
void own_pairs_fill(struct own_pairs *own, pid_t pid, uint64_t started, const char *real,
                    const char *journal);
/* Takes from a journal of testlog.h what says that its lock tells who lives. */
void own_journal_unlocked(const char *journal);

#endif
