#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "alloc.h"
#include "cmd.h"
#include "export.h"
#include "ranks.h"
#include "reports.h"

struct args {
    struct mpr_args common;
    const char *tables; /* a directory, or NULL */
};

static const struct mpr_option options[] = {
    { "tables", 0, "DIR",
      "also write the tables of all digests, as DIR/TABLE/rank=N/data.csv; DIR must be new or empty",
      MPR_TO_TEXT(struct args, tables) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .operands = "DIR|DIGEST|LOG...",
    .takes = MPR_TAKES_OPERANDS,
    .need = "expected a directory, digests or logs",
    .doc =
        "Compares the ranks of a job: missing ranks, the rank that failed first, the spread of their peaks, and the causes of the "
        "outliers, by stage, by node, by communicator and over time."
        "\vIt reads the digests that memprof-report log digest wrote. If a log has no digest, or an outdated one, the log "
        "itself is read, which takes longer.\n\n"
        "Examples:\n"
        "  memprof-report ranks logs/\n"
        "  memprof-report ranks --format json digests/*.digest\n"
        "  memprof-report ranks --tables=job17 digests/",
    .exit =
        "0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete, or a rank is missing or duplicated",
    .options = options,
};

/* ---- --tables: a directory of CSV files, which data tools read as one table */

static int make_directory(const char *path, struct mpr_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? 0
               : mpr_fail_errno(error, path, "create the directory");
}

static int write_rows(const struct mpr_digest_table *t, const struct mpr_digest *d,
                      const char *path, struct mpr_error *error)
{
    struct mpr_document doc = { .csv = t->table.column, .csv_columns = t->table.columns };
    FILE *file = fopen(path, "wxe");
    if (!file) return mpr_fail_errno(error, path, "write");
    mpr_doc_table(&doc,
                  &(struct mpr_table){ .only = MPR_IN_CSV,
                                       .column = t->table.column,
                                       .columns = t->table.columns,
                                       .row = *(const void *const *)((const char *)d + t->list),
                                       .rows = *(const size_t *)((const char *)d + t->count),
                                       .stride = t->stride });
    mpr_csv_report(file, &doc, &(struct mpr_style){ 0 });
    mpr_doc_free(&doc);
    const bool bad = ferror(file);
    return fclose(file) != 0 || bad ? mpr_fail_errno(error, path, "write") : 0;
}

/* Writes DIRECTORY/TABLE/rank=N/data.csv.  Processes without ranks are numbered from 0. */
static int write_tables(const struct mpr_ranks *r, const char *directory, struct mpr_error *error)
{
    int status = make_directory(directory, error);
    DIR *dir = status == 0 ? opendir(directory) : NULL;
    size_t entries = 0;
    while (dir && readdir(dir)) entries++;
    if (dir) closedir(dir);
    if (status == 0 && entries != 2) /* "." and ".." */
        return mpr_fail(error, "%s: not an empty directory; give an empty or a new one", directory);
    for (size_t i = 0; status == 0 && i < mpr_digest_tables; i++) {
        const struct mpr_digest_table *t = &mpr_digest_table[i];
        char *folder = mpr_text_format("%s/%s", directory, t->table.name);
        status = make_directory(folder, error);
        for (size_t k = 0; status == 0 && k < r->ranks; k++) {
            const uint64_t number = r->rank[k].number != UINT64_MAX ? r->rank[k].number : k;
            char *of_rank = mpr_text_format("%s/rank=%" PRIu64, folder, number),
                 *path = mpr_text_format("%s/data.csv", of_rank);
            status = make_directory(of_rank, error);
            if (status == 0) status = write_rows(t, r->rank[k].digest, path, error);
            free(path);
            free(of_rank);
        }
        free(folder);
    }
    return status;
}

/* ---- the report */

int mpr_cmd_ranks(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default() };
    struct mpr_digests digests = { 0 };
    struct mpr_document doc;
    struct mpr_ranks ranks;
    struct mpr_error error;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    mpr_digests_add(&digests, a.common.operand, a.common.operands, &a.common.output);
    if (digests.count) {
        mpr_ranks_make(&ranks, digests.at, digests.count);
        mpr_digests_say_made(&digests, 1);
        mpr_output_begin(&a.common.output, &doc);
        mpr_report_ranks(&doc, &ranks);
        status = mpr_output_document(&a.common.output, &doc, ranks.incomplete);
        if (a.tables && write_tables(&ranks, a.tables, &error) != 0) {
            mpr_cmd_error(&error);
            status = MPR_EXIT_FAILURE;
        }
        mpr_ranks_free(&ranks);
    }
    if (digests.failed) status = MPR_EXIT_FAILURE;
    mpr_digests_free(&digests);
    return mpr_args_close(&a.common, status);
}
