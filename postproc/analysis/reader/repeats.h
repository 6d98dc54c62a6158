/* Repeated ranges: ranges whose paths differ only in numbers. "step 0" and "step 1", "step:0"
 * and "step:1", or "step" twice, are instances of the repeated range "step"; numbered_names.h
 * defines which numbers count. Private to this layer. */
#ifndef MPR_REPEATS_H
#define MPR_REPEATS_H

#include "arena.h"
#include "index.h"
#include "replay.h"

/* ---- open instances
 *
 * Tracks which instances of ranges are open at each event.
 *
 * An instance is open from its PUSH to its POP, or to the end of its thread. At most
 * MPR_FOLLOW_MAX are tracked at a time, which limits the cost of hostile logs. The ends of
 * further ones are unknown. */

enum { MPR_FOLLOW_MAX = 256 };

struct mpr_followed {
    uint64_t push;   /* number of its PUSH in the log */
    uint64_t number; /* of the instance, set by on_begin */
    uint64_t begin_ns;
    uint32_t range; /* its number, from number_of */
    uint32_t thread, node;
    uint32_t inner; /* node of the innermost open range on its thread */
};

struct mpr_follow {
    /* Returns the observer's number for a range, or 0 to ignore the range. */
    uint32_t (*number_of)(void *ranges, const struct mpr_replay *r, uint32_t node);
    void *ranges;
    /* Called before each range event, while `open` still has the state after the previous one;
     * or NULL. */
    void (*before_event)(void *arg, const struct mpr_replay *r);
    /* Called for a new instance, to set its `number`; or NULL. */
    void (*on_begin)(void *arg, const struct mpr_replay *r, struct mpr_followed *f);
    /* @ended: false if the log ends before the instance. */
    void (*on_end)(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended);
    void *arg;
    struct mpr_followed open[MPR_FOLLOW_MAX]; /* in the order of their begin */
    size_t count;
    uint64_t left_out; /* instances that began while the limit was reached */
};

/* Returns true if an instance that begins now will be left out. */
static inline bool mpr_follow_is_full(const struct mpr_follow *f)
{
    return f->count == MPR_FOLLOW_MAX;
}

/* Adds it to the watches of the replay. Call it before the first event. */
void mpr_follow_begin(struct mpr_follow *f, struct mpr_replay *r);
/* Call it after the last event. */
void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r);

/* ---- all open ranges that replay follows (MPR_STACK_MAX in each thread) */

struct mpr_open_instance {
    uint64_t push, from; /* number and time (ns) of its PUSH */
    uint32_t node, thread;
};

