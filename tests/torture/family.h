/* Children, by all ways there are; each keeps lanes of its own. */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

#include "steps.h"

/* The ways that a process with other threads may take; those that want it alone; those that want
 * the rights of root, too. */
enum family {
    FAMILY_FORK,
    FAMILY_NESTED,
    FAMILY_THREADS,
    FAMILY_EXEC,
    FAMILY_EXIT,
    FAMILY_ABORT,
    FAMILY_VFORK,
    FAMILY_SPAWN,
    FAMILY_WITH_THREADS, /* how many of them */
    FAMILY__FORK = FAMILY_WITH_THREADS,
    FAMILY_CLONE,
    FAMILY_ALONE,
    FAMILY_PIDS = FAMILY_ALONE, /* a namespace of numbers */
    FAMILY_TIME,                /* and of time: its clock jumps */
    FAMILY_COUNT
};

/* Makes a child of `parent`'s process: its number, or -1. */
pid_t family_make(enum family how, struct owner *parent);
/* Waits for a child, until it is over. */
void family_wait(pid_t pid);
/* What a new program of the family does. */
int family_program(uint64_t seed);
/* The file of the truth. */
extern char *family_file;

#endif
