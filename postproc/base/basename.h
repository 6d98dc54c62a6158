/* The last part of a file's path. */
#ifndef MPR_BASENAME_H
#define MPR_BASENAME_H

#include <string.h>

/* "train.py" of "/home/me/train.py"; of a path without "/" all of it.  It lies in the path. */
static inline const char *mpr_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