struct mpr_open_ranges {
    /* @ended: false if the log ends before the instance. */
    void (*on_end)(void *arg, const struct mpr_open_instance *instance, uint64_t to, bool ended);
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

/* A range repeats if it has this many sequential instances. */
enum { MPR_REPEATS_LEAST = 3 };

struct mpr_repeat {
    const char *name; /* "step" */
    uint32_t parent;  /* number of the range around it, or 0 */
    uint32_t depth;   /* from 1 */
    uint32_t rank;    /* 0 the application's, 1 PyTorch's, 2 a library's */
    uint64_t instances;
    uint64_t sequential; /* instances that began after all earlier ones had ended */
    uint64_t newest;     /* number of its newest PUSH while that instance is open, otherwise 0 */
    uint64_t covered_ns; /* time in instances, of overlapping ones only the newest */
    uint64_t longest_ns; /* the longest instance */
    uint64_t first_ns, last_ns; /* begin of the first instance, end of the newest */
};

/* The instances of repeated ranges that were open at a heap's peak. */
struct mpr_repeats_moment {
    struct mpr_followed *open;
    size_t count;
    bool is_full; /* more instances may have been open */
    uint64_t epoch;
};

struct mpr_repeats {
    struct mpr_follow follow;
    struct mpr_arena arena;
    struct mpr_repeat *repeat; /* by number, from 1 */
    uint32_t repeats, cap;
    struct mpr_index number; /* by hash of parent and name */
    struct mpr_repeats_text {
        const char *label, *unnumbered;
        uint64_t hash; /* of unnumbered */
    } * name;
    uint32_t names, name_cap;
    struct mpr_index name_of; /* by domain and name: number from 1 */
    uint32_t *of_node;        /* number by node, or 0 if it was not looked up yet */
    uint32_t nodes;
    struct mpr_used_heaps heaps;
    struct mpr_repeats_moment moment[MPR_HEAPS];
    bool thinned; /* the log was thinned, which removes instances of all except the outermost
                     repeated range */
};

/* Return new ones: the first only for names, the second also as a watch of a replay. Call it
 * before the first event. */
struct mpr_repeats *mpr_repeats_new(void);
struct mpr_repeats *mpr_repeats_watch(struct mpr_replay *r);
/* Call it after the last event. */
void mpr_repeats_end(struct mpr_repeats *repeats, const struct mpr_replay *r);
void mpr_repeats_free(struct mpr_repeats *repeats); /* may be NULL */

/* Returns the number of the repeated range of a node. */
uint32_t mpr_repeats_of(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* Returns its name, or as much of the end of its path ("train > step") as makes it unique; in
 * the arena. */
const char *mpr_repeats_name(const struct mpr_repeats *repeats, struct mpr_arena *arena,
                             uint32_t repeat);
/* Returns true if only this range has the name that mpr_repeats_name returns. */
bool mpr_repeats_is_unique(const struct mpr_repeats *repeats, uint32_t repeat);
/* Returns true if the name of the node's range has a number. */
bool mpr_repeats_numbered(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node);
/* Returns the name of an instance for people: "step 7" if the range's name has a number,
 * otherwise "step:8". */
const char *mpr_repeats_label(struct mpr_repeats *repeats, const struct mpr_replay *r,
                              struct mpr_arena *arena, uint32_t node, const char *range,
                              uint64_t number);
/* Returns its path without numbers, outermost first; in the arena. */
struct mpr_path mpr_repeats_path(struct mpr_arena *arena, const struct mpr_repeats *repeats,
                                 uint32_t repeat);
/* Returns true if @name is the name of the node's range or the end of its path ("outer >
 * inner"), with or without numbers. */
bool mpr_repeats_named(struct mpr_repeats *repeats, const struct mpr_replay *r, uint32_t node,
                       const char *name);

/* Returns true if the instances of a range cover at least half of the time from the first to the
 * last, so that they are steps of the program. The longest instance does not count, because it
 * may do something once, such as set up a library. */
bool mpr_repeats_span(uint64_t covered_ns, uint64_t longest_ns, uint64_t whole_ns);
/* Returns the number of the outermost repeated range, or 0.
 *
 * Candidates are ranges of the application and other ranges whose instances are steps; they
 * cover at least half the time of the candidate that covers most. Of these the application's
 * have precedence over PyTorch's and those over a library's, then outer ranges over inner ones,
 * then those that cover more time. Without candidates it is the optimizer's step, which ends a
 * training step, and otherwise any repeated range. */
uint32_t mpr_repeats_outermost(const struct mpr_repeats *repeats);
/* Returns the outermost range with at least this many sequential instances, if it covers at
 * least half the time of the outermost range: in "epoch > step" the steps, if there are too few
 * epochs to show growth. Otherwise the same as above. */
uint32_t mpr_repeats_outermost_with(const struct mpr_repeats *repeats, uint64_t instances);
/* Returns the name of that range, in the arena, or NULL. */
const char *mpr_repeats_outermost_name_with(const struct mpr_repeats *repeats,
                                            struct mpr_arena *arena, uint64_t instances);
/* Returns true for the range of PyTorch's optimizer steps. */
bool mpr_repeats_is_optimizer(const struct mpr_repeat *repeat);
/* The instance in which a heap's peak is, or NULL: an instance of the outermost repeated range,
 * or of the outermost open range if the log is not thinned. */
struct mpr_repeats_peak {
    const struct mpr_followed *instance;
    uint64_t open; /* open instances of its range, including this one */
    bool is_full;  /* more instances may have been open */
};
struct mpr_repeats_peak mpr_repeats_at_peak(const struct mpr_repeats *repeats, uint8_t heap);

/* ---- nodes with a name that the user gave; each node is compared once */

enum { MPR_NAMES_MAX = 2 };

struct mpr_named_ranges {
    struct mpr_repeats *repeats;
    const char *name[MPR_NAMES_MAX]; /* owned by the caller, or NULL */
    uint8_t *which;                  /* by node: the result, or 0 if not compared yet */
    uint32_t nodes;
    bool any; /* a node had one of the names */
};

void mpr_named_ranges_begin(struct mpr_named_ranges *named, const char *name, const char *other);
void mpr_named_ranges_free(struct mpr_named_ranges *named);
/* Returns 1 if the node has the first name, 2 if it has only the other one, otherwise 0. For
 * number_of of struct mpr_follow; @named: the struct mpr_named_ranges. */
uint32_t mpr_named_ranges_which(void *named, const struct mpr_replay *r, uint32_t node);

/* Returns a hint for a name that no range has: "; did you mean step?" if a range has a similar
 * name, otherwise the ranges with most instances, "; found: step; forward; ...". */
const char *mpr_named_ranges_hint(const struct mpr_named_ranges *named, struct mpr_arena *arena);

#endif
