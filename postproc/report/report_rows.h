/* Tables of rows by path for people, and texts about such rows.  Private to this layer. */
#ifndef MPR_REPORT_ROWS_H
#define MPR_REPORT_ROWS_H

#include "document.h"

struct mpr_naming;

/* A table of rows for people only; reports whose rows are also for programs describe their own
 * columns. */
struct mpr_rows {
    const struct mpr_row *row;
    size_t rows;
    enum mpr_group by;
    const char *title; /* for example "host/heap by range" */
    const char *bytes; /* title of the column with their bytes */
    uint64_t whole;    /* the total of the shares */
    size_t top;        /* lines that people see without --top, or 0 for MPR_TOP */
    bool changes;      /* blocks are differences, and 0 is not shown */
};
void mpr_report_rows(struct mpr_document *doc, const struct mpr_rows *rows);

/* "(siblings 256.00 MiB to 321.00 MiB)": the lines that an outlier was compared with (lines.h), or
 * "" if there are none. */
const char *mpr_report_siblings(struct mpr_document *doc, uint64_t smallest, uint64_t largest);
/* Modules that are outliers (module_outliers.h), as lines for people and as "module_outliers";
 * nothing if there are none. */
void mpr_report_modules(struct mpr_document *doc, const struct mpr_row *row, size_t rows,
                        uint64_t whole);
/* Returns how the document shows paths: unchanged if it has no naming. */
const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc);
/* "host/heap by range", in the document's memory. */
const char *mpr_report_heading(struct mpr_document *doc, const char *of, enum mpr_group by);
/* Returns a path as such tables show it, as words of a sentence. */
const char *mpr_report_path_words(struct mpr_document *doc, struct mpr_path path);

#endif
