/* Threads free each other's blocks, and the driver reuses the same addresses for any of them. */
#include <pthread.h>
#include <stdio.h>

#include "steps.h"

enum { THREADS = 8, SLOTS = 16, TURNS = 200, ROUNDS = 3, BYTES = 1 << 20 };

static CUcontext context;
static _Atomic CUdeviceptr slots[SLOTS];

static void hand_over(unsigned slot, CUdeviceptr block)
{
    const CUdeviceptr old = atomic_exchange(&slots[slot], block);
    if (old) steps_free(old, BYTES);
}

static void *run(void *argument)
{
    unsigned at = (unsigned)(uintptr_t)argument;
    OK(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < TURNS; i++) {
        hand_over(at % SLOTS, steps_alloc(BYTES));
        at = at * 5 + 3;
    }
    return NULL;
}

int main(void)
{
    steps_start();
    OK(cuCtxGetCurrent(&context));
    step("start");
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
        for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
        char name[32];
        snprintf(name, sizeof name, "round-%u", round);
        step(name);
    }
    for (unsigned i = 0; i < SLOTS; i++) hand_over(i, 0);
    step("end");
    return 0;
}
