#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "cmd.h"

/* Which file a path leads to; what is not there has no id and is complained of when it is read. */
struct mpr_file {
    bool known;
    dev_t dev;
    ino_t ino;
};

static struct mpr_file file_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (struct mpr_file){ true, st.st_dev, st.st_ino }
                                : (struct mpr_file){ 0 };
}

static bool seen(const struct mpr_paths *paths, const struct mpr_file *file)
{
    for (size_t i = 0; file->known && i < paths->count; i++)
        if (paths->file[i].known && paths->file[i].dev == file->dev &&
            paths->file[i].ino == file->ino)
            return true;
    return false;
}

static void append(struct mpr_paths *paths, const char *path)
{
    const struct mpr_file file = file_at(path);
    if (seen(paths, &file)) return;
    MPR_GROW(paths->at, paths->count, paths->cap);
    paths->file = mpr_resize(paths->file, paths->cap, sizeof *paths->file);
    paths->file[paths->count] = file;
    paths->at[paths->count++] = mpr_text_copy(path);
}

bool mpr_path_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static int is_log(const struct dirent *entry) { return mpr_path_ends_with(entry->d_name, ".zst"); }

static bool complain(const char *path, const char *what)
{
    mpr_cmd_say("%s: %s", path, what);
    return false;
}

static bool add_directory(struct mpr_paths *paths, const char *directory)
{
    struct dirent **entry;
    char path[PATH_MAX];
    bool good = true;
    const int count = scandir(directory, &entry, is_log, alphasort);
    if (count < 0 && !paths->waited_for) return complain(directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        const int length = snprintf(path, sizeof path, "%s/%s", directory, entry[i]->d_name);
        if (length < (int)sizeof path) append(paths, path);
        else good = complain(directory, strerror(ENAMETOOLONG));
        free(entry[i]);
    }
    if (count >= 0) free(entry);
    return count > 0 || paths->waited_for
               ? good
               : complain(directory, "no logs (*.zst) in this directory");
}

/* The log beside a journal or a fold, which are read with it; false: it is gone, or this is
 * neither.
 */
static bool log_of(const char *argument, char log[PATH_MAX])
{
    struct stat st;
    const bool beside =
        mpr_path_ends_with(argument, ".zst.journal") || mpr_path_ends_with(argument, ".zst.fold");
    if (!beside || strlen(argument) >= PATH_MAX) return false;
    snprintf(log, PATH_MAX, "%.*s", (int)(strrchr(argument, '.') - argument), argument);
    return stat(log, &st) == 0;
}

bool mpr_paths_add(struct mpr_paths *paths, const char *argument)
{
    char log[PATH_MAX];
    struct stat st;
    if (log_of(argument, log)) argument = log;
    if (stat(argument, &st) == 0 && S_ISDIR(st.st_mode)) return add_directory(paths, argument);
    append(paths, argument);
    return true;
}

void mpr_paths_keep(struct mpr_paths *paths, const bool *kept)
{
    size_t left = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (!kept[i]) {
            free(paths->at[i]);
            continue;
        }
        paths->at[left] = paths->at[i];
        paths->file[left++] = paths->file[i];
    }
    paths->count = left;
}

void mpr_paths_free(struct mpr_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) free(paths->at[i]);
    free(paths->at);
    free(paths->file);
}
