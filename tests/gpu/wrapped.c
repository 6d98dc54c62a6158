/* A program that is not linked with libcupti. It opens a library (its argument) that is, and that
 * listens to callbacks. Prints the callbacks that the library got. */
#include <dlfcn.h>
#include <stdio.h>

#include <cupti.h>

#include "steps.h"

static unsigned callbacks;

static void CUPTIAPI on_callback(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)arg;
    (void)domain;
    (void)id;
    (void)data;
    callbacks++;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*enable)(CUpti_SubscriberHandle, CUpti_CallbackId);
    CUptiResult (*finalize)(void);
    CUpti_SubscriberHandle handle;
    CHECK(library);
    *(void **)&subscribe = dlsym(library, "wrap_subscribe");
    *(void **)&enable = dlsym(library, "wrap_enable");
    *(void **)&finalize = dlsym(library, "wrap_finalize");
    steps_start();
    CHECK(subscribe(&handle, on_callback, NULL) == CUPTI_SUCCESS);
    CHECK(enable(handle, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) == CUPTI_SUCCESS);
    steps_free(steps_alloc(MIB), MIB);
    CHECK(finalize() == CUPTI_SUCCESS);
    steps_free(steps_alloc(MIB), MIB);
    step("end");
    printf("%u callbacks\n", callbacks);
    return 0;
}
