/* The tables of a digest: what each column is, as memprof-report(1) lists them, for who writes one
 * and for who reads one.  A column is a plain field of its row: without a function, and not of the
 * context. */
#ifndef MPR_DIGEST_TABLES_H
#define MPR_DIGEST_TABLES_H

#include "export.h"

/* Any change of a table is a new version: who reads wants all columns. */
enum { MPR_DIGEST_VERSION = 1, MPR_DIGEST_APPLICATION = 0x6d706467 /* "mpdg" */ };

struct mpr_digest_table {
    struct mpr_export_table table;
    size_t list, count, stride; /* of struct mpr_digest; bytes of a row */
};
extern const struct mpr_digest_table mpr_digest_table[];
extern const size_t mpr_digest_tables;

#endif
