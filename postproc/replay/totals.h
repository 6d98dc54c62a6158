/* host/heap where not every block of malloc is recorded: the bytes and blocks of the others are
 * what the threads counted (SAMPLE_HOST), as of the last time that it was noted.  They lie in one
 * cell.
 *
 * Where a sample of them is recorded, that tells what came and went since.  Counted numbers stand
 * as long as this may be chance; where it is so much more or less that it cannot be, it counts:
 * what a program makes at once just before it is killed is else nowhere. */
#ifndef MPR_TOTALS_H
#define MPR_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "estimates.h"
#include "index.h"
#include "mpf/event.h"
#include "mpf/sample.h"

struct mpr_totals {
    bool told;
    uint32_t cell;              /* of the books: set before it is told */
    uint32_t site;              /* likewise: nobody's place, by the name of what it is */
    uint64_t live, live_blocks; /* in it */
    uint64_t value[MPF_HOST_COUNT];
    struct mpr_since {
        double bytes, blocks, made; /* that samples stand for, without these */
        double variance;            /* of bytes: of the samples that came and live, and of those
                                       that went and lived before */
        struct mpr_index came;      /* by the block's key: the samples that came and live */
        bool counts;                /* it was no chance, and has not become it again */
    } since;                        /* that was noted */
};

void mpr_totals_free(struct mpr_totals *t);
/* The sampled block of that key comes (1) or goes (-1), which stands for so much more. */
void mpr_totals_sampled(struct mpr_totals *t, struct mpr_books *books, int sign, uint64_t key,
                        const struct mpr_weight *more, uint64_t time);
/* After the last event: what was made since counts as made. */
void mpr_totals_finish(struct mpr_totals *t, struct mpr_books *books);
void mpr_totals_take(struct mpr_totals *t, struct mpr_books *books, const struct mpf_event *e);
/* Does the cell hold them? */
static inline bool mpr_totals_is(const struct mpr_totals *t, const struct mpr_books *books,
                                 const struct mpr_cell *cell)
{
    return t->told && cell == &books->cell[t->cell];
}

#endif
