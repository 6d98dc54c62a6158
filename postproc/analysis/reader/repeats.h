/* Repeated ranges: ranges of one path apart from numbers. "step 0" and "step 1", "step:0" and
 * "step:1", or "step" twice, are instances of the repeated range "step"; numbered_names.h says
 * which numbers count. Private to this layer. */
#ifndef MPR_REPEATS_H
#define MPR_REPEATS_H

#include "arena.h"
#include "index.h"
#include "replay.h"

/* ---- open instances
 *
 * Tracks which instances of ranges are open, event by event.  Private to this layer.
 *
 * An instance is open from its PUSH to its POP, or to the end of its thread.  At most
 * MPR_FOLLOW_MAX are tracked at a time, so that hostile logs cost nothing; of others the end is
 * unknown. */

enum { MPR_FOLLOW_MAX = 256 };

struct mpr_followed {
    uint64_t push; /* number of its PUSH in the log */
    uint64_t number, begin_ns;
    uint32_t what, thread, node;
    uint32_t inner; /* the innermost open path on its thread */
};

struct mpr_follow {
    /* Returns the observer's number of this range, or 0 to leave it out. */
    uint32_t (*what)(void *ranges, const struct mpr_replay *r, uint32_t node);
    void *ranges;
    /* Called before each range event, while `open` is as since the previous one; or NULL. */
    void (*before)(void *arg, const struct mpr_replay *r);
    /* Sets `number` of a new instance; or NULL. */
    void (*begins)(void *arg, const struct mpr_replay *r, struct mpr_followed *f);
    /* @ended: false if the log ends before the instance. */
    void (*ends)(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended);
    void *arg;
    struct mpr_followed open[MPR_FOLLOW_MAX]; /* in the order of their begin */
    size_t count;
    uint64_t left_out; /* instances that began while the limit was reached */
};

/* Returns true if an instance that begins now is left out. */
static inline bool mpr_follow_is_full(const struct mpr_follow *f)
{
    return f->count == MPR_FOLLOW_MAX;
}

/* Makes it a watch of the replay. Call it before the first event. */
void mpr_follow_begin(struct mpr_follow *f, struct mpr_replay *r);
/* Call it after the last event. */
void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r);

/* ---- all open ranges, as many as replay follows (MPR_STACK_MAX of a thread) */

struct mpr_open_instance {
    uint64_t push, from; /* number of its PUSH in the log; time of it, ns */
    uint32_t node, thread;
};

struct mpr_open_ranges {
    /* @ended: false if the log ends before the instance. */
    void (*ends)(void *arg, const struct mpr_open_instance *instance, uint64_t to, bool ended);
    void *arg;
    struct mpr_open_thread {
        struct mpr_open_instance *at; /* outermost first */
        uint32_t count, cap;
    } * thread; /* by number */
    uint32_t threads;
};

/* For struct mpr_watch (replay.h); @arg: the struct mpr_open_ranges. */
void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e);
/* Call it after the last event. */
void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r);
void mpr_open_ranges_free(struct mpr_open_ranges *o);

/* A range repeats if it has this many instances in turn. */
enum { MPR_REPEATS_LEAST = 3 };

struct mpr_repeat {
    const char *name;           /* "step" */
    uint32_t parent;            /* number of the range around it, or 0 */
    uint32_t depth;             /* from 1 */
    uint32_t rank;              /* 0 the application's, 1 PyTorch's, 2 a library's */
    uint64_t instances;         /* pushed */
    uint64_t in_turn;           /* instances that began after the previous one had ended */
    uint64_t newest;            /* number of its newest push while that is open, else 0 */
    uint64_t covered_ns;        /* time in instances; overlapping instances count once */
    uint64_t longest_ns;        /* the longest instance */
    uint64_t first_ns, last_ns; /* begin of the first instance, end of the newest */
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
    bool thinned; /* only the outermost repeated range has all instances */
};

/* Return new ones: only for names, or as a watch of a replay before the first event. */
struct mpr_repeats *mpr_repeats_new(void);
struct mpr_repeats *mpr_repeats_watch(struct mpr_replay *r);
/* Call it after the last event. */
void mpr_repeats_end(struct mpr_repeats *repeats, const struct mpr_replay *r);
void mpr_repeats_free(struct mpr_repeats *repeats); /* may be NULL */

