#include "destination.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "file.h"

static int fail(const struct mpr_destination *d, const char *why)
{
    mpr_cmd_say("%s: cannot write: %s", d->path ? d->path : "standard output", why);
    return -1;
}

/* The descriptor stays the atomic file's. */
static FILE *open_atomic(struct mpr_destination *d)
{
    if (mpr_atomic_open_path(&d->atomic, d->path) != 0) return NULL;
    const int fd = fcntl(d->atomic.fd, F_DUPFD_CLOEXEC, 3);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) return file;
    const int error = errno;
    if (fd >= 0) close(fd);
    mpr_atomic_close(&d->atomic);
    errno = error;
    return NULL;
}

int mpr_destination_open(struct mpr_destination *d, const char *path)
{
    *d = (struct mpr_destination){ .path = path ? mpr_output_path(path) : NULL, .atomic.fd = -1 };
    if (!d->path) d->file = stdout;
    else if (mpr_atomic_in_place(d->path)) d->file = fopen(d->path, "we");
    else d->file = open_atomic(d);
    return d->file ? 0 : fail(d, mpr_file_part_reason(errno));
}

int mpr_destination_publish(struct mpr_destination *d)
{
    if (ferror(d->file) | fflush(d->file)) return -1;
    return d->atomic.fd >= 0 ? mpr_atomic_commit(&d->atomic) : 0;
}

int mpr_destination_close(struct mpr_destination *d, bool wanted)
{
    int error = (ferror(d->file) | fflush(d->file)) ? errno : 0;
    if (!error && wanted && mpr_destination_publish(d) != 0) error = errno;
    mpr_atomic_close(&d->atomic);
    if (d->file != stdout && fclose(d->file) != 0 && !error) error = errno;
    return error ? fail(d, mpr_file_part_reason(error)) : 0;
}
