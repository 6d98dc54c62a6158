/* Fills device 0. After the first refusal something is freed, and the same request succeeds. After
 * the second one the program ends at once with status 3, and everything is still allocated. */
#include "steps.h"

enum { PARTS = 16, BLOCKS = 2 * PARTS };

int main(void)
{
    steps_start();
    size_t available, total;
    OK(cuMemGetInfo(&available, &total));
    const size_t bytes = total / PARTS / MIB * MIB;
    CUdeviceptr blocks[BLOCKS];
    CUresult result = CUDA_SUCCESS;
    unsigned n = 0;
    step("start");
    while (n < BLOCKS && (result = cuMemAlloc(&blocks[n], bytes)) == CUDA_SUCCESS) {
        counters.device += bytes;
        n++;
    }
    CHECK(result == CUDA_ERROR_OUT_OF_MEMORY && n > 2);
    step("refused");
    steps_free(blocks[--n], bytes);
    step("freed");
    blocks[n] = steps_alloc(bytes);
    step("retried");
    CUdeviceptr none;
    REFUSED(cuMemAlloc(&none, 2 * bytes), CUDA_ERROR_OUT_OF_MEMORY);
    step("refused-again");
    return 3;
}
