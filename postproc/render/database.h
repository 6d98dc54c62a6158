/* A SQLite database with the tables that columns of documents describe, so that names and meanings
 * are the same as in CSV and JSON.
 *
 * Everything is one transaction.  The file replaces an older one of that name when it is complete
 * (file.h).  A device, a pipe, or a link in a folder that the caller opened is refused.
 *
 * All functions exist also in a build without SQLite, in which opening always fails. */
#ifndef MPR_DATABASE_H
#define MPR_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "document.h"
#include "export.h"

struct mpr_arena;
struct mpr_database;
struct mpr_digest;
struct sqlite3;

bool mpr_database_available(void);

struct mpr_database_kind {
    unsigned application, version; /* SQLite's application_id and user_version */
    unsigned page_bytes;           /* each table takes at least one page */
};

/* directory: a file descriptor of the folder that `path` names, so that others cannot replace the
 * folder meanwhile; AT_FDCWD: `path` alone says where.  mode: for a new file, without the bits of
 * the umask.  AT_FDCWD keeps the mode of an old file. */
struct mpr_database_place {
    const char *path;
    int directory;
    mode_t mode;
};

/* Returns NULL and sets *why, which is never freed, if it fails.  *why is MPR_FILE_BUSY (file.h) if
 * another process is writing a file of that name. */
struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why);
/* Sets the process of the rows that are added from now on, at least 1. */
void mpr_database_process(struct mpr_database *db, uint64_t process);
/* Adds rows to a table, which is created when its name is first used.  The table's description must
 * exist until the database is closed. */
void mpr_database_put(struct mpr_database *db, const struct mpr_export_table *table,
                      const void *row, size_t rows, size_t stride, const void *context);
/* Adds what the document has for CSV to a table, without the columns log and pid. */
void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc);
/* Runs a statement, which creates a view or an index. */
void mpr_database_run(struct mpr_database *db, const char *sql);
/* Returns true if anything failed, so that closing will write nothing. */
bool mpr_database_failed(const struct mpr_database *db);
/* Deletes the rows of the current process. */
void mpr_database_forget(struct mpr_database *db);
/* Writes the file if `keep` is true and nothing failed.  Returns NULL, or the first failure, which
 * is never freed. */
const char *mpr_database_close(struct mpr_database *db, bool keep);

/* sqlite3_open_v2 for regular files only, so that it does not wait for a pipe.  Private to this
 * layer, and not in a build without SQLite.
 * @fd: the file to write, whatever file has that name now; the caller keeps it and has locked it.
 * -1: opens by name. */
int mpr_database_file_open(const char *name, int fd, struct sqlite3 **db, int flags);

/* ---- digests as files
 *
 * A file is checked like a log: each row must have values of its columns' types.  Views, triggers
 * and functions of the file are not run, and reading ends when there are too many rows. */

/* Returns NULL, or what went wrong, which is never freed; an older file then stays as it was. */
const char *mpr_digest_write(const struct mpr_digest *digest,
                             const struct mpr_database_place *place);

enum mpr_digest_found {
    MPR_DIGEST_GOOD,
    MPR_DIGEST_MISSING,  /* no such file */
    MPR_DIGEST_NOT_READ, /* no right to read it, or a build without SQLite */
    MPR_DIGEST_FOREIGN,  /* not a digest */
    MPR_DIGEST_DAMAGED,  /* or of an older version */
    MPR_DIGEST_NEWER,    /* a version that this program cannot read */
};
/* If the result is GOOD, the caller frees *digest; otherwise *why is the reason, in the arena. */
enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why);

#endif
