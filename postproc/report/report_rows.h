/* Rows with paths: their columns, texts about them, and their growth between two instants.
 * Private to this layer. */
#ifndef MPR_REPORT_ROWS_H
#define MPR_REPORT_ROWS_H

#include "document.h"

struct mpr_growth;
struct mpr_naming;

/* The columns of rows with paths: the path; the bytes, whose title the table may replace, with
 * their share and error; and the blocks. */
#define MPR_ROW_PATH                                                                               \
    {                                                                                              \
        .key = "path", .title = "path", MPR_PATH_FIELD(mpr_row, path)                              \
    }
#define MPR_ROW_BYTES                                                                              \
    {                                                                                              \
        .key = "bytes", .title = "bytes", .titled = true, .type = MPR_BYTES,                       \
        MPR_FIELD(mpr_row, bytes), .share = MPR_SHARE_FIRST, .errors = true, .sums = true,         \
        .estimate = true                                                                           \
    }
#define MPR_ROW_BLOCKS                                                                             \
    {                                                                                              \
        .key = "blocks", .title = "blocks", .type = MPR_COUNT, MPR_FIELD(mpr_row, blocks),         \
        .estimate = true                                                                           \
    }
extern const struct mpr_column mpr_row_columns[3]; /* all three */

/* Returns "(siblings 256.00 MiB to 321.00 MiB)": the lines with which an outlier was compared
 * (row.h), or "" if there are none. */
const char *mpr_report_siblings(struct mpr_document *doc, uint64_t smallest, uint64_t largest);
/* Adds the modules that are outliers (module_outliers.h): lines for people, and
 * "module_outliers". Adds nothing if there are none. */
void mpr_report_modules(struct mpr_document *doc, const struct mpr_row *row, size_t rows,
                        uint64_t whole);
/* Returns how the document shows paths. They are unchanged if it has no naming. */
const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc);
/* Returns "host/heap by range", in the document's memory. */
const char *mpr_report_heading(struct mpr_document *doc, const char *of, enum mpr_group by);
/* Returns the text of a line's path with its caller: "main > f (a.py:3)". */
const char *mpr_report_call_words(struct mpr_document *doc, struct mpr_path path,
                                  const char *caller);
/* Returns the text of a path as in these tables. */
const char *mpr_report_path_words(struct mpr_document *doc, struct mpr_path path);

/* ---- growth */

/* Adds an object to JSON, or null if the growth is not valid.
 * @of: the first frame of its paths in flame graphs, or NULL if it is in none. */
void mpr_report_growth(struct mpr_document *doc, const char *key, const struct mpr_growth *growth,
                       const char *of);
/* For people: the largest changes.
 * @whole: name of a first row with the sums, or NULL for none; @by: the grouping of the paths. */
void mpr_report_growth_rows(struct mpr_document *doc, const char *whole,
                            const struct mpr_growth *growth, enum mpr_group by);

/* The lines of this table, largest change first, in the document's memory. */
struct mpr_grown_line {
    const char *name;
    int64_t before, after;
    bool estimated;
};
const struct mpr_grown_line *mpr_report_grown(struct mpr_document *doc,
                                              const struct mpr_growth *growth, enum mpr_group by,
                                              size_t *lines);

/* The line of this table that grew most. name: NULL if none grew. */
struct mpr_most_grown {
    const char *name;
    uint64_t bytes;
    bool estimated;
};
struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc,
                                            const struct mpr_growth *growth, enum mpr_group by);

#endif
