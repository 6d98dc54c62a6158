/* memprof-report built without SQLite. */
#include <unistd.h>

#include "exports.h"

static const char without[] = "built without SQLite";

bool mpr_database_available(void) { return false; }

struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why)
{
    (void)place, (void)kind;
    *why = without;
    return NULL;
}

void mpr_database_process(struct mpr_database *db, uint64_t process) { (void)db, (void)process; }

void mpr_database_put(struct mpr_database *db, const struct mpr_export_table *table,
                      const void *row, size_t rows, size_t stride, const void *context)
{
    (void)db, (void)table, (void)row, (void)rows, (void)stride, (void)context;
}

void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc)
{
    (void)db, (void)name, (void)doc;
}

void mpr_database_run(struct mpr_database *db, const char *sql) { (void)db, (void)sql; }

bool mpr_database_failed(const struct mpr_database *db)
{
    (void)db;
    return true;
}

void mpr_database_forget(struct mpr_database *db) { (void)db; }

const char *mpr_database_close(struct mpr_database *db, bool keep)
{
    (void)db, (void)keep;
    return NULL;
}

const char *mpr_digest_write(const struct mpr_digest *digest,
                             const struct mpr_database_place *place)
{
    (void)digest, (void)place;
    return without;
}

enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why)
{
    (void)digest, (void)arena;
    *why = "digests need SQLite, and memprof-report was built without it";
    return access(path, F_OK) == 0 ? MPR_DIGEST_NOT_READ : MPR_DIGEST_MISSING;
}
