/* What a thread does: blocks and mappings by all ways there are, each step on the books of its
 * lane. */
#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCKS = 48, MAPS = 6 };

struct block {
    char *p; /* NULL: none */
    size_t size;
};
/* Who does the steps of a lane: one thread at a time, which may be another one later. */
struct owner {
    int lane;
    uint64_t dice;
    char heap_name[24], map_name[24];
    struct block block[BLOCKS], map[MAPS];
};

/* Takes a lane for it.  False: there are none left. */
bool owner_begin(struct owner *o, uint64_t seed);
/* Steps in the owner's ranges. */
void steps(struct owner *o, unsigned count);
/* A handler's: no malloc where it may have interrupted one. */
void steps_in_handler(struct owner *o);
/* In a forked child: frees up to so many blocks that another owner had when it was forked, for
 * `o`'s books. */
void steps_free_inherited(struct owner *o, struct owner *from, unsigned most);

uint64_t roll(uint64_t *dice);

/* How a library that is loaded for the moment allocates, or NULL.  The thread that set it. */
extern __thread void *(*steps_library)(size_t);
/* A block was not as it had been written. */
extern bool steps_corrupt;
/* Whether valloc and pvalloc are this allocator's. */
extern bool steps_all_calls;

#endif
