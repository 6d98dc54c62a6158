/* Launches a kernel whose threads need 8 KiB of local memory, which the driver takes from the
 * device without an allocation call.
 *
 * local_memory synchronized: waits for the kernel; local_memory unseen: ends without another call
 * of the driver.  Prints the bytes by which used memory grew. */
#include <stdio.h>
#include <string.h>

#include "steps.h"

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry spills(.param .u64 out, .param .u32 index) {\n"
    "  .local .align 4 .b8 array[8192];\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [index];\n"
    "  mov.u64 %rd2, array; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3;\n"
    "  st.local.u32 [%rd4], %r1; ld.local.u32 %r2, [%rd2];\n"
    "  cvta.to.global.u64 %rd5, %rd1; st.global.u32 [%rd5], %r2;\n"
    "  ret; }\n";

static size_t used(void)
{
    size_t available, total;
    OK(cuMemGetInfo(&available, &total));
    return total - available;
}

int main(int argc, char **argv)
{
    CUmodule module;
    CUfunction nothing, spills;
    unsigned index = 7;
    CHECK(argc == 2);
    steps_start();
    CUdeviceptr out = steps_alloc(MIB);
    void *arguments[] = { &out, &index };
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuModuleGetFunction(&spills, module, "spills"));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    const size_t before = used();
    OK(cuLaunchKernel(spills, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    if (strcmp(argv[1], "synchronized") == 0) OK(cuCtxSynchronize());
    printf("%zu\n", used() - before);
    return 0;
}
