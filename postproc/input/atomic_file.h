/* A file that replaces the one with its name only when it is complete.  If the writer fails or is
 * killed, the old file stays unchanged.
 *
 * Until then the new file has no name (O_TMPFILE), so the kernel removes it with its writer.  On a
 * file system without O_TMPFILE it is NAME.part in the same folder, locked while it is written. The
 * next writer removes the unlocked part of a writer that was killed.
 *
 * One file at a time.  The folder may have files of other users: only regular files that belong to
 * this user alone are treated as parts. */
#ifndef MPR_ATOMIC_FILE_H
#define MPR_ATOMIC_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct mpr_atomic_file {
    int fd;        /* written by the caller; -1 if the file is not open */
    int directory; /* the folder of both names, or AT_FDCWD; the caller closes it */
    char name[PATH_MAX], part[PATH_MAX];
    enum mpr_atomic_way {
        MPR_ATOMIC_UNNAMED,
        MPR_ATOMIC_PART, /* it is `part` until it is complete */
        MPR_ATOMIC_COPY, /* only the contents of the old file can be replaced */
        MPR_ATOMIC_THERE /* it has its name */
    } way;
};

/* Begins a file that will get this name, with @mode less the umask.  @directory: a descriptor, or
 * AT_FDCWD.  Returns 0, or -1 with errno, which mpr_file_part_error_text (file.h) explains. */
int mpr_atomic_open(struct mpr_atomic_file *f, int directory, const char *name, mode_t mode);
/* Begins a file for a path that the user gave: a link is followed, and the new file gets the mode
 * and the owner of the old one.  If a new file cannot have these, the old file gets the new
 * contents at the end. */
int mpr_atomic_open_path(struct mpr_atomic_file *f, const char *path);
/* Returns true if the path leads to something that is written in place: a pipe, a device, or an
 * open file (/dev/stdout). */
bool mpr_atomic_in_place(const char *path);
/* Gives the file its name; it stays open.  Returns 0, or -1 with errno, and the old file stays. */
int mpr_atomic_commit(struct mpr_atomic_file *f);
/* Closes the file.  Without a commit its contents are discarded. */
void mpr_atomic_close(struct mpr_atomic_file *f);
/* Removes the part of an open file that was not committed.  Call it before the process ends without
 * mpr_atomic_close. */
void mpr_atomic_abandon(void);

#endif
