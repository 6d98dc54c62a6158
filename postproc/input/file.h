/* Files that somebody else may have put there, or may put there meanwhile: opened once, and never
 * anything but a regular file. */
#ifndef MPR_FILE_H
#define MPR_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "error.h"
#include "mpf/slot.h"

/* Opens the regular file `name` in a directory (a descriptor, or AT_FDCWD) and says in *st which
 * one it is; nothing else is opened, so that no FIFO is waited for and no device does anything.
 * flags: O_RDONLY or O_RDWR, and O_NOFOLLOW: not if it is a link itself. The descriptor, or -1 with
 * errno: ELOOP for a link, EINVAL for anything else that is no file. */
int mpr_file_open(int directory, const char *name, int flags, struct stat *st);
/* The same of a path that a log names, and no empty file (EINVAL): the kernel's are, and what it
 * tells one reader it may tell no other (/proc/kmsg). */
int mpr_file_open_named(const char *path, int flags, struct stat *st);
/* Does the name in the directory still lead to that file? */
bool mpr_file_is(int directory, const char *name, const struct stat *st);
static inline bool mpr_file_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Who reads a log shares it (flock), and who gives room in it back has it alone for that moment
 * (folded.h).  A file system without such locks goes without. */
void mpr_file_share(int fd); /* waits for a second at most */
void mpr_file_unshare(int fd);
bool mpr_file_take(int fd); /* never waits; false: somebody shares it */

/* Is it this user's, and has it one name only?  Else *error says why it is not changed; -1. */
int mpr_file_mine(const struct stat *st, const char *path, struct mpr_error *error);

/* May what lies beside a log be believed?  It belongs to the log's owner, to who reads it, or to
 * root: others may write to that folder, too. */
bool mpr_file_trusted(const struct stat *st, const char *log);

/* A file of that name in the directory that is this user's, by one name, and locked and empty now,
 * for what is to take another one's place when it is whole: what a killed process left is taken
 * over, with no more rights than `mode`.  -1 with errno: EBUSY where another process writes it,
 * EPERM where it is not this user's alone, or no file.  Others may write the folder: what is
 * written goes to the descriptor. */
int mpr_file_part(int directory, const char *name, mode_t mode);
/* What that errno says to people. */
#define MPR_FILE_BUSY "another process writes it"
const char *mpr_file_part_reason(int number);

/* The directory of a file at `path`, opened for changes in it: it belongs to this user or to root,
 * and what other users may do there they may do to their own files only.  The descriptor, and the
 * file's name in *name; or -1 with *error filled. */
int mpr_file_directory(const char *path, const char **name, struct mpr_error *error);

#endif
