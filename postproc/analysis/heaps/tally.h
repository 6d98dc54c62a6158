/* How long blocks lived: rows of peaks with what replay/lasting.h knows of their blocks. */
#ifndef MPR_TALLY_H
#define MPR_TALLY_H

#include <stdint.h>

#include "arena.h"
#include "row.h"

/* Class n of lives: from 2^(n-1) ns on, to below 2^n; 0: no time at all. */
enum { MPR_TALLY_CLASSES = 48 };

struct mpr_tally {
    uint64_t blocks, bytes; /* that there ever were */
    uint64_t freed, soon;   /* of them; soon: that lived no longer than was asked for */
    uint64_t soon_bytes;
    uint64_t life[MPR_TALLY_CLASSES];
};

void mpr_tally_add(struct mpr_tally *sum, const struct mpr_tally *other);
/* The class of the median of those that were freed, and its middle in ns; MPR_NO_MEDIAN: none was.
 */
#define MPR_NO_MEDIAN UINT64_MAX
uint64_t mpr_tally_median(const struct mpr_tally *tally);

/* Of a cell; for this layer. */
struct mpr_lasting;
struct mpr_tally mpr_tally_of(const struct mpr_lasting *lasting, uint32_t cell);

#endif
