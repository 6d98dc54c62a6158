/* SQLite asks for its files by the name of a call, which may be another one. */
#include "database_file.h"

#include <fcntl.h>
#include <stdbool.h>

#include "file.h"

static int given = -1;

/* What SQLite makes is new; without /dev/urandom, which it asks for, it does as well. */
static int open_file(const char *path, int flags, int mode)
{
    struct stat st;
    if (given >= 0 && (flags & O_ACCMODE) == O_RDWR) return fcntl(given, F_DUPFD_CLOEXEC, 3);
    if (flags & O_CREAT) return open(path, flags | O_NONBLOCK, mode);
    return mpr_file_open(AT_FDCWD, path, flags, &st);
}

/* For all of SQLite's ways to files; false: it has none that can be told. */
static bool is_told(void)
{
    static bool told;
    sqlite3_vfs *vfs = told ? NULL : sqlite3_vfs_find(NULL);
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        told = vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_file) == SQLITE_OK;
    return told;
}

/* What is given the caller has locked, by flock, which over NFS would keep SQLite's own locks out.
 */
int mpr_database_file_open(const char *name, int fd, sqlite3 **db, int flags)
{
    if (!is_told() && fd >= 0) return SQLITE_CANTOPEN;
    given = fd;
    const int status = sqlite3_open_v2(name, db, flags, fd >= 0 ? "unix-none" : NULL);
    given = -1;
    return status;
}
