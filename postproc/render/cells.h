/* The texts of a table's cells, for all formats.  Private to this layer. */
#ifndef MPR_CELLS_H
#define MPR_CELLS_H

#include <stdio.h>

#include "document.h"
#include "user_frame.h"

struct mpr_words {
    char text[96];
};

/* A format's function to escape a text, and its separator of a path's names. */
struct mpr_cell_style {
    void (*text)(FILE *out, const char *text);
    const char *separator;
};
/* Returns the text of a number, an amount, a share or a flag, "-" for an unknown value, "" for an
 * absent one, and NULL for texts, paths and lists.  @estimated: true for a row of estimates. */
const char *mpr_cell_number(struct mpr_words *words, const struct mpr_table *table,
                            const struct mpr_value *value, bool estimated);
/* Writes a text, a word, a list of numbers or a path, and nothing for any other value. */
void mpr_cell_text(FILE *out, const struct mpr_cell_style *style, enum mpr_group by,
                   const struct mpr_value *value);
/* Writes a value of any type. */
void mpr_cell_write(FILE *out, const struct mpr_cell_style *style, const struct mpr_table *table,
                    const struct mpr_value *value, bool estimated);

/* Returns "(3 more, 1.00 MiB)" for the rows after the first `shown` ones, or NULL if these have 0
 * bytes.  The sum is included if exactly one column has a sum, and no total follows. */
const char *mpr_cell_rest(struct mpr_words *rest, const struct mpr_table *table, size_t shown,
                          enum mpr_format format);
/* Returns true if a row from `from` on has an estimate in the column. */
bool mpr_cell_estimated(const struct mpr_table *table, const struct mpr_column *column, size_t from,
                        enum mpr_format format);
/* Returns the number of columns that have sums in the format. */
size_t mpr_cell_sums(const struct mpr_table *table, enum mpr_format format);

/* Shortens the call stacks of a column (user_frame.h) in place.  If two stacks would be shortened
 * to the same text, they also get the calls in which they differ.  Values that are not paths, or
 * were shortened when rows were merged to lines (naming.h), stay unchanged.  New texts are in the
 * arena. */
void mpr_distinct_paths(struct mpr_arena *arena, struct mpr_user_frames *user_frames,
                        enum mpr_group by, struct mpr_value *value, size_t values);

#endif
