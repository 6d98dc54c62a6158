#include "tables.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "digest_tables.h"
#include "error.h"
#include "ranks.h"
#include "render.h"

static bool is_empty(const char *directory)
{
    DIR *dir = opendir(directory);
    size_t entries = 0;
    while (dir && readdir(dir)) entries++;
    if (dir) closedir(dir);
    return entries == 2; /* "." and ".." */
}

static int make_directory(const char *path, struct mpr_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? 0
               : mpr_fail_errno(error, path, "make the directory");
}

static void describe(struct mpr_document *doc, const struct mpr_digest_table *t,
                     const struct mpr_digest *d)
{
    mpr_doc_table(doc,
                  &(struct mpr_table){ .only = MPR_IN_CSV,
                                       .column = t->table.column,
                                       .columns = t->table.columns,
                                       .row = *(const void *const *)((const char *)d + t->list),
                                       .rows = *(const size_t *)((const char *)d + t->count),
                                       .stride = t->stride });
    doc->csv = t->table.column;
    doc->csv_columns = t->table.columns;
}

static int write_rows(const struct mpr_digest_table *t, const struct mpr_digest *d,
                      const char *path, struct mpr_error *error)
{
    struct mpr_document doc = { 0 };
    FILE *file = fopen(path, "wxe");
    if (!file) return mpr_fail_errno(error, path, "write");
    describe(&doc, t, d);
    mpr_csv_report(file, &doc, &(struct mpr_style){ 0 });
    mpr_doc_free(&doc);
    const bool bad = ferror(file);
    return fclose(file) != 0 || bad ? mpr_fail_errno(error, path, "write") : 0;
}

static int write_rank(const struct mpr_digest_table *t, const struct mpr_ranks *r, size_t rank,
                      const char *directory, struct mpr_error *error)
{
    const uint64_t number = r->rank[rank].number != UINT64_MAX ? r->rank[rank].number : rank;
    char *folder = mpr_text_format("%s/rank=%" PRIu64, directory, number);
    char *path = mpr_text_format("%s/data.csv", folder);
    int status = make_directory(folder, error);
    if (status == 0) status = write_rows(t, r->rank[rank].digest, path, error);
    free(path);
    free(folder);
    return status;
}

static int write_table(const struct mpr_digest_table *t, const struct mpr_ranks *r,
                       const char *directory, struct mpr_error *error)
{
    char *folder = mpr_text_format("%s/%s", directory, t->table.name);
    int status = make_directory(folder, error);
    for (size_t i = 0; status == 0 && i < r->ranks; i++)
        status = write_rank(t, r, i, folder, error);
    free(folder);
    return status;
}

int mpr_tables_write(const struct mpr_ranks *r, const char *directory, struct mpr_error *error)
{
    int status = make_directory(directory, error);
    if (status == 0 && !is_empty(directory))
        return mpr_fail(error, "%s: it is no empty directory; give an empty or a new one",
                        directory);
    for (size_t i = 0; status == 0 && i < mpr_digest_tables; i++)
        status = write_table(&mpr_digest_table[i], r, directory, error);
    return status;
}
