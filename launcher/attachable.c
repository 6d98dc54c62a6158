#include "attachable.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "object.h"
#include "proc.h"

enum { STATUS_BYTES = 8192 };

__attribute__((format(printf, 3, 4))) static bool refuse(char *reason, size_t cap,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, cap, format, args);
    va_end(args);
    return false;
}

static bool read_file(const char *path, char *text, size_t cap)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    text[fread(text, 1, cap - 1, f)] = 0;
    fclose(f);
    return true;
}

static bool read_status(pid_t pid, char text[STATUS_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    return read_file(path, text, STATUS_BYTES);
}

/* Returns the text after "\nKey:" and its blanks, or "". */
static const char *field(const char *status, const char *key)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s:", key);
    const char *at = strstr(status, line);
    if (!at) return "";
    at += strlen(line);
    return at + strspn(at, " \t");
}

static long number(const char *status, const char *key) { return atol(field(status, key)); }

static bool has_capability(unsigned which)
{
    char status[STATUS_BYTES];
    if (!read_status(getpid(), status)) return false;
    return strtoull(field(status, "CapEff"), NULL, 16) >> which & 1;
}

/* The loader gives a program that has more rights than its user no environment; it is left alone.
 */
static bool gains_rights(pid_t pid)
{
    enum { AT_SECURE_TYPE = 23 };
    char path[64];
    unsigned long entry[2];
    bool secure = false;
    snprintf(path, sizeof path, "/proc/%ld/auxv", (long)pid);
    FILE *f = fopen(path, "re");
    while (f && fread(entry, sizeof entry, 1, f) == 1 && entry[0])
        if (entry[0] == AT_SECURE_TYPE) secure = entry[1];
    if (f) fclose(f);
    return secure;
}

/* Checks what the process is doing, and who may trace it. */
static bool check_status(pid_t pid, char *reason, size_t cap)
{
    char status[STATUS_BYTES];
    if (!read_status(pid, status)) return refuse(reason, cap, "no such process");
    if (number(status, "Tgid") != pid)
        return refuse(reason, cap, "is a thread; give the ID of its process, %ld",
                      number(status, "Tgid"));
    const char state = *field(status, "State");
    if (state == 'Z' || state == 'X')
        return refuse(reason, cap, "has ended, or its main thread has");
    if (state == 'T')
        return refuse(reason, cap, "is stopped; continue it first: kill -CONT %ld", (long)pid);
    if (number(status, "TracerPid"))
        return refuse(reason, cap, "process %ld traces it (a debugger, strace or perf trace)",
                      number(status, "TracerPid"));
    if (number(status, "Seccomp"))
        return refuse(reason, cap,
                      "has a seccomp filter, which may end it for memprof's system calls; start it "
                      "with memprof run instead");
    if (strstr(field(status, "x86_Thread_features"), "shstk"))
        return refuse(reason, cap, "uses a shadow stack, with which no call can be inserted");
    return true;
}

static bool check_program(pid_t pid, char *reason, size_t cap)
{
    char path[64];
    struct mpl_object program;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    mpl_object_open(&program, path);
    const enum mpl_object_kind kind = program.kind;
    mpl_object_close(&program);
    switch (kind) {
    case MPL_OBJECT_DYNAMIC: break;
    case MPL_OBJECT_STATIC:
        return refuse(reason, cap, "is statically linked, so no library can be loaded into it");
    case MPL_OBJECT_MUSL:
        return refuse(
            reason, cap,
            "is built for musl, whose loader cannot load libmemprof.so; build it for glibc");
    case MPL_OBJECT_FOREIGN: return refuse(reason, cap, "is not a " MPL_MACHINE_NAME " program");
    case MPL_OBJECT_OTHER: return refuse(reason, cap, "its program is not an ELF file");
    case MPL_OBJECT_UNREADABLE:
        mpl_attachable_refused(pid, errno ? errno : EACCES, reason, cap);
        return false;
    }
    if (gains_rights(pid))
        return refuse(reason, cap,
                      "runs with more rights than its user (setuid, setgid or file "
                      "capabilities)");
    return true;
}

bool mpl_attachable(pid_t pid, char *reason, size_t cap)
{
#if !defined(__x86_64__)
    (void)pid;
    return refuse(reason, cap, "memprof attach supports 64-bit x86 only");
#endif
    if (pid == getpid()) return refuse(reason, cap, "is memprof itself");
    errno = 0;
    return check_status(pid, reason, cap) && check_program(pid, reason, cap);
}

static int ptrace_scope(void)
{
    char text[16];
    return read_file("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) ? atoi(text) : 0;
}

void mpl_attachable_refused(pid_t pid, int error, char *reason, size_t cap)
{
    enum { SYS_PTRACE = 19, CHILDREN_ONLY = 1, NOBODY = 3 };
    uid_t user;
    gid_t group;
    const bool capable = has_capability(SYS_PTRACE);
    if (error != EPERM && error != EACCES) refuse(reason, cap, "%s", strerror(error));
    else if (!capable && mpl_attachable_owner(pid, &user, &group) && user != geteuid())
        refuse(reason, cap, "belongs to another user; run memprof attach as root");
    else if (ptrace_scope() >= NOBODY)
        refuse(reason, cap,
               "this system allows no program to trace another one "
               "(/proc/sys/kernel/yama/ptrace_scope is 3)");
    else if (!capable && ptrace_scope() >= CHILDREN_ONLY)
        refuse(reason, cap,
               "this system allows only root to trace other programs "
               "(/proc/sys/kernel/yama/ptrace_scope is %d); run memprof attach as root",
               ptrace_scope());
    else
        refuse(reason, cap, "the kernel does not allow to trace it: %s%s", strerror(error),
               capable ? "" : "; run memprof attach as root");
}

bool mpl_attachable_sees(pid_t pid, const char *path)
{
    char there[PATH_MAX + 64];
    struct stat here, seen;
    snprintf(there, sizeof there, "/proc/%ld/root%s", (long)pid, path);
    return stat(path, &here) == 0 && stat(there, &seen) == 0 && here.st_dev == seen.st_dev &&
           here.st_ino == seen.st_ino;
}

bool mpl_attachable_owner(pid_t pid, uid_t *user, gid_t *group)
{
    char status[STATUS_BYTES], *next;
    if (!read_status(pid, status)) return false;
    /* real, effective, saved, file system */
    const char *users = field(status, "Uid"), *groups = field(status, "Gid");
    strtoul(users, &next, 10);
    *user = (uid_t)strtoul(next, NULL, 10);
    strtoul(groups, &next, 10);
    *group = (gid_t)strtoul(next, NULL, 10);
    return *users && *groups;
}
