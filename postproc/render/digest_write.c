#include "database.h"
#include "digest_file.h"
#include "digest_tables.h"

/* Small pages: most tables have few rows. */
static const struct mpr_database_kind kind = { MPR_DIGEST_APPLICATION, MPR_DIGEST_VERSION, 1024 };

const char *mpr_digest_write(const struct mpr_digest *d, const struct mpr_database_place *place)
{
    const char *why;
    struct mpr_database *db = mpr_database_open(place, &kind, &why);
    if (!db) return why;
    mpr_database_process(db, 1);
    for (size_t i = 0; i < mpr_digest_tables; i++) {
        const struct mpr_digest_table *t = &mpr_digest_table[i];
        const void *const *list = (const void *const *)((const char *)d + t->list);
        const size_t *count = (const size_t *)((const char *)d + t->count);
        mpr_database_put(db, &t->table, *list, *count, t->stride, NULL);
    }
    return mpr_database_close(db, true);
}
