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
    if (given >= 0 && (flags & O_ACCMODE) == O_RDWR) return fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (flags & O_CREAT) return open(path, flags | O_NONBLOCK, mode);
    return mpr_file_open(AT_FDCWD, path, flags, &st);
}

int mpr_database_file_open(const char *name, int fd, sqlite3 **db, int flags)
{
    static bool done;
    sqlite3_vfs *vfs = done ? NULL : sqlite3_vfs_find(NULL);
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_file);
    done = true;
    given = fd;
    const int status = sqlite3_open_v2(name, db, flags, NULL);
    given = -1;
    return status;
}
