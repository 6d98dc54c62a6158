/* What the program itself knows of its memory: a file that it maps shared, which outlives any kill
 * and which no part of memprof writes.
 *
 * A lane is a row of it: who has it, a thread or a signal handler, records in ranges of the lane's
 * name alone, "lane N" for blocks and "maps N" for mappings.  A lane is written by one thread at a
 * time, and no other lane's word is touched by that, so all lanes hold at any instant. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stdint.h>

enum { LANES = 8192 };

struct held {
    uint64_t allocations, bytes; /* of blocks; the bytes that live */
    uint64_t mapped;             /* bytes of mappings that are there */
};

/* Before a step the state after it is written; word then says in one store that the step is under
 * way, and in one more that it is done or was refused: bit 0 is the index of the state that holds,
 * bit 1 says that the other one may hold already. */
struct lane {
    uint64_t pid; /* whose it is; 0: nobody's */
    uint64_t word;
    struct held state[2];
    uint64_t frees, inherited; /* of blocks: all; those that the process had from its parent */
    uint64_t orderly;          /* the process was about to end by itself */
    uint64_t image;            /* the first lane of its process since fork or exec */
};
struct truth {
    uint64_t lanes; /* handed out */
    uint64_t stop;  /* the driver wants the program to end */
    struct lane lane[LANES];
};

extern volatile struct truth *truth;

/* Maps the file, which is there or made.  False: it cannot be. */
bool truth_open(const char *path);
/* A lane of its own for the calling process, or -1 where all are taken. */
int truth_lane(void);

struct held truth_now(int lane);
void truth_begin(int lane, struct held after);
void truth_done(int lane);
void truth_refused(int lane);

#endif
