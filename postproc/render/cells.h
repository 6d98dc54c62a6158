/* Cells of a table as people read them, for text and the page.  Private to this layer. */
#ifndef MPR_CELLS_H
#define MPR_CELLS_H

#include "document.h"
#include "units.h"

/* Returns the text of a known number, amount, share or flag, and "" for values of other types. */
const char *mpr_cell_number(struct mpr_number *n, const struct mpr_table *table,
                            const struct mpr_value *value);

struct mpr_rest {
    char text[96];
};
/* Returns "(3 more, 1.00 MiB)" for the rows after the first `shown` ones.  The sum is there if
 * exactly one column has a sum, and no total follows. */
const char *mpr_cell_rest(struct mpr_rest *rest, const struct mpr_table *table, size_t shown,
                          enum mpr_format format);
/* Returns true if a row from `from` on has an estimate in the column. */
bool mpr_cell_estimated(const struct mpr_table *table, const struct mpr_column *column, size_t from,
                        enum mpr_format format);
/* Returns the number of columns that have sums in the format. */
size_t mpr_cell_sums(const struct mpr_table *table, enum mpr_format format);

#endif
