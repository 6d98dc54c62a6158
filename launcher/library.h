/* Finds the libraries to preload: libmemprof.so, companions of detected allocators, the user's
 * libraries, and the companion of the CUDA driver. */
#ifndef MPL_LIBRARY_H
#define MPL_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "object.h"

/* Finds libmemprof.so: MEMPROF_LIB, or the one in this executable's installation or build. Returns
 * 0, or -1 with the reason. */
int mpl_library_find(char path[PATH_MAX], char *reason, size_t cap);

/* Returns true if nsys started the command, or is the command. CUPTI then belongs to nsys. */
bool mpl_library_below_nsys(const char *command);

/* Returns the value of LD_PRELOAD for a program, malloc'ed, or NULL without memory. @user: the
 * current value, or NULL. @by_name: add the companion that interposes the CUDA driver, if it is
 * installed, after all others, because they may interpose it and look up the next definition. */
char *mpl_library_preload(const char *library, const struct mpl_object *program, const char *user,
                          bool by_name);

/* Returns the value of ASAN_OPTIONS for a program that needs the AddressSanitizer library or gets
 * it from @user_preload: that library ends a process in which another one is loaded first, unless
 * an option allows it. The result is malloc'ed. Returns NULL if nothing needs to be changed,
 * because the program does not use the library or @user_options has that option.
 * @user_preload, @user_options: the user's LD_PRELOAD and ASAN_OPTIONS, or NULL */
char *mpl_library_asan_options(const struct mpl_object *program, const char *user_preload,
                               const char *user_options);

#endif
