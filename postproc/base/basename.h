/* The last component of a path. */
#ifndef MPR_BASENAME_H
#define MPR_BASENAME_H

#include <string.h>

/* Returns "train.py" of "/home/me/train.py", and all of a path without "/".  The result points into
 * the path. */
static inline const char *mpr_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