/* Returns the repeated range of a node of the ranges. */
uint32_t mpr_repeats_of(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* Returns its name, or the end of its path ("train > step") that makes it unique; in the arena. */
const char *mpr_repeats_name(const struct mpr_repeats *repeats, struct mpr_arena *arena,
                             uint32_t repeat);
/* Returns true if only this range has the name that mpr_repeats_name returns. */
bool mpr_repeats_is_unique(const struct mpr_repeats *repeats, uint32_t repeat);
/* Returns true if the names of the node's ranges have numbers. */
bool mpr_repeats_numbered(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* Returns the name of an instance for people: "step 7" if the names have numbers, else "step:8". */
const char *mpr_repeats_label(struct mpr_repeats *repeats, const struct mpr_replay *r,
                              struct mpr_arena *arena, uint32_t node, const char *range,
                              uint64_t number);
/* Returns its path without numbers, outermost first; in the arena. */
struct mpr_path mpr_repeats_path(struct mpr_arena *arena, const struct mpr_repeats *repeats,
                                 uint32_t repeat);
/* Returns true if the name matches the node's range: its name or the end of its path ("outer >
 * inner"), with or without its number. */
bool mpr_repeats_named(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node,
                       const char *name);

/* Returns true if instances that cover this much of the time from the first to the last are steps
 * of the program. The longest instance does not count, because it may do something once, such as
 * set up a library. */
bool mpr_repeats_span(uint64_t covered_ns, uint64_t longest_ns, uint64_t whole_ns);
/* Returns the outermost repeated range, or 0. It is a range of the application, or one whose
 * instances are steps. Candidates cover at least half the time of the range that covers most. The
 * application's ranges come first, then PyTorch's, then a library's. Next come the outer range, and
 * the one that covers more. Without candidates it is the optimizer's step, which ends a training
 * step, and without that any repeated range. */
uint32_t mpr_repeats_outermost(const struct mpr_repeats *repeats);
/* Returns the outermost range that has at least this many instances in turn and covers half as much
 * time: of "epoch > step" the steps, if there are too few epochs to show growth. Else the same. */
uint32_t mpr_repeats_outermost_with(const struct mpr_repeats *repeats, uint64_t instances);
/* Returns the name of that range, in the arena, or NULL. */
const char *mpr_repeats_outermost_name_with(const struct mpr_repeats *repeats,
                                            struct mpr_arena *arena, uint64_t instances);
/* Returns true if it is the step of an optimizer of PyTorch. */
bool mpr_repeats_is_optimizer(const struct mpr_repeat *repeat);
/* The instance in which a heap's peak is, or NULL: of the outermost repeated range, or of the
 * outermost open one if the log is not thinned. */
struct mpr_repeats_peak {
    const struct mpr_followed *instance;
    uint64_t open; /* open instances of its range, including itself */
    bool is_full;  /* more may have been open */
};
struct mpr_repeats_peak mpr_repeats_at_peak(const struct mpr_repeats *repeats, uint8_t heap);

/* ---- nodes that have a name given by the user; each node is compared once */

enum { MPR_NAMES_MAX = 2 };

struct mpr_named_ranges {
    struct mpr_repeats *repeats;     /* for names */
    const char *name[MPR_NAMES_MAX]; /* owned by the caller, or NULL */
    uint8_t *which;                  /* by node: the result, or 0 if it is not compared yet */
    uint32_t nodes;
    bool any; /* a node had one of the names */
};

void mpr_named_ranges_begin(struct mpr_named_ranges *named, const char *name, const char *other);
void mpr_named_ranges_free(struct mpr_named_ranges *named);
/* Returns 1 if the node has the first name, 2 if it has only the other one, or 0.  For struct
 * mpr_follow; @named: the struct mpr_named_ranges. */
uint32_t mpr_named_ranges_which(void *named, const struct mpr_replay *r, uint32_t node);

/* Returns the hint for a name that no range has: "; did you mean step?" if a range has a similar
 * name, else the ranges with the most instances, "; found: step; forward; ...". */
const char *mpr_named_ranges_hint(const struct mpr_named_ranges *named, struct mpr_arena *arena);

#endif
