/* A forked child of a process that uses CUDA cannot use CUDA, but it allocates host memory and ends
 * normally. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steps.h"

enum { BLOCKS = 1000 };

static void child(void (*end)(int))
{
    CUdeviceptr none;
    if (cuMemAlloc(&none, MIB) == CUDA_SUCCESS) end(1);
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(64 + i);
        if (!blocks[i]) end(2);
        memset(blocks[i], 1, 64 + i);
    }
    for (unsigned i = 0; i < BLOCKS; i++) free(blocks[i]);
    end(0);
}

static void run(void (*end)(int), const char *name)
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) child(end);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    step(name);
}

int main(void)
{
    steps_start();
    step("start");
    const CUdeviceptr address = steps_alloc(5 * MIB);
    step("allocated");
    run(_exit, "child-_exit");
    run(exit, "child-exit");
    steps_free(address, 5 * MIB);
    step("end");
    return 0;
}
