#include "proc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *open_of(pid_t pid, const char *file)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%ld/%.64s", (long)pid, file);
    return fopen(path, "re");
}

enum {
    STATE = 3,
    PPID = 4,
    STARTTIME = 22,
    RSS = 24,
    ARG_START = 48,
    EXIT_CODE = 52,
    FIELDS
}; /* the numbers of fields in proc(5) */

/* "pid (name) S ppid ...": a name may contain any character. */
bool mpl_proc_stat(pid_t pid, struct mpl_proc_stat *out)
{
    char text[1024], *at, *next;
    long long field[FIELDS] = { 0 };
    FILE *f = open_of(pid, "stat");
    if (!f) return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2]) return false;
    out->state = at[2];
    at += 3;
    for (int i = PPID; i < FIELDS; i++, at = next) field[i] = (long long)strtoull(at, &next, 10);
    out->parent = (pid_t)field[PPID];
    out->started = (uint64_t)field[STARTTIME];
    out->rss = (uint64_t)field[RSS];
    out->arguments = (uint64_t)field[ARG_START];
    out->exit_code = (int)field[EXIT_CODE];
    return true;
}

bool mpl_proc_readable(pid_t pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return stat(path, &st) == 0 && (geteuid() == 0 || st.st_uid == geteuid());
}

static void children_of_thread(pid_t pid, const char *thread, void (*each)(void *arg, pid_t child),
                               void *arg)
{
    char file[64];
    long child;
    snprintf(file, sizeof file, "task/%.20s/children", thread);
    FILE *f = open_of(pid, file);
    while (f && fscanf(f, "%ld", &child) == 1) each(arg, (pid_t)child);
    if (f) fclose(f);
}

void mpl_proc_children(pid_t pid, void (*each)(void *arg, pid_t child), void *arg)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *d = opendir(path);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] != '.') children_of_thread(pid, entry->d_name, each, arg);
    }
    if (d) closedir(d);
}

void mpl_proc_name(pid_t pid, char *out, size_t cap)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0) return;
    target[n] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(out, cap, "%s", slash ? slash + 1 : target);
}

int mpl_proc_maps(pid_t pid, const char *name)
{
    FILE *f = open_of(pid, "maps");
    char *line = NULL;
    size_t cap = 0;
    int found = -1;
    while (f && found <= 0 && getline(&line, &cap, f) > 0) {
        const char *slash = strrchr(line, '/');
        found = slash && strncmp(slash + 1, name, strlen(name)) == 0;
    }
    free(line);
    if (f) fclose(f);
    return found;
}

int mpl_proc_environ(pid_t pid, const char *variable, const char *text)
{
    FILE *f = open_of(pid, "environ");
    char *entry = NULL;
    size_t cap = 0, length = strlen(variable);
    int found = f ? 0 : -1;
    while (f && !found && getdelim(&entry, &cap, 0, f) > 0)
        found = strncmp(entry, variable, length) == 0 && entry[length] == '=' &&
                strstr(entry + length, text);
    free(entry);
    if (f) fclose(f);
    return found;
}
