/* A library preloaded into memprof-report: the file system cannot create unnamed files. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>

static bool is_unnamed(int flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

static int refuse(void)
{
    errno = EOPNOTSUPP;
    return -1;
}

static mode_t mode_of(va_list list) { return (mode_t)va_arg(list, int); }

/* The mode follows `flags`. */
#define PASS(name, type, ...)                                                                      \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    const mode_t mode = flags & O_CREAT ? mode_of(list) : 0;                                       \
    va_end(list);                                                                                  \
    if (is_unnamed(flags)) return refuse();                                                        \
    return ((type)dlsym(RTLD_NEXT, name))(__VA_ARGS__, flags, mode)

typedef int open_type(const char *, int, ...);
typedef int openat_type(int, const char *, int, ...);

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    PASS("open", open_type *, path);
}

__attribute__((visibility("default"))) int openat(int directory, const char *path, int flags, ...)
{
    PASS("openat", openat_type *, directory, path);
}
