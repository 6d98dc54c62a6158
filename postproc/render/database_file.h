/* How SQLite opens a database.  Private to this folder. */
#ifndef MPR_DATABASE_FILE_H
#define MPR_DATABASE_FILE_H

#include <sqlite3.h>

/* sqlite3_open_v2, but nothing is opened except a regular file: no pipe is waited for.  fd: what to
 * write, which stays the caller's; by its name others may have laid another file meanwhile.  -1: by
 * the name. */
int mpr_database_file_open(const char *name, int fd, sqlite3 **db, int flags);

#endif
