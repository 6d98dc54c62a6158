/* Options of subcommands.  Each is declared once, with its spelling, its help and the member that
 * gets the value. */
#ifndef MPR_OPTIONS_H
#define MPR_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group.h"

/* Stores the text in the value, or exits with a usage error.  name: the option's. */
typedef void mpr_set_option(void *value, char *text, const char *name, struct argp_state *state);
mpr_set_option mpr_set_text, mpr_set_flag, mpr_set_by, mpr_set_heap, mpr_set_instant,
    mpr_set_instant_or_peak, /* NULL for the peak */
    mpr_set_length;

struct mpr_option {
    const char *name;
    int letter;           /* 0: it has none */
    const char *argument; /* NULL: it takes none */
    const char *help;
    size_t at; /* offset of the value in `values` */
    mpr_set_option *set;
    bool optional; /* its argument, which is NULL if it is not given */
};

/* The member that gets the value; its type is checked at compile time. */
#define MPR_TO(set_, type, arguments, member)                                                      \
    .set = (set_),                                                                                 \
    .at = offsetof(arguments, member) + 0 * sizeof((type *){ &((arguments *)0)->member })
#define MPR_TO_TEXT(arguments, member)    MPR_TO(mpr_set_text, const char *, arguments, member)
#define MPR_TO_FLAG(arguments, member)    MPR_TO(mpr_set_flag, bool, arguments, member)
#define MPR_TO_BY(arguments, member)      MPR_TO(mpr_set_by, enum mpr_group, arguments, member)
#define MPR_TO_HEAP(arguments, member)    MPR_TO(mpr_set_heap, uint8_t, arguments, member)
#define MPR_TO_INSTANT(arguments, member) MPR_TO(mpr_set_instant, const char *, arguments, member)
#define MPR_TO_LENGTH(arguments, member)  MPR_TO(mpr_set_length, uint64_t, arguments, member)

/* The command line of a subcommand.  logs and output are offsets in its arguments: of a struct
 * mpr_logs, which `which` fills, and of a struct mpr_output. */
struct mpr_takes {
    const char *words, *doc;          /* words: the operands, NULL for LOG... */
    const struct mpr_option *options; /* the last one has no name; may be NULL */
    const struct argp *which;         /* one of logs.h, or NULL */
    size_t logs, output;
    bool no_output;   /* without the options of reports */
    bool in_order;    /* operands and options are handled in order */
    const char *need; /* usage error without an operand; NULL: none is needed, or `which` says so */
    /* Checks the arguments after the last of them; may be NULL. */
    void (*check)(void *arguments, struct argp_state *state);
    /* Handles operands, as a parser of argp does; may be NULL. */
    error_t (*word)(void *arguments, int key, char *text, struct argp_state *state);
};
/* values: the struct with the options' members, mostly the arguments. */
void mpr_takes_parse(const struct mpr_takes *takes, int argc, char **argv, void *arguments,
                     void *values);

#endif
