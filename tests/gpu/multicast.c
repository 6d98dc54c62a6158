/* NVLink multicast objects keep the memory that is bound to them, but have no memory themselves.
 * Runs only with the stand-in driver, because few machines have NVLink multicast. */
#include "steps.h"

#define PIECE (2 * MIB)

int main(void)
{
    steps_start();
    CUmemGenericAllocationHandle cast, memory;
    CUdeviceptr at;
    OK(cuMulticastCreate(&cast, &(CUmulticastObjectProp){ .numDevices = 1, .size = PIECE }));
    OK(cuMulticastAddDevice(cast, 0));
    step("multicast");
    OK(cuMemCreate(&memory, PIECE, &steps_physical, 0));
    counters.device += PIECE;
    OK(cuMulticastBindMem(cast, 0, memory, 0, PIECE, 0));
    OK(cuMemAddressReserve(&at, PIECE, 0, 0, 0));
    OK(cuMemMap(at, PIECE, 0, cast, 0));
    step("multicast-mapped");
    OK(cuMemUnmap(at, PIECE));
    OK(cuMulticastUnbind(cast, 0, 0, PIECE));
    OK(cuMemRelease(memory));
    counters.device -= PIECE;
    step("multicast-unbound");
    OK(cuMemRelease(cast));
    OK(cuMemAddressFree(at, PIECE));
    step("end");
    return 0;
}
