/* Numbers of a table in words, for the formats that people read.  Private to this layer. */
#ifndef MPR_CELLS_H
#define MPR_CELLS_H

#include "document.h"
#include "units.h"

/* A number, an amount, a share or a flag that is known; "" for what is text. */
const char *mpr_cell_number(struct mpr_number *n, const struct mpr_table *table,
                            const struct mpr_value *value);

/* "(3 more, 1.00 MiB)": what is behind the rows that are shown, with the sum where one column sums
 * and no total follows. */
struct mpr_rest {
    char text[96];
};
const char *mpr_cell_rest(struct mpr_rest *rest, const struct mpr_table *table, size_t shown,
                          enum mpr_format format);
/* Does the column bear "~" for a row from there on? */
bool mpr_cell_estimated(const struct mpr_table *table, const struct mpr_column *column, size_t from,
                        enum mpr_format format);
/* Columns of the format that sum. */
size_t mpr_cell_sums(const struct mpr_table *table, enum mpr_format format);

#endif
