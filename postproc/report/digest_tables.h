/* The columns of a digest's tables, which its writer and its reader share, as memprof-report(1)
 * lists them.  Each column is a member of its row, never computed by a function or taken from the
 * context.
 */
#ifndef MPR_DIGEST_TABLES_H
#define MPR_DIGEST_TABLES_H

#include "export.h"

/* Any change of a table makes a new version, because the reader expects all columns. */
enum { MPR_DIGEST_VERSION = 1, MPR_DIGEST_APPLICATION = 0x6d706467 /* "mpdg" */ };

struct mpr_digest_table {
    struct mpr_export_table table;
    size_t list, count; /* offsets in struct mpr_digest */
    size_t stride;      /* bytes of a row */
};
extern const struct mpr_digest_table mpr_digest_table[];
extern const size_t mpr_digest_tables;

#endif
