#include "process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define START_SLACK_NS (2 * NS_PER_S)   /* the kernel's start time has steps of 10 ms, clocks are slewed */

static bool this_host(const struct mpr_header *header)
{
    char name[256] = "";
    const char *host = mpr_header_get(header, "host");
    gethostname(name, sizeof name - 1);
    return host && strcmp(host, name) == 0;
}

/* State letter and start time (clock ticks since boot) of /proc/PID/stat. */
static bool read_stat(uint64_t pid, char *state, uint64_t *start)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const size_t bytes = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[bytes] = 0;
    const char *after_name = strrchr(line, ')');
    return after_name && sscanf(after_name,
                                ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                                state, start) == 2;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

bool mpr_process_runs(const struct mpr_header *header)
{
    char state;
    uint64_t ticks;
    if (!header->pid || !this_host(header) || !read_stat(header->pid, &state, &ticks)) return false;
    if (state == 'Z' || state == 'X') return false;
    const uint64_t age = now_ns(CLOCK_BOOTTIME) - ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    return now_ns(CLOCK_REALTIME) - age <= header->start.real + START_SLACK_NS;
}
