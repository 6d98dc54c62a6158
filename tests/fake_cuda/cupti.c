/* The stand-in libcupti: one subscriber, callbacks of the driver and resource domains.
 *
 * The subscriber is set before the tracer is, and stays in place after it is taken away: a call
 * that is being told finds it. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *userdata;
    atomic_bool subscribed;
    atomic_bool driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
    atomic_bool resource[CUPTI_CBID_RESOURCE_SIZE];
};
static struct CUpti_Subscriber_st subscriber;

/* ---- callbacks ---- */

static bool api(const struct fake_event *event)
{
    if (!event->result && !atomic_load(&subscriber.driver[event->cbid])) return false;
    const CUpti_CallbackData data = {
        .callbackSite = event->result ? CUPTI_API_EXIT : CUPTI_API_ENTER,
        .functionName = event->name,
        .functionParams = event->params,
        .functionReturnValue = event->result,
        .context = event->context,
        .contextUid = event->context_uid,
        .correlationData = event->data,
        .correlationId = event->correlation,
    };
    subscriber.callback(subscriber.userdata, CUPTI_CB_DOMAIN_DRIVER_API, event->cbid, &data);
    return true;
}

static void resource(unsigned cbid, CUcontext context, CUstream stream, void *descriptor)
{
    if (!atomic_load(&subscriber.resource[cbid])) return;
    const CUpti_ResourceData data = { context, { stream }, descriptor };
    subscriber.callback(subscriber.userdata, CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static const struct fake_tracer tracer = { api, resource };

/* ---- subscription ---- */

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                           void *userdata)
{
    if (!out || !callback) return CUPTI_ERROR_INVALID_PARAMETER;
    if (getenv("FAKE_CUPTI_BUSY") || atomic_exchange(&subscriber.subscribed, true))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber.callback = callback;
    subscriber.userdata = userdata;
    *out = &subscriber;
    fake_cuda_set_tracer(&tracer);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (handle != &subscriber || !atomic_load(&subscriber.subscribed))
        return CUPTI_ERROR_INVALID_PARAMETER;
    fake_cuda_set_tracer(NULL);
    for (unsigned i = 0; i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
        atomic_store(&subscriber.driver[i], false);
    for (unsigned i = 0; i < CUPTI_CBID_RESOURCE_SIZE; i++)
        atomic_store(&subscriber.resource[i], false);
    atomic_store(&subscriber.subscribed, false);
    return CUPTI_SUCCESS;
}

static bool refused(CUpti_CallbackId cbid)
{
    const char *list = getenv("FAKE_CUPTI_REFUSE"), *name = fake_cuda_call_name(cbid);
    char number[16];
    snprintf(number, sizeof number, "%u", cbid);
    for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        const size_t length = strcspn(at, ",");
        if (strncmp(at, number, length) == 0 && !number[length]) return true;
        if (name && strncmp(at, name, length) == 0 && !name[length]) return true;
    }
    return false;
}

/* NULL: there is no such callback. */
static atomic_bool *switch_of(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid && cbid < CUPTI_DRIVER_TRACE_CBID_SIZE &&
        !refused(cbid))
        return &subscriber.driver[cbid];
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid && cbid < CUPTI_CBID_RESOURCE_SIZE)
        return &subscriber.resource[cbid];
    return NULL;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    atomic_bool *at = switch_of(domain, cbid);
    if (handle != &subscriber || !at) return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(at, enable != 0);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                                  CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId cbid)
{
    const atomic_bool *at = switch_of(domain, cbid);
    if (handle != &subscriber || !at) return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = atomic_load(at);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                              CUpti_CallbackDomain domain)
{
    if (handle != &subscriber) return CUPTI_ERROR_INVALID_PARAMETER;
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
        cuptiEnableCallback(enable, handle, domain, cbid);
    return CUPTI_SUCCESS;
}

/* ---- questions ---- */

EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                                 const char **name)
{
    *name = domain == CUPTI_CB_DOMAIN_DRIVER_API ? fake_cuda_call_name(cbid) : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
#define NAME(result)                                                                               \
    case result: *text = #result; return CUPTI_SUCCESS
    switch (result) {
        NAME(CUPTI_SUCCESS);
        NAME(CUPTI_ERROR_INVALID_PARAMETER);
        NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    default: *text = "CUPTI_ERROR_UNKNOWN"; return CUPTI_SUCCESS;
    }
#undef NAME
}

EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    *id = fake_cuda_context_uid(context);
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    *id = fake_cuda_graph_id(graph);
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
    *id = fake_cuda_exec_id(exec);
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
