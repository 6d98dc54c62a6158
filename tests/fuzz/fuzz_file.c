#include "fuzz.h"

#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[PATH_MAX];

static const char *path_of(const char *name)
{
    static char path[4][PATH_MAX + NAME_MAX + 2];
    static unsigned next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    return at;
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(path_of(e->d_name));
    if (d) closedir(d);
    rmdir(folder);
}

static void make_folder(void)
{
    const char *in = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fuzz.XXXXXX", in ? in : "/tmp");
    if (!mkdtemp(folder)) err(1, "%s", folder);
    atexit(remove_folder);
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    if (!*folder) make_folder();
    const char *path = path_of(name);
    FILE *file = fopen(path, "wbe");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) err(1, "%s", path);
    return path;
}
