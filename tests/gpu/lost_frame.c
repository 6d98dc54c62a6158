/* The frame with the device and the thread's context is lost, and the following frames are
 * written. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "steps.h"

/* memprof tries to write its events before an exec, and here the write is forbidden. Only the
 * kernel detects that the exec call must fail. */
static void lose_a_frame(void)
{
    static char long_argument[4 << 20];
    memset(long_argument, 'x', sizeof long_argument - 1);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const struct rlimit none = { 0, limit.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    CHECK(execl("/proc/self/exe", "lost_frame", long_argument, NULL) == -1);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int main(void)
{
    steps_start();
    steps_free(steps_alloc(2 * MIB), 2 * MIB);
    lose_a_frame();
    step("start");
    steps_alloc(64 * MIB);
    step("allocated");
    OK(cuDevicePrimaryCtxReset(0));
    counters.device -= 64 * MIB;
    step("reset");
    return 0;
}
