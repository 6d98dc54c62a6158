#include "database.h"

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
#include "atomic_file.h"
#include "basename.h"
#include "database_file.h"
#include "file.h"
#include "group.h"
#include "utf8.h"

struct kept_table {
    const char *name;
    sqlite3_stmt *insert;
};

struct mpr_database {
    sqlite3 *sqlite;
    struct mpr_atomic_file file;
    uint64_t process;
    struct kept_table *table;
    size_t tables, cap;
    char why[256]; /* what went wrong first; "": nothing */
};

static char refused[256]; /* of a database that is gone */

bool mpr_database_available(void) { return true; }

bool mpr_database_failed(const struct mpr_database *db) { return *db->why; }

static void fail(struct mpr_database *db)
{
    if (!*db->why)
        snprintf(db->why, sizeof db->why, "%s",
                 db->sqlite ? sqlite3_errmsg(db->sqlite) : "SQLite cannot be given a file");
}

static void check(struct mpr_database *db, int status, int wanted)
{
    if (status != wanted) fail(db);
}

void mpr_database_run(struct mpr_database *db, const char *sql)
{
    if (!*db->why) check(db, sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* ---- opening */

/* Gives all back; what went wrong, in memory that lasts; NULL: nothing. */
static const char *release(struct mpr_database *db)
{
    const bool good = !*db->why;
    memcpy(refused, db->why, sizeof refused);
    sqlite3_close(db->sqlite);
    mpr_atomic_close(&db->file);
    free(db->table);
    free(db);
    return good ? NULL : refused;
}

static bool is_no_file(const struct mpr_database_place *place)
{
    struct stat st;
    if (place->directory == AT_FDCWD) return mpr_atomic_in_place(place->path);
    return fstatat(place->directory, mpr_basename(place->path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISREG(st.st_mode);
}

static void begin_file(struct mpr_database *db, const struct mpr_database_place *place)
{
    db->file.fd = -1;
    if (is_no_file(place)) {
        snprintf(db->why, sizeof db->why, "it is not a regular file");
        return;
    }
    const int status =
        place->directory == AT_FDCWD
            ? mpr_atomic_open_path(&db->file, place->path)
            : mpr_atomic_open(&db->file, place->directory, mpr_basename(place->path), place->mode);
    if (status != 0) snprintf(db->why, sizeof db->why, "%s", mpr_file_part_reason(errno));
}

static void set(struct mpr_database *db, const char *name, unsigned value)
{
    char *sql = mpr_text_format("PRAGMA %s=%u", name, value);
    mpr_database_run(db, sql);
    free(sql);
}

/* Nobody reads it before it is whole, so nothing is written twice to survive a crash. */
struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why)
{
    struct mpr_database *db = mpr_alloc(1, sizeof *db);
    begin_file(db, place);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (!*db->why)
        check(db, mpr_database_file_open(db->file.part, db->file.fd, &db->sqlite, flags),
              SQLITE_OK);
    set(db, "page_size", kind->page_bytes);
    mpr_database_run(db, "PRAGMA journal_mode=OFF");
    mpr_database_run(db, "PRAGMA synchronous=OFF");
    mpr_database_run(db, "PRAGMA locking_mode=EXCLUSIVE");
    set(db, "application_id", kind->application);
    set(db, "user_version", kind->version);
    mpr_database_run(db, "BEGIN");
    if (!*db->why) return db;
    *why = release(db);
    return NULL;
}

void mpr_database_process(struct mpr_database *db, uint64_t process) { db->process = process; }

/* ---- tables */

static const char *type_of(const struct mpr_column *c)
{
    switch (c->type) {
    case MPR_SHARE: return "REAL";
    case MPR_WORD:
    case MPR_TEXT:
    case MPR_PATH:
    case MPR_NUMBERS: return "TEXT";
    default: return "INTEGER";
    }
}

/* Of every row the same, and in the table of processes. */
static bool is_left_out(const struct mpr_column *c)
{
    return !mpr_column_in(c, MPR_IN_CSV) || strcmp(c->key, "log") == 0 ||
           strcmp(c->key, "pid") == 0;
}

/* Not WITHOUT ROWID, which would be smaller: DuckDB counts rows by asking for each one's rowid. */
static void create(struct mpr_database *db, const struct mpr_export_table *t)
{
    char *sql;
    size_t bytes;
    FILE *text = mpr_text_open(&sql, &bytes);
    fprintf(text, "CREATE TABLE %s (process_id INTEGER NOT NULL", t->name);
    for (size_t i = 0; i < t->columns; i++)
        if (!is_left_out(&t->column[i]))
            fprintf(text, ", %s %s", t->column[i].key, type_of(&t->column[i]));
    if (*t->key) fprintf(text, ", PRIMARY KEY (process_id, %s)", t->key);
    fputc(')', text);
    mpr_text_close(text);
    mpr_database_run(db, sql);
    free(sql);
}

static sqlite3_stmt *prepare(struct mpr_database *db, const struct mpr_export_table *t)
{
    sqlite3_stmt *insert = NULL;
    char *sql;
    size_t bytes;
    FILE *text = mpr_text_open(&sql, &bytes);
    fprintf(text, "INSERT INTO %s VALUES (?", t->name);
    for (size_t i = 0; i < t->columns; i++)
        if (!is_left_out(&t->column[i])) fputs(",?", text);
    fputc(')', text);
    mpr_text_close(text);
    if (!*db->why)
        check(db, sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL),
              SQLITE_OK);
    free(sql);
    return insert;
}

static sqlite3_stmt *insert_of(struct mpr_database *db, const struct mpr_export_table *t)
{
    for (size_t i = 0; i < db->tables; i++)
        if (db->table[i].name == t->name) return db->table[i].insert;
    create(db, t);
    MPR_GROW(db->table, db->tables, db->cap);
    db->table[db->tables++] = (struct kept_table){ t->name, prepare(db, t) };
    return db->table[db->tables - 1].insert;
}

/* ---- rows */

static int bind_text(sqlite3_stmt *s, int at, const char *text)
{
    size_t bytes;
    char *mended = mpr_utf8_mend(text, &bytes);
    return mended ? sqlite3_bind_text(s, at, mended, (int)bytes, free)
                  : sqlite3_bind_text(s, at, text, (int)bytes, SQLITE_STATIC);
}

static int bind_path(sqlite3_stmt *s, int at, const struct mpr_value *v)
{
    char *copy;
    size_t bytes;
    if (!v->path.depth) return bind_text(s, at, mpr_group_nowhere(MPR_GROUP_RANGE));
    FILE *out = mpr_text_open(&copy, &bytes);
    for (size_t i = 0; i < v->path.depth; i++) {
        if (i) fputs(" > ", out);
        mpr_utf8_mended(out, v->path.frame[i]->text);
    }
    mpr_text_close(out);
    return sqlite3_bind_text(s, at, copy, (int)bytes, free);
}

static int bind_numbers(sqlite3_stmt *s, int at, const struct mpr_value *v)
{
    char *copy;
    size_t bytes;
    FILE *out = mpr_text_open(&copy, &bytes);
    for (size_t i = 0; i < v->count; i++) fprintf(out, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
    mpr_text_close(out);
    return sqlite3_bind_text(s, at, copy, (int)bytes, free);
}

/* SQLite's integers have a sign: what is larger, a damaged log's, is the largest one. */
static int bind_number(sqlite3_stmt *s, int at, uint64_t number)
{
    return sqlite3_bind_int64(s, at, number < INT64_MAX ? (int64_t)number : INT64_MAX);
}

static int bind(sqlite3_stmt *s, int at, const struct mpr_value *v)
{
    if (v->state != MPR_KNOWN) return sqlite3_bind_null(s, at);
    switch (v->type) {
    case MPR_SIGNED:
    case MPR_CHANGE: return sqlite3_bind_int64(s, at, v->amount);
    case MPR_SHARE: return sqlite3_bind_double(s, at, v->percent / 100);
    case MPR_WORD:
    case MPR_TEXT: return bind_text(s, at, v->text);
    case MPR_PATH: return bind_path(s, at, v);
    case MPR_NUMBERS: return bind_numbers(s, at, v);
    default: return bind_number(s, at, v->number);
    }
}

static void put_row(struct mpr_database *db, sqlite3_stmt *s, const struct mpr_table *t,
                    const void *row)
{
    int at = 1;
    check(db, bind_number(s, at++, db->process), SQLITE_OK);
    for (size_t i = 0; i < t->columns; i++) {
        if (is_left_out(&t->column[i])) continue;
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
    sqlite3_stmt *insert = insert_of(db, t);
    for (size_t i = 0; i < rows && !*db->why; i++)
        put_row(db, insert, &table, (const char *)row + i * stride);
}

void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc)
{
    const struct mpr_export_table wanted = { name, "", doc->csv, doc->csv_columns };
    sqlite3_stmt *insert = insert_of(db, &wanted);
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind != MPR_TABLE || !mpr_table_in(i->table, MPR_IN_CSV)) continue;
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

/* ---- closing */

const char *mpr_database_close(struct mpr_database *db, bool wanted)
{
    mpr_database_run(db, "COMMIT");
    for (size_t i = 0; i < db->tables; i++) sqlite3_finalize(db->table[i].insert);
    if (sqlite3_close(db->sqlite) != SQLITE_OK) fail(db);
    db->sqlite = NULL;
    if (!*db->why && wanted && mpr_atomic_commit(&db->file) != 0)
        snprintf(db->why, sizeof db->why, "%s", mpr_file_part_reason(errno));
    return release(db);
}
