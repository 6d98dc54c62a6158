/* The program's own counters of its memory, in a shared file mapping that survives any kill and
 * that memprof does not write.
 *
 * A lane is a row of counters for a thread or a signal handler. It records only in ranges of the
 * lane's name: "lane N" for blocks and "maps N" for mappings. Only one thread at a time writes to a
 * lane, and each lane has its own word. So the counters of all lanes are valid at any instant. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stdint.h>

enum { LANES = 8192 };

struct held {
    uint64_t allocations, bytes; /* of blocks; bytes of live blocks */
    uint64_t mapped;             /* bytes of present mappings */
};

/* Before a step the lane gets the state after that step. One store to `word` then starts the step,
 * and another one finishes it or marks it as refused. Bit 0 of `word` is the index of the valid
 * state. Bit 1 means that the other state may already be valid. */
struct lane {
    uint64_t pid; /* its process, or 0 if the lane is unused */
    uint64_t word;
    struct held state[2];
    /* Of blocks: all frees, and those of blocks that the process inherited. */
    uint64_t frees, inherited;
    uint64_t orderly; /* set if the process was about to end by itself */
    uint64_t image;   /* the first lane of its process since fork or exec */
};
struct truth {
    uint64_t lanes; /* number of lanes in use */
    uint64_t stop;  /* set to make the program end */
    struct lane lane[LANES];
};

extern volatile struct truth *truth;

/* Maps the file and creates it if necessary. Returns false if that fails. */
bool truth_open(const char *path);
/* Returns an unused lane for the calling process, or -1 if there is none. */
int truth_lane(void);

struct held truth_now(int lane);
void truth_begin(int lane, struct held after);
void truth_done(int lane);
void truth_refused(int lane);

#endif
