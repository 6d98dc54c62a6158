#include "part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "alloc.h"
#include "cmd.h"
#include "file.h"

static const char *writing; /* NULL: none */

void mpr_part_abandon(void)
{
    if (writing) unlink(writing);
}

static int fail(const struct mpr_part *p, const char *why)
{
    mpr_cmd_say("%s: cannot write: %s", p->path ? p->path : "standard output", why);
    return -1;
}

/* What a killed process left is taken over; what another one writes is locked.  -1 with errno. */
static int take(const char *path)
{
    struct stat st;
    const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (locked && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && mpr_file_is(AT_FDCWD, path, &st) &&
        ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    errno = EBUSY;
    return -1;
}

static FILE *open_part(struct mpr_part *p)
{
    p->part = mpr_text_format("%s.part", p->path);
    const int fd = take(p->part);
    if (fd < 0) return NULL;
    writing = p->part;
    return fdopen(fd, "w");
}

int mpr_part_open(struct mpr_part *p, const char *path)
{
    struct stat st;
    *p = (struct mpr_part){ .path = mpr_output_path(path) };
    if (!p->path) p->file = stdout;
    else if (stat(p->path, &st) == 0 && !S_ISREG(st.st_mode)) p->file = fopen(p->path, "we");
    else p->file = open_part(p);
    if (p->file) return 0;
    fail(p, errno == EBUSY ? "another process writes it" : strerror(errno));
    free(p->part);
    return -1;
}

int mpr_part_close(struct mpr_part *p, bool wanted)
{
    int error = ferror(p->file) | fflush(p->file) ? errno : 0;
    if (!error && wanted && p->part && rename(p->part, p->path) != 0) error = errno;
    if (p->part && (error || !wanted)) unlink(p->part);
    writing = NULL;
    if (p->file != stdout && fclose(p->file) != 0 && !error) error = errno;
    free(p->part);
    return error ? fail(p, strerror(error)) : 0;
}
