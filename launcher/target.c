#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "machine.h"

#define INTERPRETERS_MAX 5 /* the kernel's own limit for a script that is run by a script */

const char *mpl_target_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct mpl_target *t, int status,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->reason, sizeof t->reason, format, args);
    va_end(args);
    return status;
}

/* Returns 0, or the errno with which execve would refuse the file. */
static int executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return errno;
    if (!S_ISREG(st.st_mode)) return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* Finds the first file of the name in PATH that may be executed. */
static int search(char *out, const char *name)
{
    const char *path = getenv("PATH");
    int error = ENOENT;
    for (const char *p = path ? path : "/bin:/usr/bin"; *name; p++) {
        const size_t length = strcspn(p, ":");
        const int bytes =
            snprintf(out, PATH_MAX, "%.*s%s%s", (int)length, p, length ? "/" : "./", name);
        const int now = bytes < PATH_MAX ? executable(out) : ENAMETOOLONG;
        if (!now) return 0;
        if (now == EACCES) error = EACCES;
        p += length;
        if (!*p) break;
    }
    return error;
}

static int locate(struct mpl_target *t, const char *command)
{
    int error = ENAMETOOLONG;
    if (!strchr(command, '/')) error = search(t->path, command);
    else if (snprintf(t->path, sizeof t->path, "%s", command) < (int)sizeof t->path)
        error = executable(t->path);
    if (!error) return 0;
    const bool missing = error == ENOENT || error == ENOTDIR;
    return refuse(t, missing ? MPL_STATUS_NOT_FOUND : MPL_STATUS_NOT_EXECUTABLE, "%s",
                  missing && !strchr(command, '/') ? "command not found" : strerror(error));
}

/* Finds the interpreter in the first line of a script ("#!"). Returns false if there is none. */
static bool interpreter(const struct mpl_object *o, char *out)
{
    if (o->bytes < 3 || memcmp(o->at, "#!", 2) != 0) return false;
    const char *const end = (const char *)o->at + (o->bytes < PATH_MAX ? o->bytes : PATH_MAX);
    const char *p = (const char *)o->at + 2;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    size_t n = 0;
    while (p + n < end && !memchr(" \t\n", p[n], 4)) n++;
    memcpy(out, p, n);
    out[n] = 0;
    return n > 0;
}

/* Opens the file that the kernel will load. The shell runs a file that is neither ELF nor starts
 * with "#!", as with execvp. */
static int open_program(struct mpl_target *t)
{
    memcpy(t->program, t->path, sizeof t->program);
    for (int i = 0; i < INTERPRETERS_MAX; i++) {
        mpl_object_open(&t->object, t->program);
        if (t->object.kind != MPL_OBJECT_OTHER) return 0;
        char next[PATH_MAX];
        if (!interpreter(&t->object, next)) memcpy(next, "/bin/sh", sizeof "/bin/sh");
        mpl_object_close(&t->object);
        const int error = executable(next);
        if (error)
            return refuse(t, error == ENOENT ? MPL_STATUS_NOT_FOUND : MPL_STATUS_NOT_EXECUTABLE,
                          "its interpreter %s: %s", next, strerror(error));
        memcpy(t->program, next, sizeof t->program);
    }
    return refuse(t, MPL_STATUS_NOT_EXECUTABLE, "too many levels of interpreters");
}

/* The loader ignores preloaded libraries if the program runs with more rights than its caller. */
const char *mpl_target_gains_rights(const char *path)
{
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) != 0 || (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID)) return NULL;
    if (st.st_mode & S_ISUID && st.st_uid != getuid()) return "setuid";
    if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid()) return "setgid";
    const bool capable = getxattr(path, "security.capability", NULL, 0) > 0;
    return capable && getuid() != 0 ? "a program with file capabilities" : NULL;
}

int mpl_target_find(struct mpl_target *t, const char *command)
{
    memset(t, 0, sizeof *t);
    int status = locate(t, command);
    if (!status) status = open_program(t);
    if (status) return status;
    const char *name = mpl_target_name(t->program);
    const char *rights = mpl_target_gains_rights(t->program);
    if (rights)
        return refuse(
            t, MPL_STATUS_FAILURE,
            "%s is %s, for which the loader ignores LD_PRELOAD, so memprof cannot record it", name,
            rights);
    if (t->object.kind == MPL_OBJECT_STATIC)
        return refuse(
            t, MPL_STATUS_FAILURE,
            "%s is statically linked, so memprof cannot be preloaded into it; link it dynamically",
            name);
    if (t->object.kind == MPL_OBJECT_MUSL)
        return refuse(
            t, MPL_STATUS_FAILURE,
            "%s is built for musl, whose loader cannot load libmemprof.so; build it for glibc",
            name);
    if (t->object.kind == MPL_OBJECT_FOREIGN)
        return refuse(t, MPL_STATUS_FAILURE, "%s is not a " MPL_MACHINE_NAME " program", name);
    return 0;
}

void mpl_target_close(struct mpl_target *t) { mpl_object_close(&t->object); }
