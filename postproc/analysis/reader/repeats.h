/* Ranges that repeat: those of one path, numbers aside.  "step 0" and "step 1", "step:0" and
 * "step:1", or "step" twice, are instances of the repeated range "step"; which numbers count,
 * places.h says.  Private to this layer. */
#ifndef MPR_REPEATS_H
#define MPR_REPEATS_H

#include "arena.h"
#include "follow.h"
#include "index.h"

/* So many instances, one after the other, make a range one that repeats. */
enum { MPR_REPEATS_LEAST = 3 };

struct mpr_repeat {
    const char *name;   /* "step" */
    uint32_t parent;    /* of the range around it; 0: none */
    uint32_t depth;     /* from 1 */
    uint32_t rank;      /* whose ranges they are: 0 the application's, 1 PyTorch's, 2 a library's */
    uint64_t instances; /* pushed */
    uint64_t in_turn;   /* of these, that began when the one before had ended */
    uint64_t newest;    /* its push, while it is open; else 0 */
    uint64_t covered_ns;        /* time in instances; of those that overlap, in one */
    uint64_t longest_ns;        /* of these, in the longest one */
    uint64_t first_ns, last_ns; /* the first one's beginning and the newest end */
};

/* Repeated ranges that were open when a heap had its peak. */
struct mpr_repeats_moment {
    struct mpr_followed *open;
    size_t count;
    bool is_full; /* more may have been open */
    uint64_t epoch;
};

struct mpr_repeats {
    struct mpr_follow follow;
    struct mpr_watch next; /* who watched before: sees all events, too */
    struct mpr_arena arena;
    struct mpr_repeat *repeat; /* from 1 */
    uint32_t repeats, cap;
    struct mpr_index number; /* by hash of parent and name */
    struct mpr_repeats_text {
        const char *label, *unnumbered;
        uint64_t hash; /* of unnumbered */
    } * name;
    uint32_t names, name_cap;
    struct mpr_index name_of; /* by domain and name: number from 1 */
    uint32_t *of_node;        /* 0: not looked up yet */
    uint32_t nodes;
    struct mpr_used_heaps heaps;
    struct mpr_repeats_moment moment[MPR_HEAPS];
    bool thinned; /* instances are missing, but of the outermost range that repeats */
};

struct mpr_repeats *mpr_repeats_new(void);
/* Makes it a watch of a replay that has seen nothing yet, beside the one that it has; without, it
 * serves for names only. */
void mpr_repeats_watch(struct mpr_repeats *repeats, struct mpr_replay *r);
/* After the last event. */
void mpr_repeats_end(struct mpr_repeats *repeats, const struct mpr_replay *r);
void mpr_repeats_free(struct mpr_repeats *repeats); /* NULL: nothing */

/* The repeated range of a node of the ranges. */
uint32_t mpr_repeats_of(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* Its name, or as much of its path ("train > step") as tells it from all others; in the arena. */
const char *mpr_repeats_name(const struct mpr_repeats *repeats, struct mpr_arena *arena,
                             uint32_t repeat);
/* Does the program number the ranges of the node itself? */
bool mpr_repeats_numbered(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* An instance of the range of that name as people call it: "step 7" where the program numbers them,
 * or else "step:8".
 */
const char *mpr_repeats_label(struct mpr_repeats *repeats, const struct mpr_replay *r,
                              struct mpr_arena *arena, uint32_t node, const char *range,
                              uint64_t number);
/* Its path without numbers, outermost first: as many names as its depth; in the arena. */
struct mpr_path mpr_repeats_path(struct mpr_arena *arena, const struct mpr_repeats *repeats,
                                 uint32_t repeat);
/* Is the node's range meant by a name: its own, or the end of its path ("outer > inner"), each
 * with or without its number? */
bool mpr_repeats_named(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node,
                       const char *name);

/* Do instances that cover so much of the time from the first to the last span it: are they the
 * steps of what the program does there?  The longest one is left aside, for it may do something
 * once, as to set up a library. */
bool mpr_repeats_span(uint64_t covered_ns, uint64_t longest_ns, uint64_t whole_ns);
/* The outermost range that repeats; 0: none does.  It is one of the application's, or one whose
 * instances span.  Of those that cover at least half as much time as the one that covers most, the
 * application's come before PyTorch's and those before a library's, then the outer one before the
 * inner one, then the one that covers more.  Where there are none of these, the optimizer's step
 * stands for the step that it ends, and without one any range that repeats is taken. */
uint32_t mpr_repeats_outermost(const struct mpr_repeats *repeats);
/* The same of those with so many instances, one after the other, that cover half as much time as
 * that one's; that one, where there are none: of "epoch > step" the steps, where epochs are too few
 * to tell growth by. */
uint32_t mpr_repeats_outermost_with(const struct mpr_repeats *repeats, uint64_t instances);
/* Their names, in the arena; NULL: none. */
const char *mpr_repeats_outermost_name(const struct mpr_repeats *repeats, struct mpr_arena *arena);
const char *mpr_repeats_outermost_name_with(const struct mpr_repeats *repeats,
                                            struct mpr_arena *arena, uint64_t instances);
/* The instance in which the heap's peak is: of the outermost repeated range, or else of the outer
 * one of those that were open, but not where the log is thinned.  NULL: none. */
const struct mpr_followed *mpr_repeats_at_peak(const struct mpr_repeats *repeats, uint8_t heap);
/* How many instances of its range were open then, itself among them; and were so many ranges open
 * that there may be others? */
uint64_t mpr_repeats_open(const struct mpr_repeats *repeats, uint8_t heap,
                          const struct mpr_followed *f);
bool mpr_repeats_beyond(const struct mpr_repeats *repeats, uint8_t heap);

#endif
