/* A table as people see it.  Only document.c calls these functions. */
#ifndef MPR_TABLE_VIEW_H
#define MPR_TABLE_VIEW_H

#include "document.h"

/* Returns true if people see other rows or columns than programs. */
bool mpr_table_has_view(const struct mpr_table *table);
/* Returns the table that people see in the formats `only`, in the document's arena. */
const struct mpr_table *mpr_table_view(struct mpr_document *doc, const struct mpr_table *table,
                                       unsigned only);
/* Returns true if the value comes from the line of the row, and sets *value. */
bool mpr_table_line_value(const struct mpr_table *table, const struct mpr_column *column,
                          const void *row, struct mpr_value *value);
/* Returns true if there may be more than the numbers of the row's line say. */
bool mpr_table_at_least(const struct mpr_table *table, const void *row);

#endif
