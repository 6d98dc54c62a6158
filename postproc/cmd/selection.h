/* --by, --heap, instants and lengths of time of the reports that have them. */
#ifndef MPR_SELECTION_H
#define MPR_SELECTION_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "group.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"

struct mpr_error;

/* The value of --by in --help, which completion offers: "auto|range|stack|...". */
#define MPR_BY_WORD(name, text, before, behind) "|" text
#define MPR_BY_WORDS                            "auto" MPR_GROUPS(MPR_BY_WORD)

/* Groups in --help: ", range, stack, ...". */
#define MPR_BY_HELP_OF(name, text, before, behind) before text behind
#define MPR_BY_HELP                                                                                                                 \
    "auto (default: what tells most, of the program's ranges, PyTorch's, Python's call stacks, native ones, libraries)" MPR_GROUPS( \
        MPR_BY_HELP_OF)

#define MPR_BACKWARD_OF_HELP                                                                       \
    "memory that PyTorch's backward pass takes stands under the forward operator whose backward it is"

#define MPR_HEAP_HELP "this heap only, for example host/heap"
#define MPR_NO_INHERIT_HELP                                                                        \
    "threads without ranges do not take those of another thread (host heaps never do)"

/* Any heap, for the message. */
#define MPR_HEAPS_WANTED                                                                           \
    "host/heap, host/mmap, host/shm, host/pinned, host/python, nvtx/regions or, of a GPU, gpu0/device, gpu0/torch, ..."

/* Instants in --help. */
#define MPR_INSTANTS "12.5s, 00:01:30.250, peak, oom, end, step:12, step:12.end"

/* A usage error unless the text names a group. */
enum mpr_group mpr_selection_by(const char *arg, struct argp_state *state);
/* Returns the heap of that name.  Another name is a usage error.
 * @wanted: the names that the message lists. */
uint8_t mpr_selection_heap(const char *arg, const char *wanted, struct argp_state *state);

/* A usage error, naming the option, unless the text is an instant. */
void mpr_selection_check_instant(const char *text, const char *option, struct argp_state *state);
/* A length of time such as 1s or 50us, in ns; a usage error, naming the option, unless the text is
 * one. */
uint64_t mpr_selection_length(const char *text, const char *option, struct argp_state *state);
/* True for an instant that each log has its own of.  NULL: false. */
bool mpr_selection_is_named(const char *text);
/* The instant in one log.  @heap: whose peak, MPF_HEAP_NONE for the largest heap's.  text NULL:
 * `otherwise`.  0, or -1 with *error filled. */
int mpr_selection_instant(const char *text, uint64_t otherwise, const char *log, uint8_t heap,
                          const struct mpr_progress *progress, struct mpr_instant *at,
                          struct mpr_error *error);

/* From the beginning of one instant to the end of the other one, in one log.  from NULL: its
 * beginning; to NULL: its end.  0, or -1 with *error filled; *begin may be behind *end. */
int mpr_selection_span(const char *from, const char *to, const char *log, uint8_t heap,
                       const struct mpr_progress *progress, uint64_t *begin, uint64_t *end,
                       struct mpr_error *error);
/* Returns 0, or -1 with *error filled if the log ends earlier than @begin or cannot be read.
 * @from: the text of --from, NULL without the option.  @begin: the instant of the text, in ns. */
int mpr_selection_check_begin(const char *from, uint64_t begin, const char *log,
                              const struct mpr_progress *progress, struct mpr_error *error);

#endif
