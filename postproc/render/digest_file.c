/* Reads and writes digests.  digest.def describes their tables. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "digest.h"
#include "export.h"
#include "exports.h"

/* Any change of a table makes a new version, because the reader expects all columns. */
enum { VERSION = 2, APPLICATION = 0x6d706467 /* "mpdg" */ };

/* Small pages, because most tables have few rows. */
static const struct mpr_database_kind kind = { APPLICATION, VERSION, 1024 };

const char *mpr_digest_write(const struct mpr_digest *d, const struct mpr_database_place *place)
{
    const char *why;
    struct mpr_database *db = mpr_database_open(place, &kind, &why);
    if (!db) return why;
    mpr_database_process(db, 1);
    for (const struct mpr_digest_table *t = mpr_digest_table;
         t < mpr_digest_table + mpr_digest_tables; t++) {
        const void *const *list = (const void *const *)((const char *)d + t->list);
        const size_t *count = (const size_t *)((const char *)d + t->count);
        mpr_database_put(db, &t->table, *list, *count, t->stride, NULL);
    }
    return mpr_database_close(db, true);
}

/* ---- opening a file to read it */

/* Limits that no digest reaches. */
enum { MAX_ROWS = 20000, MAX_TEXT = 1 << 16, STEPS = 1000, MAX_STEPS = 20000 };

struct reading {
    sqlite3 *sqlite;
    struct mpr_digest *digest;
    struct mpr_arena *arena;
    const char **why;
    unsigned steps;
    uint8_t heap; /* the heap of the last row, which the next row often also has */
};

static enum mpr_digest_found set_reason(struct reading *r, enum mpr_digest_found found,
                                        const char *why)
{
    *r->why = why;
    return found;
}

static enum mpr_digest_found fail_damaged(struct reading *r, const char *what)
{
    return set_reason(r, MPR_DIGEST_DAMAGED,
                      mpr_arena_format(r->arena, "this digest is damaged: %s", what));
}

static enum mpr_digest_found fail_refused(struct reading *r)
{
    const int code = sqlite3_errcode(r->sqlite);
    if (code == SQLITE_NOTADB)
        return set_reason(r, MPR_DIGEST_FOREIGN, "this is not a digest of a log");
    return fail_damaged(r, sqlite3_errmsg(r->sqlite));
}

/* Returns true to end the statement, because a hostile file may need any number of steps. */
static int count_steps(void *arg)
{
    struct reading *r = arg;
    return ++r->steps > MAX_STEPS;
}

static sqlite3_stmt *prepare(struct reading *r, const char *sql)
{
    sqlite3_stmt *s = NULL;
    return sqlite3_prepare_v2(r->sqlite, sql, -1, &s, NULL) == SQLITE_OK ? s : NULL;
}

/* Returns false if the number cannot be read. */
static bool number_of(struct reading *r, const char *sql, int64_t *number)
{
    sqlite3_stmt *s = prepare(r, sql);
    const bool good = s && sqlite3_step(s) == SQLITE_ROW;
    if (good) *number = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return good;
}

