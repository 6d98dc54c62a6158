#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"

static bool append(struct mpr_paths *paths, const char *path)
{
    if (paths->count == paths->cap) {
        const size_t cap = paths->cap ? paths->cap * 2 : 16;
        char **at = realloc(paths->at, cap * sizeof *at);
        if (!at) return false;
        paths->at = at;
        paths->cap = cap;
    }
    char *copy = strdup(path);
    if (copy) paths->at[paths->count++] = copy;
    return copy != NULL;
}

static int is_log(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".zst") == 0;
}

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "memprof-report: %s: %s\n", path, what);
    return false;
}

static bool add_directory(struct mpr_paths *paths, const char *directory)
{
    struct dirent **entry;
    char path[PATH_MAX];
    bool good = true;
    const int count = scandir(directory, &entry, is_log, alphasort);
    if (count < 0) return complain(directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        const int length = snprintf(path, sizeof path, "%s/%s", directory, entry[i]->d_name);
        good &= length < (int)sizeof path && append(paths, path);
        free(entry[i]);
    }
    free(entry);
    return count ? good : complain(directory, "no logs (*.zst) in this directory");
}

bool mpr_paths_add(struct mpr_paths *paths, const char *argument)
{
    struct stat st;
    if (stat(argument, &st) == 0 && S_ISDIR(st.st_mode)) return add_directory(paths, argument);
    return append(paths, argument);
}

void mpr_paths_free(struct mpr_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) free(paths->at[i]);
    free(paths->at);
}
