/* Files in folders that other users may write to: each is opened once, only if it is a regular
 * file, and is replaced as a whole. */
#ifndef MPR_FILE_H
#define MPR_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "error.h"
#include "mpf/slot.h"

/* Opens a regular file and fills *st.  Anything else is not even opened, because a FIFO would block
 * and a device may act.
 * @directory: a descriptor, or AT_FDCWD
 * @flags: O_RDONLY or O_RDWR; with O_NOFOLLOW a symbolic link is refused
 * Returns the descriptor, or -1 with errno: ELOOP for a link, EINVAL for anything else that is not
 * a regular file. */
int mpr_file_open(int directory, const char *name, int flags, struct stat *st);
/* Does the same for a path from a log, and also refuses an empty file (EINVAL).  Files of the
 * kernel have size 0, and reading one may take data away from other readers (/proc/kmsg). */
int mpr_file_open_named(const char *path, int flags, struct stat *st);
/* Returns true if this file has this name in the directory now. */
bool mpr_file_is_at(int directory, const char *name, const struct stat *st);
static inline bool mpr_file_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns the offset of the first byte after a hole at @at, or @at without a hole there; at most
 * @size.  *end: the offset of the next hole, or @size.  On some file systems files have no holes.
 */
size_t mpr_file_skip_hole(int fd, size_t at, size_t size, size_t *end);

/* Readers of a log hold a shared lock (flock); to release disk space of it a process takes the
 * exclusive lock for that moment (folded.h).  On a file system without such locks both succeed. */
void mpr_file_lock_shared(int fd); /* waits for at most a second */
void mpr_file_unlock(int fd);
/* Returns false if another process has a lock.  Never waits. */
bool mpr_file_try_lock(int fd);

/* Checks that the file belongs to this user and has only one name.  Returns 0, or -1 with *error
 * filled. */
int mpr_file_check_owner(const struct stat *st, const char *path, struct mpr_error *error);

/* Returns true if a file next to a log can be trusted, although other users may write to that
 * folder: it belongs to the owner of the log, to this user, or to root. */
bool mpr_file_trusted(const struct stat *st, const char *log);

/* Opens a part: a file that will replace another one when it is complete.  It belongs to this user,
 * has one name, is locked, and is empty.  The part of a writer that was killed is reused, with no
 * more rights than @mode.  Write only to the descriptor, because others may write to the folder.
 * Returns the descriptor, or -1 with errno: EBUSY if another process is writing the file, EPERM if
 * it belongs to another user or is not a regular file. */
int mpr_file_open_part(int directory, const char *name, mode_t mode);
#define MPR_FILE_BUSY "another process is writing this file"
/* Returns the text for this errno. */
const char *mpr_file_part_error_text(int number);

/* Writes all bytes.  Returns 0, or -1 with errno. */
int mpr_file_write(int fd, const void *bytes, size_t count);

/* Opens the directory of a file in order to change files in it.  The directory must belong to this
 * user or to root, and other users must not be able to replace files in it.  Returns the descriptor
 * and the file's name in *name, or -1 with *error filled. */
int mpr_file_directory(const char *path, const char **name, struct mpr_error *error);

/* ---- a file that replaces the one with its name only when it is complete
 *
 * If the writer fails or is killed, the old file stays unchanged.  Until it is complete the new
 * file has no name (O_TMPFILE), so the kernel removes it with its writer.  On a file system without
 * O_TMPFILE it is the part NAME.part in the same folder.
 *
 * Only one such file is open at a time. */

struct mpr_atomic_file {
    int fd;        /* written by the caller; -1 if the file is not open */
    int directory; /* the folder of both names, or AT_FDCWD; the caller closes it */
    char name[PATH_MAX], part[PATH_MAX];
    enum mpr_atomic_state {
        MPR_ATOMIC_UNNAMED,
        MPR_ATOMIC_PART, /* it has the name `part` */
        MPR_ATOMIC_COPY, /* unnamed, and will be copied into the old file */
        MPR_ATOMIC_NAMED /* complete */
    } state;
};

/* Begins a file that will get this name, with @mode less the umask.  @directory: a descriptor, or
 * AT_FDCWD.  Returns 0, or -1 with errno, which mpr_file_part_error_text explains. */
int mpr_atomic_open(struct mpr_atomic_file *f, int directory, const char *name, mode_t mode);
/* Begins a file for a path that the user gave: links are followed, and the new file gets the mode
 * and the owner of the old one.  If that is not allowed, the contents are copied into the old file
 * at the end. */
int mpr_atomic_open_path(struct mpr_atomic_file *f, const char *path);
/* Returns true if the path leads to something that is written in place: a pipe, a device, or an
 * open file (/dev/stdout). */
bool mpr_atomic_in_place(const char *path);
/* Gives the file its name; it stays open.  Returns 0, or -1 with errno, and the old file stays. */
int mpr_atomic_commit(struct mpr_atomic_file *f);
/* Closes the file.  Without a commit its contents are discarded. */
void mpr_atomic_close(struct mpr_atomic_file *f);
/* Removes the part of the open file, if any, before the process ends without mpr_atomic_close. */
void mpr_atomic_abandon(void);

/* ---- maps of generated code
 *
 * A JIT compiler's map of the code that it generated, in the format of perf: a line for each
 * function, with its address and size in hexadecimal and its name.  The program writes it to
 * /tmp/perf-PID.map, and the launcher copies it to LOG.perfmap. */

#define MPR_PERF_MAP_ENDING ".perfmap"
#define MPR_PERF_MAP_MAX    (64 << 20) /* bytes */

#endif
