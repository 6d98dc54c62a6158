/* The stand-in libcupti has callbacks of the driver and resource domains for one subscriber. With
 * FAKE_CUPTI_SEVERAL it behaves as in CUDA 13.3: it also serves several subscribers that use
 * cuptiSubscribe_v2 and allow others. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

/* The struct of a subscriber that has ended is kept, because a running callback may have its
 * address. */
struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *userdata;
    bool allows_others;
    char name[64];
    atomic_bool driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
    atomic_bool resource[CUPTI_CBID_RESOURCE_SIZE];
};
static _Atomic(struct CUpti_Subscriber_st *) subscribers[FAKE_TOOLS];

/* ---- callbacks ---- */

/* As in the real library, the end of a call checks again which subscribers are enabled. */
static void api(const struct fake_event *event)
{
    for (int i = 0; i < FAKE_TOOLS; i++) {
        struct CUpti_Subscriber_st *s = atomic_load(&subscribers[i]);
        if (!s || !atomic_load(&s->driver[event->cbid])) continue;
        const CUpti_CallbackData data = {
            .callbackSite = event->result ? CUPTI_API_EXIT : CUPTI_API_ENTER,
            .functionName = event->name,
            .functionParams = event->params,
            .functionReturnValue = event->result,
            .context = event->context,
            .contextUid = event->context_uid,
            .correlationData = &event->data[i],
            .correlationId = event->correlation,
        };
        s->callback(s->userdata, CUPTI_CB_DOMAIN_DRIVER_API, event->cbid, &data);
    }
}

static void resource(unsigned cbid, CUcontext context, CUstream stream, void *descriptor)
{
    const CUpti_ResourceData data = { context, { stream }, descriptor };
    for (int i = 0; i < FAKE_TOOLS; i++) {
        struct CUpti_Subscriber_st *s = atomic_load(&subscribers[i]);
        if (s && atomic_load(&s->resource[cbid]))
            s->callback(s->userdata, CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
    }
}

static const struct fake_tracer tracer = { api, resource };

/* ---- subscription ---- */

/* CUpti_SubscriberParams of CUDA 13.3. */
struct params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
    uint8_t allow_several;
};

static bool has_several(void) { return getenv("FAKE_CUPTI_SEVERAL") != NULL; }

/* Returns the name of the subscriber that prevents another one, or NULL. */
static const char *in_the_way(bool allows_others)
{
    if (getenv("FAKE_CUPTI_BUSY")) return "a tool of the test";
    for (int i = 0; i < FAKE_TOOLS; i++) {
        const struct CUpti_Subscriber_st *s = atomic_load(&subscribers[i]);
        if (s && !(allows_others && s->allows_others)) return s->name;
    }
    return NULL;
}

static CUptiResult add(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata,
                       const char *name, bool allows_others)
{
    struct CUpti_Subscriber_st *s = calloc(1, sizeof *s);
    if (!s) return CUPTI_ERROR_OUT_OF_MEMORY;
    s->callback = callback;
    s->userdata = userdata;
    s->allows_others = allows_others;
    snprintf(s->name, sizeof s->name, "CUPTI for %s", name ? name : "nobody");
    for (int i = 0; i < FAKE_TOOLS; i++) {
        struct CUpti_Subscriber_st *nobody = NULL;
        if (!atomic_compare_exchange_strong(&subscribers[i], &nobody, s)) continue;
        *out = s;
        fake_cuda_set_tracer(&tracer);
        return CUPTI_SUCCESS;
    }
    free(s);
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

/* As in the real library, this initialises the driver. */
EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                           void *userdata)
{
    if (!out) return CUPTI_ERROR_INVALID_PARAMETER;
    cuInit(0);
    if (in_the_way(false)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    return add(out, callback, userdata, NULL, false);
}

EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *out,
                                              CUpti_CallbackFunc callback, void *userdata,
                                              CUpti_SubscriberParams *params)
{
    const struct params *p = (const void *)params;
    if (!out || !p) return CUPTI_ERROR_INVALID_PARAMETER;
    cuInit(0);
    const bool allows =
        has_several() && p->size > offsetof(struct params, allow_several) && p->allow_several;
    const char *other = in_the_way(allows);
    if (!other) return add(out, callback, userdata, p->name, allows);
    if (p->old_name) snprintf(p->old_name, p->old_name_bytes, "%s", other);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

/* As in the real library, a second call is not an error. */
EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!handle) return CUPTI_ERROR_INVALID_PARAMETER;
    for (int i = 0; i < FAKE_TOOLS; i++) {
        struct CUpti_Subscriber_st *subscriber = handle;
        atomic_compare_exchange_strong(&subscribers[i], &subscriber, NULL);
    }
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
    for (int i = 0; i < FAKE_TOOLS; i++) atomic_store(&subscribers[i], NULL);
    return CUPTI_SUCCESS;
}

static bool is_one(CUpti_SubscriberHandle handle)
{
    for (int i = 0; i < FAKE_TOOLS; i++)
        if (handle && atomic_load(&subscribers[i]) == handle) return true;
    return false;
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

/* Returns NULL for an unknown callback. */
static atomic_bool *switch_of(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                              CUpti_CallbackId cbid)
{
    if (!is_one(handle)) return NULL;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid && cbid < CUPTI_DRIVER_TRACE_CBID_SIZE &&
        !refused(cbid))
        return &handle->driver[cbid];
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid && cbid < CUPTI_CBID_RESOURCE_SIZE)
        return &handle->resource[cbid];
    return NULL;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    atomic_bool *at = switch_of(handle, domain, cbid);
    if (!at) return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(at, enable != 0);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                                  CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId cbid)
{
    const atomic_bool *at = switch_of(handle, domain, cbid);
    if (!at) return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = atomic_load(at);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                              CUpti_CallbackDomain domain)
{
    if (!is_one(handle) || domain == CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (CUpti_CallbackId cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++)
        cuptiEnableCallback(enable, handle, domain, cbid);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    if (!is_one(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
    for (CUpti_CallbackDomain domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        cuptiEnableDomain(enable, handle, domain);
    return CUPTI_SUCCESS;
}

/* ---- information ---- */

EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    *version = has_several() ? 130300 : CUPTI_API_VERSION;
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
