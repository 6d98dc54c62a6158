/* host/heap where not every block of malloc is recorded: the bytes and blocks of the others are
 * what the threads counted (SAMPLE_HOST), as of the last time that it was noted.  They lie in one
 * cell. */
#ifndef MPR_TOTALS_H
#define MPR_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "books.h"
#include "mpf/event.h"
#include "mpf/sample.h"

struct mpr_totals {
    bool told;
    uint32_t cell; /* of the books: set before it is told */
    uint32_t site; /* likewise: nobody's place, by the name of what it is */
    uint64_t live; /* bytes in it */
    uint64_t value[MPF_HOST_COUNT];
};

void mpr_totals_take(struct mpr_totals *t, struct mpr_books *books, const struct mpf_event *e);
/* Does the cell hold them? */
static inline bool mpr_totals_is(const struct mpr_totals *t, const struct mpr_books *books,
                                 const struct mpr_cell *cell)
{
    return t->told && cell == &books->cell[t->cell];
}

#endif
