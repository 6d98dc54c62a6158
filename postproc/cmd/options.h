/* Options of subcommands, each declared once: how it is written, what --help says of it, and where
 * its value goes. */
#ifndef MPR_OPTIONS_H
#define MPR_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group.h"

/* Puts the text into the value, or ends the program with a usage error.  name: the option's. */
typedef void mpr_set_option(void *value, char *text, const char *name, struct argp_state *state);
mpr_set_option mpr_set_text, mpr_set_flag, mpr_set_by, mpr_set_heap, mpr_set_instant,
    mpr_set_instant_or_peak, /* of the peak NULL */
    mpr_set_length;

struct mpr_option {
    const char *name;
    int letter;           /* 0: it has none */
    const char *argument; /* NULL: it takes none */
    const char *help;
    size_t at; /* of the value, in the arguments */
    mpr_set_option *set;
};

/* Where a value goes, whose type is checked. */
#define MPR_TO(set_, type, arguments, member)                                                      \
    .set = (set_),                                                                                 \
    .at = offsetof(arguments, member) + 0 * sizeof((type *){ &((arguments *)0)->member })
#define MPR_TO_TEXT(arguments, member)    MPR_TO(mpr_set_text, const char *, arguments, member)
#define MPR_TO_FLAG(arguments, member)    MPR_TO(mpr_set_flag, bool, arguments, member)
#define MPR_TO_BY(arguments, member)      MPR_TO(mpr_set_by, enum mpr_group, arguments, member)
#define MPR_TO_HEAP(arguments, member)    MPR_TO(mpr_set_heap, uint8_t, arguments, member)
#define MPR_TO_INSTANT(arguments, member) MPR_TO(mpr_set_instant, const char *, arguments, member)
#define MPR_TO_LENGTH(arguments, member)  MPR_TO(mpr_set_length, uint64_t, arguments, member)

/* What a subcommand takes.  The member at `logs` is what `which` fills, at `output` a struct
 * mpr_output. */
struct mpr_takes {
    const char *words, *doc;          /* words: beside the options, NULL: LOG... */
    const struct mpr_option *options; /* ended by a NULL name; NULL: none of its own */
    const struct argp *which;         /* of logs.h; NULL: none */
    size_t logs, output;
    bool no_output; /* it has no report's options */
    bool in_order;  /* words and options in the order in which they stand */
    /* What is no option: as a parser of argp; NULL: nothing is. */
    error_t (*word)(void *arguments, int key, char *text, struct argp_state *state);
};
/* values: what the options are the members of, mostly the arguments themselves. */
void mpr_takes_parse(const struct mpr_takes *takes, int argc, char **argv, void *arguments,
                     void *values);

#endif
