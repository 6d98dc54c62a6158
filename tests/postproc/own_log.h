/* The header of a log of a process that runs on this machine, for testlog_open. */
#ifndef OWN_LOG_H
#define OWN_LOG_H

#include <stdint.h>
#include <sys/types.h>

struct own_pairs {
    char boot[33], number[4][24];
    const char *pair[15]; /* terminated by NULL */
};

/* Returns the start time of a process of this machine in the kernel's ticks. */
uint64_t own_start(pid_t pid);
/* Fills in the pairs of the process with this ID and start time. @real: the pair start.real;
 * @journal: the journal's path. */
void own_pairs_fill(struct own_pairs *own, pid_t pid, uint64_t started, const char *real,
                    const char *journal);
/* Removes from a journal of testlog.h the mark that its lock shows whether the process lives. */
void own_journal_unlocked(const char *journal);

#endif
