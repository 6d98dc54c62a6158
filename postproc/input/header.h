/* Reads the description of a process: the keys and values in the HEADER frame of its log, which
 * FORMAT.md lists. */
#ifndef MPR_HEADER_H
#define MPR_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "mpf/slot.h"

struct mpr_map;

struct mpr_pair {
    const char *key, *value;
};

struct mpr_header {
    struct mpr_pair *pair; /* all pairs, in the log's order */
    size_t pairs;
    char *text;                   /* holds the strings */
    uint64_t pid, ppid;           /* 0 if unknown */
    struct mpf_clock start;       /* origin of the log's times */
    uint8_t id[16];               /* ties log and journal */
    struct mpf_identity identity; /* zeros if unknown */
};

/* Reads a header from the body of its frame.  Returns 0, MPF_ERR_DAMAGED or MPF_ERR_SPACE (no
 * memory).  On failure *h is empty. */
int mpr_header_read(struct mpr_header *h, const uint8_t *body, size_t bytes);
/* Reads the header of a mapped log; *end is the offset of the next frame.  Returns 0,
 * MPF_ERR_DAMAGED if the log does not begin with a header, or MPF_ERR_SPACE.  On failure *h is
 * empty. */
int mpr_header_find(struct mpr_header *h, const struct mpr_map *map, size_t *end);
/* Does the same for the log with this name in a directory.  Returns 0, or -1 if that fails. */
int mpr_header_read_file(struct mpr_header *h, int directory, const char *name);
/* Makes a header for a journal whose log is missing.  Returns 0 or MPF_ERR_SPACE. */
int mpr_header_from_journal(struct mpr_header *h, const struct mpf_journal *journal);
/* Sets each number whose key is among the pairs of a frame's body; the others stay as they are. */
struct mpr_pair_number {
    const char *key;
    uint64_t *value;
};
void mpr_pairs_read_numbers(const uint8_t *body, size_t bytes, const struct mpr_pair_number *number,
                            size_t count);
void mpr_header_free(struct mpr_header *h);
/* Returns the first value of the key, or NULL if it is missing or empty. */
const char *mpr_header_get(const struct mpr_header *h, const char *key);

#endif
