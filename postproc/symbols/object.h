/* Opening object files that a log names.  Private to this folder. */
#ifndef MPR_OBJECT_H
#define MPR_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Debug sections shrink to a third when they are compressed, never to a thirty-second. */
#define MPR_UNPACKED_MOST 32u

/* What copies of one run have in all, or half of what a report may have (RLIMIT_DATA). */
#define MPR_COPIED_MOST (UINT64_C(4) << 30)

/* A descriptor of a regular file, or, of one that another user than root and this one may change,
 * of a copy.  -1: there is none, or, with errno EFBIG, no room for its copy.  Never waits. */
int mpr_object_open(const char *path);
/* 1 when the file has that build id (bytes 0: when it has none), 0 when it has another one, -1 when
 * it is no object file. */
int mpr_object_is(int fd, const uint8_t *build_id, size_t bytes);
/* Do its compressed sections unpack to at most MPR_UNPACKED_MOST times the file's size? */
bool mpr_object_unpacks_well(int fd);

#endif
