#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"

/* NULL if the file changes meanwhile. */
static char *read_all(int fd, size_t bytes)
{
    char *data = mpr_alloc(bytes + 1, 1);
    size_t got = 0;
    for (ssize_t n; got < bytes && (n = read(fd, data + got, bytes - got)) != 0;) {
        if (n > 0) got += (size_t)n;
        else if (errno != EINTR) break;
    }
    if (got == bytes) return data;
    free(data);
    return NULL;
}

char *mpr_beside_read(const char *log, const char *ending, size_t max, size_t *bytes,
                      enum mpr_symbols_beside *found)
{
    char *path = mpr_text_format("%s%s", log, ending);
    struct stat st;
    const int fd = mpr_file_open(AT_FDCWD, path, O_RDONLY, &st), failed = errno;
    const bool trusted = fd >= 0 && mpr_file_trusted(&st, log);
    *found = trusted            ? MPR_SYMBOLS_DAMAGED_BESIDE
             : fd >= 0          ? MPR_SYMBOLS_OWNED_BESIDE
             : failed == ENOENT ? MPR_SYMBOLS_NONE_BESIDE
                                : MPR_SYMBOLS_UNREADABLE_BESIDE;
    *bytes = trusted ? (size_t)st.st_size : 0;
    char *data = trusted && *bytes <= max ? read_all(fd, *bytes) : NULL;
    free(path);
    if (fd >= 0) close(fd);
    return data;
}
