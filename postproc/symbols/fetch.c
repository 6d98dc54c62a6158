/* libdwfl asks, through libdebuginfod, which it loads where DEBUGINFOD_URLS is set.  That waits for
 * 90 seconds, three times, and for a connection as long as the kernel does: a node without a way
 * out would stand still for minutes at each object file. */
#include "fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdw.h"
#include "symbols.h"

static bool begun;
static int failed; /* errno of who did not answer: nobody is asked again */

/* What is in the environment stays.  The first does not count while there is no connection; the
 * second counts all, large files, too. */
static void set_limits(void)
{
    begun = true;
    setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    setenv("DEBUGINFOD_MAXTIME", "120", 0);
    setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
    if (isatty(STDERR_FILENO)) setenv("DEBUGINFOD_PROGRESS", "1", 0);
}

/* Else it knows no such file, or none may be asked. */
static bool is_silent(int number)
{
    switch (number) {
    case ETIME:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH: return true;
    default: return false;
    }
}

int mpr_fetch(Dwfl_Module *module, char **path)
{
    if (failed) return -1;
    if (!begun) set_limits();
    const int fd = mpr_dw.dwfl_standard_find_debuginfo(module, NULL, NULL, 0, NULL, NULL, 0, path);
    if (fd < 0 && is_silent(-fd)) failed = -fd;
    return fd;
}

const char *mpr_symbols_not_fetched(void)
{
    return !failed ? NULL : failed == ETIME ? "no answer in time" : strerror(failed);
}
