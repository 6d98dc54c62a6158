/* A file mapped for reading from front to back. */
#ifndef MPR_MAP_H
#define MPR_MAP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "error.h"

struct mpr_map {
    const uint8_t *data; /* NULL for an empty file */
    size_t size;         /* bytes to read; the caller may lower it */
    size_t mapped;
    size_t dropped;                /* pages before this offset were released */
    volatile sig_atomic_t changed; /* the file was truncated, and the missing bytes read as zeros */
    struct mpr_map *next;          /* in the list of open maps */
    struct stat st;
    int fd; /* open while the map is open, or -1 */
};

/* Maps a regular file and takes the shared lock of file.h.  Returns 0, or -1 with *error filled.
 *
 * While any map is open, this module handles SIGBUS for the whole process.  *map must not be moved
 * until it is closed. */
int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error);
/* Maps a regular file that is already open.  On success mpr_map_close closes it.
 * @path: for messages */
int mpr_map_file(struct mpr_map *map, int fd, const struct stat *st, const char *path,
                 struct mpr_error *error);
/* Maps a log that will be changed: a file of this user, with one name.  @flags: O_RDONLY, or O_RDWR
 * if it is changed in place. */
int mpr_map_open_own(struct mpr_map *map, int directory, const char *name, const char *path,
                     int flags, struct mpr_error *error);
/* Maps the file again, with its present size and another address.  Returns 0, or -1 with *error
 * filled and the map closed. */
int mpr_map_grow(struct mpr_map *map, const char *path, struct mpr_error *error);
void mpr_map_close(struct mpr_map *map);
/* Releases the pages before @offset, so that a long log does not fill memory.  If they are read
 * again, they are loaded again. */
void mpr_map_drop(struct mpr_map *map, size_t offset);

/* Between these two calls this thread may read files that a library mapped: if one was truncated,
 * its missing pages read as zeros, and mpr_map_unguard returns false.  The handler of SIGBUS stays
 * from the first call on. */
void mpr_map_guard(void);
bool mpr_map_unguard(void);

#endif
