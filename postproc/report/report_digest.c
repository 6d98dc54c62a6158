/* The columns of a digest's tables (digest.def). */
#include "digest.h"
#include "export.h"

// clang-format off
#define COLUMN(row, column, kind, member, null_rule)                                               \
    { .key = column, .type = kind, MPR_FIELD(mpr_digest_##row, member), .unless = null_rule },
#define TABLE(table, row)                 static const struct mpr_column table[] = {
#define TEXT(row, column, member)         COLUMN(row, column, MPR_TEXT, member, MPR_UNKNOWN_AT_0)
#define HEAP(row, column, member)         COLUMN(row, column, MPR_TEXT, member, MPR_UNKNOWN_AT_0)
#define FLAG(row, column, member)         COLUMN(row, column, MPR_FLAG, member, MPR_ALWAYS)
#define NUMBER(row, type, column, member) COLUMN(row, column, MPR_##type, member, MPR_ALWAYS)
#define MAYBE(row, type, column, member)  COLUMN(row, column, MPR_##type, member, MPR_UNKNOWN_AT_MAX)
#define SIGNED(row, column, member)       COLUMN(row, column, MPR_SIGNED, member, MPR_ALWAYS)
#define END                               };
#include "digest.def"

const struct mpr_digest_table mpr_digest_table[] = {
#define X(table, row, list, count)                                                                 \
    { { #table, "", MPR_COLUMNS(table) }, offsetof(struct mpr_digest, list),                       \
      offsetof(struct mpr_digest, count), sizeof(struct mpr_digest_##row) },
    MPR_DIGEST_TABLES(X)
#undef X
};
// clang-format on
const size_t mpr_digest_tables = sizeof mpr_digest_table / sizeof *mpr_digest_table;
