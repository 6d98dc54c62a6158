/* What is to be preloaded: libmemprof.so, the companions of the allocators in sight, what the user
 * preloads, and the companion of the CUDA driver. */
#ifndef MPL_LIBRARY_H
#define MPL_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "object.h"

/* Finds libmemprof.so: MEMPROF_LIB, or beside this executable's installation or build.  0; or -1,
 * and why in reason. */
int mpl_library_find(char path[PATH_MAX], char *reason, size_t cap);

/* Is nsys around the command, or the command itself?  It has CUPTI then. */
bool mpl_library_below_nsys(const char *command);

/* The value of LD_PRELOAD for a program: malloc'ed, or NULL without memory.  user: the value so
 * far, or NULL.  by_name: with the companion that stands before the CUDA driver's names, if it is
 * installed; behind all others, who may do the same and look up what is behind them. */
char *mpl_library_preload(const char *library, const struct mpl_object *program, const char *user,
                          bool by_name);

/* Returns the value of ASAN_OPTIONS for a program that needs the AddressSanitizer library or gets
 * it from @user_preload: that library ends a process in which another one is loaded first, unless
 * an option says otherwise.  malloc'ed; NULL if nothing is to be changed, because the program does
 * not use the library or @user_options has that option.
 * @user_preload, @user_options: the user's LD_PRELOAD and ASAN_OPTIONS, or NULL */
char *mpl_library_asan_options(const struct mpl_object *program, const char *user_preload,
                               const char *user_options);

#endif