static void harden_sqlite(struct reading *r)
{
    sqlite3_limit(r->sqlite, SQLITE_LIMIT_LENGTH, MAX_TEXT);
    sqlite3_progress_handler(r->sqlite, STEPS, count_steps, r);
    sqlite3_db_config(r->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(r->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(r->sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(r->sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

/* Returns the path as a "file:" URI.  With "immutable" SQLite neither locks the file nor looks for
 * its journal. */
static char *uri_of(const char *path)
{
    char *text;
    size_t bytes;
    FILE *out = mpr_text_open(&text, &bytes);
    fputs("file:", out);
    for (; *path; path++) {
        if (strchr("?#%", *path)) fprintf(out, "%%%02x", (unsigned char)*path);
        else fputc(*path, out);
    }
    fputs("?immutable=1", out);
    mpr_text_close(out);
    return text;
}

static enum mpr_digest_found identify(struct reading *r)
{
    int64_t application, version;
    if (!number_of(r, "PRAGMA application_id", &application) ||
        !number_of(r, "PRAGMA user_version", &version))
        return fail_refused(r);
    if (application != APPLICATION)
        return set_reason(r, MPR_DIGEST_FOREIGN, "this database is not a digest of a log");
    if (version == VERSION) return MPR_DIGEST_GOOD;
    const bool older = version < VERSION;
    return set_reason(
        r, older ? MPR_DIGEST_DAMAGED : MPR_DIGEST_NEWER,
        mpr_arena_format(
            r->arena, "this digest has version %lld, and this memprof-report reads version %d; %s",
            (long long)version, VERSION,
            older ? "make the digest again from its log" : "use a newer memprof-report"));
}

/* ---- values */

/* Stores a value in the row's member.  Returns false if it does not have the column's type. */
static bool store_value(struct reading *r, sqlite3_stmt *s, int at, const struct mpr_column *c,
                        void *row)
{
    void *to = (char *)row + c->at;
    const int type = sqlite3_column_type(s, at);
    const int64_t number = sqlite3_column_int64(s, at);
    const char *text = NULL;
    const bool none = type == SQLITE_NULL, has_none = c->unless == MPR_UNKNOWN_AT_MAX;
    if (c->c_type == MPR_AS_TEXT || c->c_type == MPR_AS_HEAP)
        text = (const char *)sqlite3_column_text(s, at);
    switch (c->c_type) {
    case MPR_AS_TEXT:
        *(const char **)to = mpr_arena_text(&r->digest->arena, text);
        return none || type == SQLITE_TEXT;
    case MPR_AS_HEAP:
        if (!text) text = "";
        if (strcmp(mpr_heap_name(r->heap), text) != 0 && !mpr_heap_read(text, &r->heap))
            return false;
        *(uint8_t *)to = r->heap;
        return none || type == SQLITE_TEXT;
    case MPR_AS_BOOL: *(bool *)to = number; return type == SQLITE_INTEGER;
    case MPR_AS_I64: *(int64_t *)to = number; return type == SQLITE_INTEGER && number != INT64_MIN;
    case MPR_AS_U64:
        *(uint64_t *)to = !none ? (uint64_t)number : has_none ? UINT64_MAX : 0;
        return (type == SQLITE_INTEGER && number >= 0) || (none && has_none);
    default: return false;
    }
}

/* ---- tables */

/* Reads all rows into an array that the caller frees. */
static enum mpr_digest_found take_rows(struct reading *r, const struct mpr_digest_table *t,
                                       char **row, size_t *rows)
{
    char *sql;
    size_t bytes, cap = 0;
    FILE *text = mpr_text_open(&sql, &bytes);
    fputs("SELECT ", text);
    for (size_t i = 0; i < t->table.columns; i++)
        fprintf(text, "%s%s", i ? ", " : "", t->table.column[i].key);
    fprintf(text, " FROM %s ORDER BY rowid", t->table.name);
    mpr_text_close(text);
    sqlite3_stmt *s = prepare(r, sql);
    free(sql);
    enum mpr_digest_found found = s ? MPR_DIGEST_GOOD : fail_refused(r);
    int status = SQLITE_DONE;
    while (found == MPR_DIGEST_GOOD && (status = sqlite3_step(s)) == SQLITE_ROW) {
        if (*rows == MAX_ROWS) {
            found = fail_damaged(r, "it has too many rows");
            break;
        }
        if (*rows == cap) *row = mpr_resize(*row, cap = cap ? 2 * cap : 64, t->stride);
        char *to = memset(*row + (*rows)++ * t->stride, 0, t->stride);
        for (size_t i = 0; found == MPR_DIGEST_GOOD && i < t->table.columns; i++)
            if (!store_value(r, s, (int)i, &t->table.column[i], to))
                found = fail_damaged(r, mpr_arena_format(r->arena, "%s.%s has another type",
                                                         t->table.name, t->table.column[i].key));
    }
    if (found == MPR_DIGEST_GOOD && status != SQLITE_DONE) found = fail_refused(r);
    sqlite3_finalize(s);
    return found;
}

static enum mpr_digest_found take_table(struct reading *r, const struct mpr_digest_table *t)
{
    char *row = NULL;
    size_t rows = 0;
    int64_t count = 0;
    /* A table that has pages: neither a view nor a virtual table of a module. */
    char *sql = mpr_text_format("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                "rootpage > 0 AND name = '%s'",
                                t->table.name);
    const bool is_there = number_of(r, sql, &count) && count == 1;
    free(sql);
    if (!is_there)
        return fail_damaged(r, mpr_arena_format(r->arena, "it has no table %s", t->table.name));
    const enum mpr_digest_found found = take_rows(r, t, &row, &rows);
    void *list = mpr_arena_alloc(&r->digest->arena, rows * t->stride);
    if (rows) memcpy(list, row, rows * t->stride);
    memcpy((char *)r->digest + t->list, &list, sizeof list);
    memcpy((char *)r->digest + t->count, &rows, sizeof rows);
    free(row);
    return found;
}

enum mpr_digest_found mpr_digest_read(struct mpr_digest *d, const char *path,
                                      struct mpr_arena *arena, const char **why)
{
    struct reading r = { .digest = d, .arena = arena, .why = why };
    *d = (struct mpr_digest){ 0 };
    if (access(path, R_OK) != 0)
        return set_reason(&r, errno == ENOENT ? MPR_DIGEST_MISSING : MPR_DIGEST_NOT_READ,
                          mpr_arena_text(arena, strerror(errno)));
    char *uri = uri_of(path);
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    const int opened = mpr_database_file_open(uri, -1, &r.sqlite, flags);
    if (opened == SQLITE_OK) harden_sqlite(&r);
    enum mpr_digest_found found = opened == SQLITE_OK ? identify(&r) : fail_refused(&r);
    for (size_t i = 0; found == MPR_DIGEST_GOOD && i < mpr_digest_tables; i++)
        found = take_table(&r, &mpr_digest_table[i]);
    if (found == MPR_DIGEST_GOOD && d->processes != 1)
        found = fail_damaged(&r, "it does not have exactly one process");
    sqlite3_close(r.sqlite);
    free(uri);
    if (found != MPR_DIGEST_GOOD) mpr_digest_free(d);
    return found;
}
