/* Options of subcommands.  A table declares each option once: its spelling, its help and the member
 * that receives the value.  Parsing, --help, --usage and the completions use the tables. */
#ifndef MPR_OPTIONS_H
#define MPR_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"

struct mpr_error;

/* An option of the command line with its argument. */
struct mpr_given {
    const struct mpr_option *option;
    char *text; /* NULL without an argument */
    struct argp_state *state;
};
/* Stores the argument of an option, or ends the process with a usage error.
 * @value: the member, or the struct that the table belongs to if the option has no member */
typedef void mpr_set_option(void *value, const struct mpr_given *given);

struct mpr_option {
    const char *name;
    int letter;           /* or 0 */
    const char *argument; /* or NULL; "one|two" lists the valid words */
    const char *help;
    size_t at; /* offset of the member in its struct */
    mpr_set_option *set;
    bool optional;     /* the argument may be missing */
    uint64_t min, max; /* of a number */
};

mpr_set_option mpr_set_text, mpr_set_flag, mpr_set_by, mpr_set_heap, mpr_set_number,
    mpr_set_instant, mpr_set_instant_or_peak, /* does not change the member for "peak" */
    mpr_set_length,                           /* in ns, from a text such as 50us */
    mpr_set_word;                             /* in an enum, the index of the word in "one|two" */

/* The member that receives the value.  The compiler checks its type. */
#define MPR_TO(set_, type, arguments, member)                                                      \
    .set = (set_),                                                                                 \
    .at = offsetof(arguments, member) + 0 * sizeof((type *){ &((arguments *)0)->member })
#define MPR_TO_TEXT(arguments, member)       MPR_TO(mpr_set_text, const char *, arguments, member)
#define MPR_TO_FLAG(arguments, member)       MPR_TO(mpr_set_flag, bool, arguments, member)
#define MPR_TO_BY(arguments, member)         MPR_TO(mpr_set_by, enum mpr_group, arguments, member)
#define MPR_TO_HEAP(arguments, member)       MPR_TO(mpr_set_heap, uint8_t, arguments, member)
#define MPR_TO_INSTANT(arguments, member)    MPR_TO(mpr_set_instant, const char *, arguments, member)
#define MPR_TO_LENGTH(arguments, member)     MPR_TO(mpr_set_length, uint64_t, arguments, member)
#define MPR_TO_WORD(type, arguments, member) MPR_TO(mpr_set_word, type, arguments, member)
#define MPR_TO_NUMBER(arguments, member, min_, max_)                                               \
    MPR_TO(mpr_set_number, uint64_t, arguments, member), .min = (min_), .max = (max_)

/* ---- texts of --help that several commands have */

/* "auto|range|stack|...", which completions offer as values of --by. */
#define MPR_BY_WORD(name, text, before, behind) "|" text
#define MPR_BY_WORDS                            "auto" MPR_GROUPS(MPR_BY_WORD)

#define MPR_BY_HELP_OF(name, text, before, behind) before text behind
#define MPR_BY_HELP                                                                                                 \
    "auto (default: the best name that each block has: its range, else its Python call stack, else its native one " \
    "or its library)" MPR_GROUPS(MPR_BY_HELP_OF)

#define MPR_BACKWARD_OF_HELP                                                                       \
    "show memory that PyTorch's backward pass allocates under the forward operator"
#define MPR_HEAP_HELP "only this heap, for example host/heap"
#define MPR_HEAPS_EXPECTED                                                                                 \
    "host/heap, host/mmap, host/shm, host/pinned, host/python, nvtx/regions, or a heap of a GPU, such as " \
    "gpu0/device or gpu0/torch"
#define MPR_NO_INHERIT_HELP                                                                        \
    "threads without ranges inherit no ranges from another thread (host heaps never do)"
#define MPR_INSTANTS "12.5s, 00:01:30.250, peak, rss, cgroup, oom, end, step:12, step:12.end"

/* ---- values */

/* Ends the process with a usage error, such as "invalid --by 'foo': expected range, stack or size".
 * @expected: the valid arguments */
void mpr_option_invalid(const struct mpr_given *given, const char *expected);
/* Each returns the value of the argument.  An invalid one is a usage error. */
int mpr_option_word(const struct mpr_given *given);        /* index of the word in "one|two" */
uint64_t mpr_option_length(const struct mpr_given *given); /* of time, such as 50us, in ns */

/* Parses a number from min to max.  Returns false for any other text. */
bool mpr_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);

/* Returns true for the name of an instant (peak, step:12), whose time differs from log to log.
 * @text: may be NULL */
bool mpr_instant_is_named(const char *text);
/* Finds the instant in one log.  Returns 0, or -1 with *error filled.
 * @text: of the option, or NULL for the time `otherwise`
 * @heap: "peak" is the peak of this heap, or of the largest heap for MPF_HEAP_NONE */
int mpr_instant_find(const char *text, uint64_t otherwise, const char *log, uint8_t heap,
                     const struct mpr_progress *progress, struct mpr_instant *at,
                     struct mpr_error *error);
/* Finds the span between two instants of a log, both included, in ns.  Returns 0, or -1 with *error
 * filled.  *begin may be later than *end.
 * @from: NULL for the log's beginning
 * @to: NULL for its end */
int mpr_instant_span(const char *from, const char *to, const char *log, uint8_t heap,
                     const struct mpr_progress *progress, uint64_t *begin, uint64_t *end,
                     struct mpr_error *error);
/* Returns 0, or -1 with *error filled if the log ends earlier than @begin or cannot be read.
 * @from: the text of --from, or NULL without the option
 * @begin: the instant of that text, ns */
int mpr_instant_check_begin(const char *from, uint64_t begin, const char *log,
                            const struct mpr_progress *progress, struct mpr_error *error);

#endif
