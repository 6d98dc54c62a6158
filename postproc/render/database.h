/* A database of SQLite: tables whose columns are described as those of a document, so that names
 * and meanings are those of CSV and JSON.
 *
 * It takes the place of the file of that name when it is whole (atomic_file.h).  A device or a pipe
 * is refused, and so is a link in a folder that the caller opened.  All in one transaction. */
#ifndef MPR_DATABASE_H
#define MPR_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "document.h"
#include "export.h"

struct mpr_database;

/* Was it built with SQLite? */
bool mpr_database_available(void);
/* What a database is, for who opens it. */
struct mpr_database_kind {
    unsigned application, version; /* SQLite's application_id and user_version */
    unsigned page_bytes;           /* a table takes one at least */
};
/* Where it is written.  Who has opened the folder, because others may lay something there, writes
 * into that one: the path is then for messages. */
struct mpr_database_place {
    const char *path;
    int directory; /* the folder that the path names; AT_FDCWD: as the path says */
    mode_t mode;   /* less the umask; of a path the mode of the old file is kept */
};
/* NULL: *why says what is wrong, in memory that lasts; where another process writes one of that
 * name just now, MPR_FILE_BUSY (file.h). */
struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why);
/* Rows from now on are of this process; from 1. */
void mpr_database_process(struct mpr_database *db, uint64_t process);
/* Rows of a table, which is made when it is named first.  The description must last. */
void mpr_database_put(struct mpr_database *db, const struct mpr_export_table *table,
                      const void *row, size_t rows, size_t stride, const void *context);
/* What the document has for CSV, as a table of that name without its columns log and pid. */
void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc);
/* A view, or an index: a statement of SQL. */
void mpr_database_run(struct mpr_database *db, const char *sql);
/* Has something gone wrong, so that nothing will come of it? */
bool mpr_database_failed(const struct mpr_database *db);
/* Takes out the rows of the process. */
void mpr_database_forget(struct mpr_database *db);
/* Writes what is left, and puts the file in its place.  NULL, or what went wrong since the
 * beginning, in memory that lasts: then, and where it is not wanted, nothing is written. */
const char *mpr_database_close(struct mpr_database *db, bool wanted);

#endif
