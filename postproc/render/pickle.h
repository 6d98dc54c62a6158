/* A pickle of Python's, written as it comes: protocol 4, and of its opcodes those that Python and
 * PyTorch's own viewer, which reads a part of them, both know.
 *
 * A value is written where one is due: alone, in a list before mpr_pickle_append, in a dictionary
 * behind its key. */
#ifndef MPR_PICKLE_H
#define MPR_PICKLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "index.h"

struct mpr_pickle {
    FILE *out;
    uint32_t kept;        /* values that can be named again */
    struct mpr_index key; /* by address of its text: kept + 1 */
};

void mpr_pickle_begin(struct mpr_pickle *p, FILE *out);
/* Behind the one value that a pickle is. */
void mpr_pickle_end(struct mpr_pickle *p);
void mpr_pickle_free(struct mpr_pickle *p);

void mpr_pickle_list(struct mpr_pickle *p);
void mpr_pickle_append(struct mpr_pickle *p);
void mpr_pickle_dict(struct mpr_pickle *p);
void mpr_pickle_dict_end(struct mpr_pickle *p);
/* Of a dictionary, or a value that is one of a few words: a literal, written once. */
void mpr_pickle_word(struct mpr_pickle *p, const char *literal);
/* What is above 2^63, as only a damaged log has it, is that less 1. */
void mpr_pickle_number(struct mpr_pickle *p, uint64_t number);
/* The two newest values are one. */
void mpr_pickle_pair(struct mpr_pickle *p);

/* Keeps the newest value: its number, to write it again by. */
uint32_t mpr_pickle_keep(struct mpr_pickle *p);
void mpr_pickle_again(struct mpr_pickle *p, uint32_t kept);

/* A member of a dictionary.  A text may be any: what is no UTF-8 in it is replaced. */
void mpr_pickle_member_word(struct mpr_pickle *p, const char *key, const char *literal);
void mpr_pickle_member_text(struct mpr_pickle *p, const char *key, const char *text);
void mpr_pickle_member_number(struct mpr_pickle *p, const char *key, uint64_t number);
void mpr_pickle_member_flag(struct mpr_pickle *p, const char *key, bool flag);

#endif
