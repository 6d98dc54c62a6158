#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "basename.h"

enum { TRIES = 100, TRY_NS = 10000000, MAX_LINKS = 40 };

/* An O_PATH descriptor has no effect on the file, so its type can be checked before it is opened.
 */
static int open_file(int directory, const char *name, int flags, off_t min_bytes, struct stat *st)
{
    struct stat opened;
    const int path_fd = openat(directory, name, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
    if (path_fd < 0) return -1;
    int fd = -1;
    const bool found = fstat(path_fd, st) == 0;
    if (found && S_ISREG(st->st_mode) && st->st_size >= min_bytes) {
        char link[64];
        const int more = O_NONBLOCK | O_CLOEXEC;
        snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
        fd = open(link, (flags & ~O_NOFOLLOW) | more);
        if (fd < 0 && access("/proc/self/fd", X_OK) != 0) /* /proc is not mounted */
            fd = openat(directory, name, flags | more);
    } else if (found) errno = S_ISLNK(st->st_mode) ? ELOOP : EINVAL;
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

size_t mpr_file_skip_hole(int fd, size_t at, size_t size, size_t *end)
{
    const off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    const bool only_hole = data < 0 && errno == ENXIO;
    const off_t hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;
    *end = hole > data && (size_t)hole < size ? (size_t)hole : size;
    if (data >= 0) at = (size_t)data;
    return only_hole || at > size ? size : at;
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

/* Locks and empties a part, and removes the rights that @mode does not have.  Returns 0 or an
 * errno. */
static int reuse_part(int fd, int directory, const char *name, mode_t mode)
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

int mpr_file_open_part(int directory, const char *name, mode_t mode)
{
    const int fd =
        openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    struct stat st;
    int error = fd < 0 ? errno : reuse_part(fd, directory, name, mode);
    if (!error) return fd;
    /* The caller gets EPERM if the file is the reason, and another errno if the folder is. */
    if (fd < 0 && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (error == EPERM) error = EACCES;
    } else if (fd < 0 && (error == EACCES || error == ELOOP || error == EISDIR)) {
        if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) error = EPERM;
    }
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
int mpr_file_directory(const char *path, const char **name, struct mpr_error *error)
{
    char directory[PATH_MAX] = ".";
    struct stat st;
    *name = mpr_basename(path);
    if (*name > path) snprintf(directory, sizeof directory, "%.*s", (int)(*name - path), path);
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return mpr_fail_errno(error, path, "open its directory");
    if (fstat(fd, &st) != 0) mpr_fail_errno(error, path, "examine");
    else if (st.st_uid != geteuid() && st.st_uid != 0)
        mpr_fail(
            error,
            "%s: its directory belongs to another user (%u), so nothing was changed; run the command as that "
            "user",
            path, (unsigned)st.st_uid);
    else if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        mpr_fail(
            error,
            "%s: every user can change its directory, so nothing was changed; remove that permission (chmod "
            "o-w)",
            path);
    else return fd;
    close(fd);
    return -1;
}

/* ---- a file that replaces another one
 *
 * Its writer holds its lock (flock) while it is open, with or without a name, so that other writers
 * do not change it. */

static struct mpr_atomic_file *writing; /* the open file, or NULL */

static int set_open(struct mpr_atomic_file *f, int fd, enum mpr_atomic_state state)
{
    f->fd = fd;
    f->state = state;
    if (fd >= 0) writing = f;
    return fd >= 0 ? 0 : -1;
}

/* Without /proc an unnamed file could not be named later. */
int mpr_atomic_open(struct mpr_atomic_file *f, int directory, const char *name, mode_t mode)
{
    f->fd = -1;
    f->directory = directory;
    if (snprintf(f->name, sizeof f->name, "%s", name) >= PATH_MAX ||
        snprintf(f->part, sizeof f->part, "%s.part", name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    char folder[PATH_MAX] = ".";
    const int length = (int)(mpr_basename(f->name) - f->name);
    if (directory == AT_FDCWD && length) snprintf(folder, sizeof folder, "%.*s", length, f->name);
    const int fd = access("/proc/self/fd", X_OK) == 0
                       ? openat(directory, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode)
                       : -1;
    if (fd >= 0) {
        mpr_file_try_lock(fd);
        return set_open(f, fd, MPR_ATOMIC_UNNAMED);
    }
    return set_open(f, mpr_file_open_part(directory, f->part, mode), MPR_ATOMIC_PART);
}

/* If the path is a link, replaces it by the target and returns true. */
static bool follow(char path[PATH_MAX])
{
    char target[PATH_MAX], folder[PATH_MAX] = "";
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) return false;
    target[length] = 0;
    if (*target != '/')
        snprintf(folder, sizeof folder, "%.*s", (int)(mpr_basename(path) - path), path);
    return snprintf(path, PATH_MAX, "%s%s", folder, target) < PATH_MAX;
}

/* Links in /proc lead to open files, which cannot be replaced. */
static bool is_in_proc(const char *path)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const int length = (int)(mpr_basename(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length, path);
    return length && realpath(folder, real) && strncmp(real, "/proc/", 6) == 0;
}

bool mpr_atomic_in_place(const char *path)
{
    struct stat st;
    char at[PATH_MAX];
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return true;
    snprintf(at, sizeof at, "%s", path);
    for (int i = 0; i < MAX_LINKS; i++) {
        if (is_in_proc(at)) return true;
        if (!follow(at)) return false;
    }
    return false;
}

/* Begins a file that replaces an existing one, with its owner, group and mode. */
static int open_over(struct mpr_atomic_file *f, const char *path, const struct stat *old)
{
    struct stat st;
    if (access(path, W_OK) != 0) return -1;
    if (geteuid() == 0 || old->st_uid == geteuid()) {
        const mode_t mode = old->st_mode & 0777;
        if (mpr_atomic_open(f, AT_FDCWD, path, mode) == 0) {
            const bool same =
                fstat(f->fd, &st) == 0 && st.st_uid == old->st_uid && st.st_gid == old->st_gid;
            if ((same || fchown(f->fd, old->st_uid, old->st_gid) == 0) && fchmod(f->fd, mode) == 0)
                return 0;
        } else if (errno != EACCES && errno != EPERM && errno != EROFS) return -1;
        mpr_atomic_close(f);
    }
    snprintf(f->name, sizeof f->name, "%s", path);
    FILE *file = tmpfile();
    const int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    if (file) fclose(file);
    return set_open(f, fd, MPR_ATOMIC_COPY);
}

int mpr_atomic_open_path(struct mpr_atomic_file *f, const char *path)
{
    struct stat old;
    char at[PATH_MAX];
    f->fd = -1;
    if (snprintf(at, sizeof at, "%s", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (int i = 0; i < MAX_LINKS && follow(at); i++) {}
    return stat(at, &old) == 0 ? open_over(f, at, &old) : mpr_atomic_open(f, AT_FDCWD, at, 0666);
}

static int link_as(const struct mpr_atomic_file *f, const char *name)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
    return linkat(AT_FDCWD, link, f->directory, name, AT_SYMLINK_FOLLOW);
}

/* Removes the part of a writer that was killed, if there is one. */
static int remove_stale(const struct mpr_atomic_file *f)
{
    struct stat st;
    if (fstatat(f->directory, f->part, &st, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    const int fd = mpr_file_open_part(f->directory, f->part, 0600);
    if (fd < 0) return -1;
    unlinkat(f->directory, f->part, 0);
    close(fd);
    return 0;
}

static int rename_part(const struct mpr_atomic_file *f)
{
    return renameat(f->directory, f->part, f->directory, f->name);
}

/* Names a file that has no name.  link(2) cannot replace a file, so to replace one the new file is
 * linked as a part and then renamed.  While another writer uses the name of the part, this waits.
 */
static int give_name(const struct mpr_atomic_file *f)
{
    if (link_as(f, f->name) == 0) {
        remove_stale(f);
        return 0;
    }
    if (errno != EEXIST) return -1;
    for (int i = 0; link_as(f, f->part) != 0; i++) {
        if (errno != EEXIST) return -1;
        if (i == TRIES) {
            errno = EBUSY;
            return -1;
        }
        if (remove_stale(f) != 0) {
            if (errno != EBUSY) return -1;
            nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
        }
    }
    if (rename_part(f) == 0) return 0;
    const int error = errno;
    unlinkat(f->directory, f->part, 0);
    errno = error;
    return -1;
}

static int copy_contents(const struct mpr_atomic_file *f)
{
    struct stat st;
    off_t at = 0;
    const int to = open(f->name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (to < 0) return -1;
    int status = fstat(f->fd, &st);
    while (status == 0 && at < st.st_size) {
        const ssize_t n = sendfile(to, f->fd, &at, (size_t)(st.st_size - at));
        if (n <= 0 && errno != EINTR) status = -1;
    }
    const int error = errno;
    close(to);
    errno = error;
    return status;
}

int mpr_atomic_commit(struct mpr_atomic_file *f)
{
    if (f->state == MPR_ATOMIC_NAMED) return 0;
    if (f->state == MPR_ATOMIC_COPY) return copy_contents(f);
    const int status = f->state == MPR_ATOMIC_PART ? rename_part(f) : give_name(f);
    if (status == 0) f->state = MPR_ATOMIC_NAMED;
    return status;
}

void mpr_atomic_close(struct mpr_atomic_file *f)
{
    if (f->fd >= 0) {
        if (f->state == MPR_ATOMIC_PART) unlinkat(f->directory, f->part, 0);
        close(f->fd);
    }
    f->fd = -1;
    if (writing == f) writing = NULL;
}

void mpr_atomic_abandon(void)
{
    if (writing && writing->state == MPR_ATOMIC_PART)
        unlinkat(writing->directory, writing->part, 0);
}
