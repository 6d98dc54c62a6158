/* Preloaded into memprof-report: the file system has no holes. */
#include <errno.h>
#include <fcntl.h>

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    (void)fd;
    (void)mode;
    (void)offset;
    (void)bytes;
    errno = EOPNOTSUPP;
    return -1;
}
