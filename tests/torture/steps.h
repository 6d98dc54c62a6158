/* The steps of a thread: allocates blocks and mappings in all possible ways, and counts each step
 * in its lane. */
#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCKS = 48, MAPS = 6 };

struct block {
    char *p; /* NULL if unused */
    size_t size;
};
/* The user of a lane. Only one thread at a time uses it, but it may be another thread later. */
struct owner {
    int lane;
    uint64_t dice;
    char heap_name[24], map_name[24];
    struct block block[BLOCKS], map[MAPS];
};

/* Takes a lane for the owner. Returns false if none is left. */
bool owner_begin(struct owner *o, uint64_t seed);
/* Runs `count` steps in the owner's ranges. */
void steps(struct owner *o, unsigned count);
/* The step of a signal handler: it does not call malloc if it may have interrupted malloc. */
void steps_in_handler(struct owner *o);
/* In a forked child: frees up to `most` blocks that another owner had at the fork, and counts them
 * for `o`. */
void steps_free_inherited(struct owner *o, struct owner *from, unsigned max_blocks);

uint64_t roll(uint64_t *dice);

/* The allocation function of the library that is loaded at present, or NULL. Set per thread. */
extern __thread void *(*steps_library)(size_t);
/* Set if a block had other bytes than were written to it. */
extern bool steps_corrupt;
/* True if valloc and pvalloc belong to this allocator. */
extern bool steps_all_calls;

#endif
