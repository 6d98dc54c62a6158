/* What is to be preloaded: libmemprof.so, the companions of the allocators in sight, and what the
 * user preloads. */
#ifndef MPL_LIBRARY_H
#define MPL_LIBRARY_H

#include <limits.h>
#include <stddef.h>

#include "object.h"

/* Finds libmemprof.so: MEMPROF_LIB, or beside this executable's installation or build.  0; or -1,
 * and why in reason. */
int mpl_library_find(char path[PATH_MAX], char *reason, size_t cap);

/* The value of LD_PRELOAD for a program: malloc'ed, or NULL without memory.  user: the value so
 * far, or NULL. */
char *mpl_library_preload(const char *library, const struct mpl_object *program, const char *user);

#endif
