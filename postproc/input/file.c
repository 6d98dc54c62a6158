#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "basename.h"

enum { TRIES = 100, TRY_NS = 10000000 };

/* Opens the file of an O_PATH descriptor for reading or writing. */
static int reopen(int path_fd, int directory, const char *name, int flags)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
    const int fd = open(link, (flags & ~O_NOFOLLOW) | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 || access("/proc/self/fd", X_OK) == 0) return fd;
    return openat(directory, name, flags | O_NONBLOCK | O_CLOEXEC); /* /proc is not mounted */
}

/* An O_PATH descriptor has no effect on the file, so its type can be checked before opening it. */
static int open_file(int directory, const char *name, int flags, off_t min_bytes, struct stat *st)
{
    struct stat opened;
    const int path_fd = openat(directory, name, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
    if (path_fd < 0) return -1;
    int fd = -1;
    if (fstat(path_fd, st) == 0) {
        if (S_ISREG(st->st_mode) && st->st_size >= min_bytes)
            fd = reopen(path_fd, directory, name, flags);
        else errno = S_ISLNK(st->st_mode) ? ELOOP : EINVAL;
    }
    if (fd >= 0 && (fstat(fd, &opened) != 0 || !mpr_file_same(&opened, st))) {
        close(fd);
        fd = -1;
        errno = ESTALE;
    }
    const int error = errno;
    close(path_fd);
    errno = error;
    return fd;
}

int mpr_file_open(int directory, const char *name, int flags, struct stat *st)
{
    return open_file(directory, name, flags, 0, st);
}

int mpr_file_open_named(const char *path, int flags, struct stat *st)
{
    return open_file(AT_FDCWD, path, flags, 1, st);
}

bool mpr_file_is_at(int directory, const char *name, const struct stat *st)
{
    struct stat found;
    return fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && mpr_file_same(&found, st);
}

void mpr_file_lock_shared(int fd)
{
    for (int i = 0; i < TRIES && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
}

void mpr_file_unlock(int fd) { flock(fd, LOCK_UN); }

bool mpr_file_try_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

int mpr_file_check_owner(const struct stat *st, const char *path, struct mpr_error *error)
{
    if (st->st_uid != geteuid())
        return mpr_fail(
            error,
            "%s: this file belongs to another user (%u) and is never changed; run the command as that user",
            path, (unsigned)st->st_uid);
    if (st->st_nlink != 1)
        return mpr_fail(error, "%s: this file has a second name (a hard link); remove that first",
                        path);
    return 0;
}

bool mpr_file_trusted(const struct stat *st, const char *log)
{
    struct stat log_st;
    return !st->st_uid || st->st_uid == geteuid() ||
           (stat(log, &log_st) == 0 && st->st_uid == log_st.st_uid);
}

/* ---- parts */

/* Locks and empties a part, and removes rights from it that @mode does not have.  Returns 0 or an
 * errno. */
static int take_over(int fd, int directory, const char *name, mode_t mode)
{
    struct stat st;
    struct mpr_error error;
    if (fstat(fd, &st) != 0) return errno;
    if (!st.st_nlink) return EBUSY; /* another process renamed it after open, and replaced it */
    if (!S_ISREG(st.st_mode) || mpr_file_check_owner(&st, name, &error) != 0) return EPERM;
    if (!mpr_file_try_lock(fd) || !mpr_file_is_at(directory, name, &st)) return EBUSY;
    const mode_t excess = st.st_mode & ~mode & 0066;
    if (excess && fchmod(fd, st.st_mode & ~excess & 0777) != 0) return errno;
    return ftruncate(fd, 0) == 0 ? 0 : errno;
}

/* Returns EPERM if open failed because of a foreign file with that name, and another errno if it
 * failed because of the folder. */
static int reason_of_refusal(int directory, const char *name, int error)
{
    struct stat st;
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return error == EPERM ? EACCES : error;
    if (error != EACCES && error != ELOOP && error != EISDIR) return error;
    return S_ISREG(st.st_mode) && st.st_uid == geteuid() ? error : EPERM;
}

int mpr_file_open_part(int directory, const char *name, mode_t mode)
{
    const int fd =
        openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    const int error =
        fd < 0 ? reason_of_refusal(directory, name, errno) : take_over(fd, directory, name, mode);
    if (!error) return fd;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
}

const char *mpr_file_part_error_text(int number)
{
    if (number == EBUSY) return MPR_FILE_BUSY;
    if (number == EPERM)
        return "its .part file belongs to another user or has other links; remove that file";
    return strerror(number);
}

int mpr_file_write(int fd, const void *bytes, size_t count)
{
    for (const char *at = bytes, *const end = at + count; at < end;) {
        const ssize_t n = write(fd, at, (size_t)(end - at));
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) at += n;
    }
    return 0;
}

/* ---- directories */

/* In a directory with the sticky bit, users can only replace their own files. */
static int check_directory(int fd, const char *path, struct mpr_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return mpr_fail_errno(error, path, "examine");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return mpr_fail(
            error,
            "%s: its directory belongs to another user (%u), so nothing was changed; run the command as that "
            "user",
            path, (unsigned)st.st_uid);
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return mpr_fail(
            error,
            "%s: every user can change its directory, so nothing was changed; remove that permission (chmod "
            "o-w)",
            path);
    return 0;
}

int mpr_file_directory(const char *path, const char **name, struct mpr_error *error)
{
    char directory[PATH_MAX] = ".";
    *name = mpr_basename(path);
    if (*name > path) snprintf(directory, sizeof directory, "%.*s", (int)(*name - path), path);
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return mpr_fail_errno(error, path, "open its directory");
    if (check_directory(fd, path, error) == 0) return fd;
    close(fd);
    return -1;
}
