#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100, TRY_NS = 10000000 };

/* The file of an O_PATH descriptor, which was opened without any effect on it. */
static int open_again(int at, int directory, const char *name, int flags)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    const int fd = open(link, (flags & ~O_NOFOLLOW) | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 || access("/proc/self/fd", X_OK) == 0) return fd;
    return openat(directory, name, flags | O_NONBLOCK | O_CLOEXEC); /* no /proc here */
}

static int open_regular(int at, int directory, const char *name, int flags, off_t least,
                        struct stat *st)
{
    struct stat now;
    if (fstat(at, st) != 0) return -1;
    if (!S_ISREG(st->st_mode) || st->st_size < least) {
        errno = S_ISLNK(st->st_mode) ? ELOOP : EINVAL;
        return -1;
    }
    const int fd = open_again(at, directory, name, flags);
    if (fd < 0 || (fstat(fd, &now) == 0 && mpr_file_same(&now, st))) return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

static int open_file(int directory, const char *name, int flags, off_t least, struct stat *st)
{
    const int at = openat(directory, name, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
    if (at < 0) return -1;
    const int fd = open_regular(at, directory, name, flags, least, st), error = errno;
    close(at);
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

bool mpr_file_is(int directory, const char *name, const struct stat *st)
{
    struct stat now;
    return fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && mpr_file_same(&now, st);
}

void mpr_file_share(int fd)
{
    for (int i = 0; i < TRIES && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
}

void mpr_file_unshare(int fd) { flock(fd, LOCK_UN); }

bool mpr_file_take(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

int mpr_file_mine(const struct stat *st, const char *path, struct mpr_error *error)
{
    if (st->st_uid != geteuid())
        return mpr_fail(
            error,
            "%s: it belongs to another user (%u), whose logs are read and never changed; run this as that user",
            path, (unsigned)st->st_uid);
    if (st->st_nlink != 1)
        return mpr_fail(error, "%s: it has another name, too (a hard link); remove that first",
                        path);
    return 0;
}

bool mpr_file_trusted(const struct stat *st, const char *log)
{
    struct stat of;
    return !st->st_uid || st->st_uid == geteuid() ||
           (stat(log, &of) == 0 && st->st_uid == of.st_uid);
}

/* What is left from before keeps no right that is not asked for. */
static int narrow(int fd, const struct stat *st, mode_t mode)
{
    const mode_t more = st->st_mode & ~mode & 0066;
    return more ? fchmod(fd, st->st_mode & ~more & 0777) : 0;
}

/* 0, or what errno is to be. */
static int take_over(int fd, int directory, const char *name, mode_t mode)
{
    struct stat st;
    struct mpr_error error;
    if (fstat(fd, &st) != 0) return errno;
    if (!st.st_nlink) return EBUSY; /* another process renamed it after open, and replaced it */
    if (!S_ISREG(st.st_mode) || mpr_file_mine(&st, name, &error) != 0) return EPERM;
    if (!mpr_file_take(fd) || !mpr_file_is(directory, name, &st)) return EBUSY;
    return narrow(fd, &st, mode) == 0 && ftruncate(fd, 0) == 0 ? 0 : errno;
}

/* Who refused: the folder, or what lies there? */
static int refusal(int directory, const char *name, int why)
{
    struct stat st;
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return why == EPERM ? EACCES : why;
    if (why != EACCES && why != ELOOP && why != EISDIR) return why;
    return S_ISREG(st.st_mode) && st.st_uid == geteuid() ? why : EPERM;
}

int mpr_file_part(int directory, const char *name, mode_t mode)
{
    const int fd =
        openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    const int why = fd < 0 ? refusal(directory, name, errno) : take_over(fd, directory, name, mode);
    if (!why) return fd;
    if (fd >= 0) close(fd);
    errno = why;
    return -1;
}

const char *mpr_file_part_reason(int number)
{
    if (number == EBUSY) return MPR_FILE_BUSY;
    if (number == EPERM) return "beside it, as .part, lies what is not this user's alone";
    return strerror(number);
}

/* In a directory with the sticky bit others cannot touch what is not theirs. */
static int may_change(int fd, const char *path, struct mpr_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return mpr_fail_errno(error, path, "examine");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return mpr_fail(
            error,
            "%s: its directory belongs to another user (%u), so nothing is changed there; run it as that user",
            path, (unsigned)st.st_uid);
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return mpr_fail(
            error,
            "%s: every user may change its directory, so nothing is changed there; take that right away (chmod o-w)",
            path);
    return 0;
}

int mpr_file_directory(const char *path, const char **name, struct mpr_error *error)
{
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX] = ".";
    if (slash)
        snprintf(directory, sizeof directory, "%.*s", (int)(slash == path ? 1 : slash - path),
                 path);
    *name = slash ? slash + 1 : path;
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return mpr_fail_errno(error, path, "open the directory of it");
    if (may_change(fd, path, error) == 0) return fd;
    close(fd);
    return -1;
}
