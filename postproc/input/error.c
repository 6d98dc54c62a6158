#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int mpr_fail(struct mpr_error *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    return -1;
}

int mpr_fail_errno(struct mpr_error *error, const char *path, const char *what)
{
    return mpr_fail(error, "%s: cannot %s: %s", path, what, strerror(errno));
}

int mpr_fail_memory(struct mpr_error *error, const char *path)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return mpr_fail(error, "%s: not enough memory to read this file", path);
    return mpr_fail(
        error,
        "%s: reading this file needs more than %llu MiB of memory; raise the limit with memprof-report "
        "--max-memory=MIB",
        path, (unsigned long long)limit.rlim_cur >> 20);
}
