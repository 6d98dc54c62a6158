/* Numbers by 64-bit key, whatever the keys are.  Open addressing, at most half full. */
#ifndef MPR_INDEX_H
#define MPR_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct mpr_index { struct mpr_index_entry { uint64_t key; uint32_t value; } *at; size_t mask, count; };

void mpr_index_free(struct mpr_index *index);
/* 0 where there is none. */
uint32_t mpr_index_get(const struct mpr_index *index, uint64_t key);
/* value 0 takes the key out.  0, or -1 without memory. */
int mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value);

#endif
