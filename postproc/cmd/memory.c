/* A log of some kilobytes can tell of more live blocks than any machine has memory for: beyond the
 * limit allocations fail, and the report ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic_file.h"
#include "cmd.h"

static uint64_t number_in(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    const bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    return read && end != text ? number : UINT64_MAX; /* "max" */
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What there is: the machine's, or the container's. */
static uint64_t whole(void)
{
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return least(machine, least(number_in("/sys/fs/cgroup/memory.max"),
                                number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")));
}

/* Leaves at once: what a report has in its buffers is half of one. */
static void end(void)
{
    struct mpr_error error;
    if (mpr_alloc_path()) {
        mpr_fail_memory(&error, mpr_alloc_path());
        mpr_cmd_error(&error);
    } else
        mpr_cmd_say(
            "the report takes more memory than there is; allow more with memprof-report --max-memory=MIB");
    mpr_atomic_abandon();
    _exit(MPR_EXIT_FAILURE);
}

/* Counts what is allocated, not the log that is mapped. */
void mpr_memory_limit(uint64_t mib)
{
    mpr_alloc_at_end(end);
    struct rlimit limit;
    const uint64_t bytes = mib == MPR_MEMORY_DEFAULT ? whole() / 2 : mib << 20;
    if (!bytes || getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes) return;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_DATA, &limit);
}
