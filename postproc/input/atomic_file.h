/* A file that takes the place of the one with its name only once it is whole.  A writer that fails
 * or is killed leaves the old file as it was.
 *
 * Until then the new file has no name (O_TMPFILE), so the kernel removes it with its writer.  A
 * file system that cannot do that gets NAME.part in the same folder, locked while it is written:
 * the part of a killed writer is unlocked, and the next writer removes it.
 *
 * One at a time.  The folder may have files of other users: only regular files that belong to
 * this user alone are taken for parts. */
#ifndef MPR_ATOMIC_FILE_H
#define MPR_ATOMIC_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct mpr_atomic_file {
    int fd;        /* written by the caller; -1: none is open */
    int directory; /* the folder of both names, or AT_FDCWD; the caller closes it */
    char name[PATH_MAX], part[PATH_MAX];
    enum mpr_atomic_way {
        MPR_ATOMIC_UNNAMED,
        MPR_ATOMIC_PART, /* it is `part` until it is whole */
        MPR_ATOMIC_COPY, /* only the contents of the old file can be replaced */
        MPR_ATOMIC_THERE /* it has its name */
    } way;
};

/* Begins a file `name` in a directory (a descriptor, or AT_FDCWD), whatever has that name now, with
 * `mode` less the umask.  0, or -1 with errno, which
 * mpr_file_part_reason (file.h) explains. */
int mpr_atomic_open(struct mpr_atomic_file *f, int directory, const char *name, mode_t mode);
/* The same for a path that the user gave: a link is followed, and the new file gets the mode and
 * the owner of the old one.  If no new file can have these, the old file gets the new
 * contents at the end. */
int mpr_atomic_open_path(struct mpr_atomic_file *f, const char *path);
/* Returns true if the path leads to something that is written in place: a pipe, a device, or an
 * open file (/dev/stdout). */
bool mpr_atomic_in_place(const char *path);
/* Puts the file in its place; it stays open.  0, or -1 with errno, and the old file stays. */
int mpr_atomic_commit(struct mpr_atomic_file *f);
/* Closes it.  A file that is not in its place is gone. */
void mpr_atomic_close(struct mpr_atomic_file *f);
/* Removes what is not in its place of the file that is open, if one is: before the process ends at
 * once. */
void mpr_atomic_abandon(void);

#endif
