#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "basename.h"
#include "cells.h"
#include "file.h"
#include "utf8.h"

struct known_table {
    const char *name;
    sqlite3_stmt *insert;
};

struct mpr_database {
    sqlite3 *sqlite;
    struct mpr_atomic_file file;
    uint64_t process;
    struct known_table *table;
    size_t tables, cap;
    char why[256]; /* the first failure, or "" */
};

static char last_failure[256]; /* in the database that was closed last */

bool mpr_database_available(void) { return true; }

bool mpr_database_failed(const struct mpr_database *db) { return *db->why; }

static void fail(struct mpr_database *db)
{
    if (!*db->why)
        snprintf(db->why, sizeof db->why, "%s",
                 db->sqlite ? sqlite3_errmsg(db->sqlite) : "SQLite cannot open the file");
}

static void check(struct mpr_database *db, int status, int expected)
{
    if (status != expected) fail(db);
}

void mpr_database_run(struct mpr_database *db, const char *sql)
{
    if (!*db->why) check(db, sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* ---- the file */

static int given_fd = -1;

/* SQLite opens all files through this function, also new ones, and /dev/urandom, which it does not
 * need. */
static int open_file(const char *path, int flags, int mode)
{
    struct stat st;
    if (given_fd >= 0 && (flags & O_ACCMODE) == O_RDWR) return fcntl(given_fd, F_DUPFD_CLOEXEC, 3);
    if (flags & O_CREAT) return open(path, flags | O_NONBLOCK, mode);
    return mpr_file_open(AT_FDCWD, path, flags, &st);
}

/* "unix-none" does not lock, because over NFS the caller's flock would block SQLite's own locks. */
int mpr_database_file_open(const char *name, int fd, sqlite3 **db, int flags)
{
    static bool replaced;
    sqlite3_vfs *vfs = replaced ? NULL : sqlite3_vfs_find(NULL);
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        replaced = vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_file) == SQLITE_OK;
    if (!replaced && fd >= 0) return SQLITE_CANTOPEN;
    given_fd = fd;
    const int status = sqlite3_open_v2(name, db, flags, fd >= 0 ? "unix-none" : NULL);
    given_fd = -1;
    return status;
}

static void open_part(struct mpr_database *db, const struct mpr_database_place *place)
{
    const char *name = mpr_basename(place->path);
    const bool by_path = place->directory == AT_FDCWD;
    struct stat st;
    db->file.fd = -1;
    if (by_path ? mpr_atomic_in_place(place->path)
                : fstatat(place->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                      !S_ISREG(st.st_mode))
        snprintf(db->why, sizeof db->why, "this is not a regular file");
    else if ((by_path ? mpr_atomic_open_path(&db->file, place->path)
                      : mpr_atomic_open(&db->file, place->directory, name, place->mode)) != 0)
        snprintf(db->why, sizeof db->why, "%s", mpr_file_part_error_text(errno));
}

/* Frees the database.  Returns its first failure, or NULL. */
static const char *free_database(struct mpr_database *db)
{
    memcpy(last_failure, db->why, sizeof last_failure);
    sqlite3_close(db->sqlite);
    mpr_atomic_close(&db->file);
    free(db->table);
    free(db);
    return *last_failure ? last_failure : NULL;
}

static void set_pragma(struct mpr_database *db, const char *name, unsigned value)
{
    char *sql = mpr_text_format("PRAGMA %s=%u", name, value);
    mpr_database_run(db, sql);
    free(sql);
}

/* SQLite need not make the file safe against a crash, because it gets its name only when it is
 * complete. */
struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why)
{
    struct mpr_database *db = mpr_alloc(1, sizeof *db);
    open_part(db, place);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (!*db->why)
        check(db, mpr_database_file_open(db->file.part, db->file.fd, &db->sqlite, flags),
              SQLITE_OK);
    set_pragma(db, "page_size", kind->page_bytes);
    mpr_database_run(db, "PRAGMA journal_mode=OFF");
    mpr_database_run(db, "PRAGMA synchronous=OFF");
    mpr_database_run(db, "PRAGMA locking_mode=EXCLUSIVE");
    set_pragma(db, "application_id", kind->application);
    set_pragma(db, "user_version", kind->version);
    mpr_database_run(db, "BEGIN");
    if (!*db->why) return db;
    *why = free_database(db);
    return NULL;
}

const char *mpr_database_close(struct mpr_database *db, bool keep)
{
    mpr_database_run(db, "COMMIT");
    for (size_t i = 0; i < db->tables; i++) sqlite3_finalize(db->table[i].insert);
    if (sqlite3_close(db->sqlite) != SQLITE_OK) fail(db);
    db->sqlite = NULL;
    if (!*db->why && keep && mpr_atomic_commit(&db->file) != 0)
        snprintf(db->why, sizeof db->why, "%s", mpr_file_part_error_text(errno));
    return free_database(db);
}

void mpr_database_process(struct mpr_database *db, uint64_t process) { db->process = process; }

/* ---- tables */

/* Returns true for columns that the table of processes has, because they are the same in all rows
 * of a process. */
static bool is_omitted(const struct mpr_column *c)
{
    return !mpr_column_is_in(c, MPR_IN_CSV) || strcmp(c->key, "log") == 0 ||
           strcmp(c->key, "pid") == 0;
}

/* Creates the table, and prepares the statement that adds a row to it.  WITHOUT ROWID would be
 * smaller, but DuckDB needs rowids to count rows. */
static sqlite3_stmt *add_table(struct mpr_database *db, const struct mpr_export_table *t)
{
    sqlite3_stmt *statement = NULL;
    char *create, *insert;
    size_t bytes[2];
    FILE *columns = mpr_text_open(&create, &bytes[0]), *values = mpr_text_open(&insert, &bytes[1]);
    fprintf(columns, "CREATE TABLE %s (process_id INTEGER NOT NULL", t->name);
    fprintf(values, "INSERT INTO %s VALUES (?", t->name);
    for (const struct mpr_column *c = t->column; c < t->column + t->columns; c++) {
        if (is_omitted(c)) continue;
        const bool text = c->type == MPR_WORD || c->type == MPR_TEXT || c->type == MPR_PATH ||
                          c->type == MPR_NUMBERS;
        fprintf(columns, ", %s %s", c->key,
                text                   ? "TEXT"
                : c->type == MPR_SHARE ? "REAL"
                                       : "INTEGER");
        fputs(",?", values);
    }
    if (*t->key) fprintf(columns, ", PRIMARY KEY (process_id, %s)", t->key);
    fputc(')', columns);
    fputc(')', values);
    mpr_text_close(columns);
    mpr_text_close(values);
    mpr_database_run(db, create);
    if (!*db->why)
        check(
            db,
            sqlite3_prepare_v3(db->sqlite, insert, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL),
            SQLITE_OK);
    free(create);
    free(insert);
    return statement;
}

static sqlite3_stmt *insert_into(struct mpr_database *db, const struct mpr_export_table *t)
{
    for (size_t i = 0; i < db->tables; i++)
        if (db->table[i].name == t->name) return db->table[i].insert;
    const struct known_table added = { t->name, add_table(db, t) };
    *MPR_ADD(db->table, db->tables, db->cap) = added;
    return added.insert;
}

/* ---- rows */

/* SQLite's integers are signed.  Only a damaged log has a number above 2^63. */
static int bind_number(sqlite3_stmt *s, int at, uint64_t number)
{
    return sqlite3_bind_int64(s, at, number < INT64_MAX ? (int64_t)number : INT64_MAX);
}

static int bind_text(sqlite3_stmt *s, int at, const struct mpr_value *v)
{
    static const struct mpr_cell_style repaired = { mpr_utf8_write_repaired, " > " };
    char *copy;
    size_t bytes;
    if (v->type == MPR_TEXT || v->type == MPR_WORD) {
        char *mended = mpr_utf8_repaired(v->text, &bytes);
        return sqlite3_bind_text(s, at, mended ? mended : v->text, (int)bytes,
                                 mended ? free : SQLITE_STATIC);
    }
    FILE *out = mpr_text_open(&copy, &bytes);
    mpr_cell_text(out, &repaired, MPR_GROUP_RANGE, v);
    mpr_text_close(out);
    return sqlite3_bind_text(s, at, copy, (int)bytes, free);
}

static int bind(sqlite3_stmt *s, int at, const struct mpr_value *v)
{
    if (v->state != MPR_KNOWN) return sqlite3_bind_null(s, at);
    switch (v->type) {
    case MPR_SIGNED:
    case MPR_CHANGE: return sqlite3_bind_int64(s, at, v->amount);
    case MPR_SHARE: return sqlite3_bind_double(s, at, v->percent / 100);
    case MPR_WORD:
    case MPR_TEXT:
    case MPR_PATH:
    case MPR_NUMBERS: return bind_text(s, at, v);
    default: return bind_number(s, at, v->number);
    }
}

static void put_row(struct mpr_database *db, sqlite3_stmt *s, const struct mpr_table *t,
                    const void *row)
{
    int at = 1;
    check(db, bind_number(s, at++, db->process), SQLITE_OK);
    for (size_t i = 0; i < t->columns; i++) {
        if (is_omitted(&t->column[i])) continue;
        const struct mpr_value v = mpr_table_cell(t, &t->column[i], row);
        check(db, bind(s, at++, &v), SQLITE_OK);
    }
    check(db, sqlite3_step(s), SQLITE_DONE);
    sqlite3_reset(s);
}

void mpr_database_put(struct mpr_database *db, const struct mpr_export_table *t, const void *row,
                      size_t rows, size_t stride, const void *context)
{
    const struct mpr_table table = { .column = t->column,
                                     .columns = t->columns,
                                     .row = row,
                                     .rows = rows,
                                     .stride = stride,
                                     .context = context };
    sqlite3_stmt *insert = insert_into(db, t);
    for (size_t i = 0; i < rows && !*db->why; i++)
        put_row(db, insert, &table, (const char *)row + i * stride);
}

void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc)
{
    const struct mpr_export_table table = { name, "", doc->csv, doc->csv_columns };
    sqlite3_stmt *insert = insert_into(db, &table);
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind != MPR_TABLE || !mpr_table_is_in(i->table, MPR_IN_CSV)) continue;
        for (size_t k = 0; k < i->table->rows && !*db->why; k++)
            put_row(db, insert, i->table, mpr_table_row(i->table, k, MPR_IN_CSV));
    }
}

void mpr_database_forget(struct mpr_database *db)
{
    for (size_t i = 0; i < db->tables; i++) {
        char *sql = mpr_text_format("DELETE FROM %s WHERE process_id = %" PRIu64, db->table[i].name,
                                    db->process);
        mpr_database_run(db, sql);
        free(sql);
    }
}
