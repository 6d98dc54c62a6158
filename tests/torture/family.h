/* Creates children in all possible ways. Each child has its own lanes. */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

#include "steps.h"

/* First the ways for a process with other threads, then those for a process with one thread, then
 * those that also need root. */
enum family {
    FAMILY_FORK,
    FAMILY_NESTED,
    FAMILY_THREADS,
    FAMILY_EXEC,
    FAMILY_EXIT,
    FAMILY_ABORT,
    FAMILY_VFORK,
    FAMILY_SPAWN,
    FAMILY_WITH_THREADS, /* their number */
    FAMILY__FORK = FAMILY_WITH_THREADS,
    FAMILY_CLONE,
    FAMILY_ALONE,
    FAMILY_PIDS = FAMILY_ALONE, /* a PID namespace */
    FAMILY_TIME,                /* a time namespace, in which the clock jumps */
    FAMILY_COUNT
};

/* Creates a child of `parent`'s process. Returns its process ID, or -1. */
pid_t family_make(enum family how, struct owner *parent);
/* Waits until a child has ended. */
void family_wait(pid_t pid);
/* The main function of a program that a child executes. */
int family_program(uint64_t seed);
/* The path of the file of struct truth. */
extern char *family_file;

#endif
