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
    size_t size;         /* as much as is to be read */
    size_t mapped;
    size_t dropped;                /* pages before this offset were given back */
    volatile sig_atomic_t changed; /* the file was truncated meanwhile: what is gone reads as zeros
                                    */
    struct mpr_map *next;          /* of all that are open */
    struct stat st;                /* of the file */
    int fd;                        /* the file, open as long; -1: none is */
};

/* 0, or -1 with *error filled.  Only regular files.  Takes SIGBUS for the whole process while
 * any is open; *map stays
 * where it is until closed.  The file is shared for as long (file.h). */
int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error);
/* The same of a regular file that is open, and the map's from then on; its path is for messages. */
int mpr_map_file(struct mpr_map *map, int fd, const struct stat *st, const char *path,
                 struct mpr_error *error);
/* Maps the file as long as it is by now, at another address.  0, or -1 with *error filled: the map
 * is closed. */
int mpr_map_grow(struct mpr_map *map, const char *path, struct mpr_error *error);
void mpr_map_close(struct mpr_map *map);
/* Tells that bytes before `offset` are not needed soon: a long log does not pile up in resident
 * memory. */
void mpr_map_drop(struct mpr_map *map, size_t offset);

/* Between these, in this thread, a page of a file that a library maps by itself reads as zeros
 * where somebody truncated the file meanwhile; then the second returns false.  SIGBUS is taken from
 * the first on. */
void mpr_map_guard(void);
bool mpr_map_unguard(void);

#endif
