/* Allocates blocks with malloc before, between and after cuProfilerStart and cuProfilerStop. All
 * live until the end. Device memory is allocated before, and freed while the profiler is on. */
#include <cudaProfiler.h>
#include <stdlib.h>

#include "steps.h"

enum { BLOCKS = 50 };

static void *kept[3 * BLOCKS];

static void make(size_t part, size_t bytes)
{
    for (size_t i = 0; i < BLOCKS; i++) kept[part * BLOCKS + i] = malloc(bytes);
}

int main(void)
{
    steps_start();
    const CUdeviceptr block = steps_alloc(2 * MIB);
    make(0, 1111);
    OK(cuProfilerStart());
    make(1, 2222);
    steps_free(block, 2 * MIB);
    OK(cuProfilerStop());
    make(2, 3333);
    step("end");
    return kept[3 * BLOCKS - 1] ? 0 : 1;
}
