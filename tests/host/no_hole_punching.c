/* A library preloaded into memprof-report: the file system cannot punch holes into files. */
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
