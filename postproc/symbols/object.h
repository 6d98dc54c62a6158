/* Opens object files that a log names.  Private to this folder. */
#ifndef MPR_OBJECT_H
#define MPR_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum ratio of compression of debug sections.  Real ones shrink to a third. */
#define MPR_UNPACKED_MAX 32u

/* Maximum bytes of all copies in one run, if a report may have twice that (RLIMIT_DATA). */
#define MPR_COPIED_MAX (UINT64_C(4) << 30)

/* Opens a regular file, or a copy of it if a user other than root and this one may change it.
 * Returns the descriptor, or -1, with errno EFBIG if copies take too much.  Never waits. */
int mpr_object_open(const char *path);
/* Returns 1 if the file has this build id (bytes 0: if it has none), 0 if it has another one, or -1
 * if it is not an object file. */
int mpr_object_has_build_id(int fd, const uint8_t *build_id, size_t bytes);
/* Returns true if its compressed sections unpack to at most MPR_UNPACKED_MAX times its size. */
bool mpr_object_unpacks_well(int fd);

#endif
