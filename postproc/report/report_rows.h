/* Rows by path for people: as lines.  Private to this layer. */
#ifndef MPR_REPORT_ROWS_H
#define MPR_REPORT_ROWS_H

#include "document.h"
#include "group.h"

struct mpr_naming;
struct mpr_row;

/* What the table is told besides its rows. */
struct mpr_rows {
    const struct mpr_row *row;
    size_t rows;
    enum mpr_group by;
    const char *of;      /* "host/heap", in the heading */
    const char *bytes;   /* heading of their bytes */
    uint64_t whole;      /* what shares are of */
    bool bounds;         /* what they did at other times is not all in the log */
    bool ever;           /* with what the rows held and did at other times */
    size_t top;          /* lines that people see unless --top says otherwise; 0: MPR_TOP */
    bool changes;        /* blocks are by how many there are more or less: 0 are not told */
    bool inherited;      /* says which bytes came by another thread's range */
    const char *heading; /* in place of "OF by RANGE"; NULL: that */
};

/* "(siblings 256.00 MiB to 321.00 MiB)": what a line stands out from (lines.h); "". */
const char *mpr_report_siblings(struct mpr_document *doc, uint64_t smallest, uint64_t largest);
/* Modules that stand out (subtree.h), as lines and as "module_outliers"; nothing where none does.
 */
void mpr_report_modules(struct mpr_document *doc, const struct mpr_row *row, size_t rows,
                        uint64_t whole);
/* How the document's paths are shown: as they are where it does not say. */
const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc);
void mpr_report_rows(struct mpr_document *doc, const struct mpr_rows *rows);
/* The site of a row in CSV, by which its reader joins reports: the path as lines tell it, and the
 * caller that tells it apart, if any.  Rows begin with an mpr_row, the table's context with this.
 */
struct mpr_site_context {
    struct mpr_document *doc;
    enum mpr_group by;
};
struct mpr_value mpr_report_site(const void *row, const void *context);
struct mpr_value mpr_report_site_caller(const void *row, const void *context);
// clang-format off
#define MPR_SITE_COLUMNS                                                                           \
    { .key = "site", .get = mpr_report_site, .only = MPR_IN_CSV },                                 \
    { .key = "caller", .get = mpr_report_site_caller, .only = MPR_IN_CSV }
// clang-format on
/* A path as such tables tell it, as words of a sentence. */
const char *mpr_report_telling(struct mpr_document *doc, struct mpr_path path);

#endif
