#include "part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

static FILE *open_part(struct mpr_part *p)
{
    p->part = mpr_text_format("%s.part", p->path);
    const int fd = mpr_file_part(AT_FDCWD, p->part, 0666);
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
    fail(p, p->part ? mpr_file_part_reason(errno) : strerror(errno));
    free(p->part);
    return -1;
}

int mpr_part_close(struct mpr_part *p, bool wanted)
{
    int error = (ferror(p->file) | fflush(p->file)) ? errno : 0;
    if (!error && wanted && p->part && rename(p->part, p->path) != 0) error = errno;
    if (p->part && (error || !wanted)) unlink(p->part);
    writing = NULL;
    if (p->file != stdout && fclose(p->file) != 0 && !error) error = errno;
    free(p->part);
    return error ? fail(p, strerror(error)) : 0;
}
