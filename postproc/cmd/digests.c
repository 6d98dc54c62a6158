#include "digests.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "reports.h"

static const char ending[] = ".digest";

char *mpr_digests_beside(const char *log) { return mpr_text_format("%s%s", log, ending); }

enum mpr_digest_found mpr_digests_read(struct mpr_digest *digest, const char *log, const char *path,
                                       struct mpr_arena *arena, const char **why)
{
    struct stat st;
    *why = "this is another user's than the log";
    if (stat(path, &st) == 0 && access(log, F_OK) == 0 && !mpr_file_trusted(&st, log))
        return MPR_DIGEST_FOREIGN;
    return mpr_digest_read(digest, path, arena, why);
}

bool mpr_digests_is_fresh(const struct mpr_digest *d, const char *log)
{
    struct mpr_digest_source now;
    return mpr_digest_look(&now, log) && mpr_digest_is_fresh(d, &now);
}

int mpr_digests_make(struct mpr_digest *d, const char *log, const struct mpr_output *output,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_digest_words words = { &output->naming, mpr_report_ending, mpr_finding_text };
    return mpr_digest_make(d, log, &words, progress, error);
}

void mpr_digests_free(struct mpr_digests *all)
{
    for (size_t i = 0; i < all->count; i++) mpr_digest_free(&all->at[i]);
    free(all->at);
}

/* ---- names */

/* Arguments as logs, each of which may be there, or its digest, or both. */
static void add_directory(struct mpr_paths *logs, struct mpr_digests *all, const char *directory)
{
    DIR *dir = opendir(directory);
    const size_t before = logs->count;
    if (!dir) {
        mpr_cmd_say("%s: %s", directory, strerror(errno));
        all->failed = true;
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const bool digest = mpr_path_ends_with(entry->d_name, ending);
        if (!digest && !mpr_path_ends_with(entry->d_name, ".zst")) continue;
        char *path = mpr_text_format("%s/%s", directory, entry->d_name);
        if (digest) path[strlen(path) - strlen(ending)] = 0;
        MPR_GROW(logs->at, logs->count, logs->cap);
        logs->at[logs->count++] = path;
    }
    closedir(dir);
    if (logs->count > before) return;
    mpr_cmd_say("%s: no digests (*%s) and no logs (*.zst) in this directory", directory, ending);
    all->failed = true;
}

static void add_argument(struct mpr_paths *logs, struct mpr_digests *all, const char *argument)
{
    struct stat st;
    if (stat(argument, &st) == 0 && S_ISDIR(st.st_mode)) {
        add_directory(logs, all, argument);
        return;
    }
    char *path = mpr_text_copy(argument);
    if (mpr_path_ends_with(path, ending)) path[strlen(path) - strlen(ending)] = 0;
    MPR_GROW(logs->at, logs->count, logs->cap);
    logs->at[logs->count++] = path;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* In order of name, each once. */
static void sort(struct mpr_paths *logs)
{
    size_t kept = 0;
    if (logs->count) qsort(logs->at, logs->count, sizeof *logs->at, by_name);
    for (size_t i = 0; i < logs->count; i++) {
        if (kept && strcmp(logs->at[kept - 1], logs->at[i]) == 0) free(logs->at[i]);
        else logs->at[kept++] = logs->at[i];
    }
    logs->count = kept;
}

/* ---- reading */

struct adding {
    struct mpr_digests *all;
    const struct mpr_output *output;
    const struct mpr_progress *progress;
};

/* Of the log, for its digest does not do. */
static void make(struct adding *a, struct mpr_digest *d, const char *log)
{
    struct mpr_error error;
    if (mpr_digests_make(d, log, a->output, a->progress, &error) == 0) {
        a->all->count++;
        a->all->made++;
        return;
    }
    mpr_cmd_error(&error);
    a->all->failed = true;
}

static void add(struct adding *a, const char *log)
{
    struct mpr_arena arena = { 0 };
    struct mpr_digests *all = a->all;
    const char *why;
    char *path = mpr_digests_beside(log);
    const bool there = access(log, F_OK) == 0;
    MPR_GROW(all->at, all->count, all->cap);
    struct mpr_digest *d = &all->at[all->count];
    const enum mpr_digest_found found = mpr_digests_read(d, log, path, &arena, &why);
    const bool good = found == MPR_DIGEST_GOOD;
    if (good && (!there || mpr_digests_is_fresh(d, log))) all->count++;
    else {
        if (good) mpr_digest_free(d);
        if (there) make(a, d, log);
        else {
            mpr_cmd_say("%s: %s", access(path, F_OK) == 0 ? path : log, why);
            all->failed = true;
        }
    }
    mpr_arena_free(&arena);
    free(path);
}

void mpr_digests_add(struct mpr_digests *all, const char *const *argument, size_t arguments,
                     const struct mpr_output *output)
{
    const struct mpr_progress progress = mpr_bar();
    struct adding a = { all, output, &progress };
    struct mpr_paths logs = { 0 };
    for (size_t i = 0; i < arguments; i++) add_argument(&logs, all, argument[i]);
    sort(&logs);
    for (size_t i = 0; i < logs.count; i++) add(&a, logs.at[i]);
    mpr_bar_clear();
    mpr_paths_free(&logs);
}
