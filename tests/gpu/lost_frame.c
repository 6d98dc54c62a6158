/* The frame with the device and the thread's context is lost, and the following frames are
 * written. The device and the context are recorded again after the first of these: further frames
 * may be lost before it, with what was recorded in between. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "steps.h"

/* memprof writes its events before an exec. Only the kernel detects that this call must fail. */
static void write_a_frame(void)
{
    static char long_argument[4 << 20];
    memset(long_argument, 'x', sizeof long_argument - 1);
    CHECK(execl("/proc/self/exe", "lost_frame", long_argument, NULL) == -1);
}

static void lose_a_frame(void)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const struct rlimit none = { 0, limit.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    write_a_frame();
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int main(void)
{
    steps_start();
    steps_free(steps_alloc(2 * MIB), 2 * MIB);
    lose_a_frame();
    step("start");
    write_a_frame();
    steps_alloc(64 * MIB);
    step("allocated");
    OK(cuDevicePrimaryCtxReset(0));
    counters.device -= 64 * MIB;
    step("reset");
    return 0;
}
