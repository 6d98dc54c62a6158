/* A file mapped for reading from front to back. */
#ifndef MPR_MAP_H
#define MPR_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct mpr_map {
    const uint8_t *data;    /* NULL for an empty file */
    size_t size;
    size_t dropped;         /* pages before this offset were given back */
};

/* 0, or -1 with *error filled.  Only regular files. */
int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error);
void mpr_map_close(struct mpr_map *map);
/* Tells that bytes before `offset` are not needed soon: a long log does not pile up in resident memory. */
void mpr_map_drop(struct mpr_map *map, size_t offset);

#endif
