/* A library like those of profilers: it is linked with libcupti. Its wrappers end in a jump, so
 * CUPTI sees the address of their caller. */
#include <cupti.h>

#pragma GCC visibility push(default)
CUptiResult wrap_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *arg);
CUptiResult wrap_enable(CUpti_SubscriberHandle handle, CUpti_CallbackId id);
CUptiResult wrap_finalize(void);
#pragma GCC visibility pop

CUptiResult wrap_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *arg)
{
    return cuptiSubscribe(out, callback, arg);
}

CUptiResult wrap_enable(CUpti_SubscriberHandle handle, CUpti_CallbackId id)
{
    return cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

CUptiResult wrap_finalize(void) { return cuptiFinalize(); }
