/* Files in folders that other users may write: opened once, and only if they are regular files. */
#ifndef MPR_FILE_H
#define MPR_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "error.h"
#include "mpf/slot.h"

/* Opens a regular file and fills *st.  Anything else is refused before it is opened, so that no
 * FIFO blocks and no device acts.
 * @directory: a descriptor, or AT_FDCWD
 * @flags: O_RDONLY or O_RDWR; with O_NOFOLLOW a symbolic link is refused
 * Returns the descriptor, or -1 with errno: ELOOP for a link, EINVAL for anything else that is not
 * a regular file. */
int mpr_file_open(int directory, const char *name, int flags, struct stat *st);
/* Does the same for a path that a log names, and also refuses an empty file (EINVAL).  Files of the
 * kernel are empty, and reading one may take data away from other readers (/proc/kmsg). */
int mpr_file_open_named(const char *path, int flags, struct stat *st);
/* Returns true if the name in the directory still leads to this file. */
bool mpr_file_is_at(int directory, const char *name, const struct stat *st);
static inline bool mpr_file_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Readers of a log hold a shared lock (flock); to release room in it a process takes the exclusive
 * lock for that moment (folded.h).  On a file system without such locks both succeed. */
void mpr_file_lock_shared(int fd); /* waits for at most a second */
void mpr_file_unlock(int fd);
/* Returns false if another process has a lock.  Never waits. */
bool mpr_file_try_lock(int fd);

/* Checks that the file belongs to this user and has one name only.  Returns 0, or -1 with *error
 * filled. */
int mpr_file_check_owner(const struct stat *st, const char *path, struct mpr_error *error);

/* Returns true if a file next to a log can be trusted: it belongs to the owner of the log, to this
 * user or to root.  Other users may also be able to write to that folder. */
bool mpr_file_trusted(const struct stat *st, const char *log);

/* Opens a file that will replace another one when it is complete.  It belongs to this user, has one
 * name, is locked, and is empty.  The file of a writer that was killed is reused, with no more
 * rights than @mode.  The folder may be writable for others, so write only to the descriptor.
 * Returns the descriptor, or -1 with errno: EBUSY if another process is writing the file, EPERM if
 * it belongs to another user or is not a regular file. */
int mpr_file_open_part(int directory, const char *name, mode_t mode);
#define MPR_FILE_BUSY "another process is writing this file"
/* Returns the text for such an errno. */
const char *mpr_file_part_error_text(int number);

/* Writes all bytes.  Returns 0, or -1 with errno. */
int mpr_file_write(int fd, const void *bytes, size_t count);

/* Opens the directory of a file in order to change it.  The directory must belong to this user or
 * to root, and other users must not be able to replace files in it. Returns the descriptor and the
 * file's name in *name, or -1 with *error filled. */
int mpr_file_directory(const char *path, const char **name, struct mpr_error *error);

#endif
