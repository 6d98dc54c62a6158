/* Invariant: the new file is locked (flock) while its writer has it open, with or without a name,
 * so that other writers leave it alone. */
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "basename.h"
#include "file.h"

enum { MAX_LINKS = 40, TRIES = 100, TRY_NS = 10000000 };

static struct mpr_atomic_file *writing; /* the open file, or NULL */

/* ---- beginning */

static int set_open(struct mpr_atomic_file *f, int fd, enum mpr_atomic_way way)
{
    f->fd = fd;
    f->way = way;
    if (fd >= 0) writing = f;
    return fd >= 0 ? 0 : -1;
}

/* Opens a file without a name.  It needs /proc, through which it gets its name later. */
static int open_unnamed(const struct mpr_atomic_file *f, mode_t mode)
{
    char folder[PATH_MAX] = ".";
    const int length = (int)(mpr_basename(f->name) - f->name);
    if (access("/proc/self/fd", X_OK) != 0) return -1;
    if (f->directory == AT_FDCWD && length)
        snprintf(folder, sizeof folder, "%.*s", length, f->name);
    const int fd = openat(f->directory, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (fd >= 0) mpr_file_try_lock(fd);
    return fd;
}

int mpr_atomic_open(struct mpr_atomic_file *f, int directory, const char *name, mode_t mode)
{
    f->fd = -1;
    f->directory = directory;
    if (snprintf(f->name, sizeof f->name, "%s", name) >= PATH_MAX ||
        snprintf(f->part, sizeof f->part, "%s.part", name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = open_unnamed(f, mode);
    if (fd >= 0) return set_open(f, fd, MPR_ATOMIC_UNNAMED);
    return set_open(f, mpr_file_open_part(directory, f->part, mode), MPR_ATOMIC_PART);
}

/* ---- a path */

/* If the path leads to a link, replaces it by the target and returns true. */
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

/* ---- ending */

static int link_as(const struct mpr_atomic_file *f, const char *name)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
    return linkat(AT_FDCWD, link, f->directory, name, AT_SYMLINK_FOLLOW);
}

/* Removes the part of a writer that was killed. */
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

/* Links the file as its part.  Another writer may have that name for the moment between two calls,
 * or while it writes on a file system without O_TMPFILE. */
static int take_part_name(const struct mpr_atomic_file *f)
{
    for (int i = 0; i < TRIES; i++) {
        if (remove_stale(f) != 0 && errno != EBUSY) return -1;
        if (link_as(f, f->part) == 0) return 0;
        if (errno != EEXIST) return -1;
        nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
    }
    errno = EBUSY;
    return -1;
}

static int rename_part(const struct mpr_atomic_file *f)
{
    return renameat(f->directory, f->part, f->directory, f->name);
}

/* Names a file that has no name.  link(2) cannot replace a file, so over an existing one the new
 * file is a part for a moment. */
static int give_name(const struct mpr_atomic_file *f)
{
    if (link_as(f, f->name) == 0) {
        remove_stale(f);
        return 0;
    }
    if (errno != EEXIST || take_part_name(f) != 0) return -1;
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
    if (f->way == MPR_ATOMIC_THERE) return 0;
    if (f->way == MPR_ATOMIC_COPY) return copy_contents(f);
    const int status = f->way == MPR_ATOMIC_PART ? rename_part(f) : give_name(f);
    if (status == 0) f->way = MPR_ATOMIC_THERE;
    return status;
}

void mpr_atomic_close(struct mpr_atomic_file *f)
{
    if (f->fd >= 0) {
        if (f->way == MPR_ATOMIC_PART) unlinkat(f->directory, f->part, 0);
        close(f->fd);
    }
    f->fd = -1;
    if (writing == f) writing = NULL;
}

void mpr_atomic_abandon(void)
{
    if (writing && writing->way == MPR_ATOMIC_PART) unlinkat(writing->directory, writing->part, 0);
}
