/* The process's one subscription to CUPTI's callbacks, shared by memprof and the program's tools.
 *
 * CUPTI serves one subscriber (since CUDA 13.3 several, under conditions). A party is one of the
 * listeners: memprof, or a tool that calls cuptiSubscribe by name (PyTorch's profiler). A callback
 * is enabled for the subscription while any party has enabled it, and each party gets only its own
 * callbacks: memprof first at the entry of a call, last at its return.
 *
 * No function here waits, because CUPTI and the driver may hold locks around a callback and around
 * a subscription. Any function may be called in a callback. NVIDIA requires a subscriber to enable
 * its callbacks one after the other. Parties on several threads may not do so, which CUPTI 13.0
 * tolerates (tests/gpu's listener, on an H200). */
#ifndef MP_SUBSCRIPTION_H
#define MP_SUBSCRIPTION_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

/* libcupti's own functions, not those that precede them in look-up order. subscribe_v2 is NULL
 * before CUDA 13.0. */
struct mp_cupti_library {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*finalize)(void);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*enable_domain)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
    CUptiResult (*enable_all)(uint32_t, CUpti_SubscriberHandle);
    CUptiResult (*state)(uint32_t *, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                         CUpti_CallbackId);
    CUptiResult (*version)(uint32_t *);
    CUptiResult (*result_text)(CUptiResult, const char **);
};

/* Looks them up in a handle of dlopen, or after this library with RTLD_NEXT. Returns false if one
 * is missing or belongs to memprof. */
bool mp_cupti_library(void *handle, struct mp_cupti_library *out);

/* Subscribes, and enables the callbacks that parties have already enabled. Returns CUPTI's result.
 * Returns CUPTI_SUCCESS if the process is already subscribed, or if another thread or an outer call
 * of this one is about to subscribe (the driver starts inside cuptiSubscribe): that call then has
 * the result.
 * @may_be_of_several: as one of CUPTI's several subscribers, if possible. */
CUptiResult mp_subscription_open(const struct mp_cupti_library *library, bool may_be_of_several);
/* Returns the library of the subscription, or NULL before subscribing. */
const struct mp_cupti_library *mp_subscription_library(void);
/* Returns true if other tools can and must subscribe separately (from CUDA 13.3 on). */
bool mp_subscription_is_one_of_several(void);
/* Returns CUPTI's name of the tool because of which it refused a subscription, or "". */
const char *mp_subscription_holder(void);

enum { MP_PARTY_MEMPROF, MP_PARTIES = 5 };

/* Takes a place among the parties. Returns -1 if all are taken. The callback may be NULL as in
 * CUPTI, for a tool that only needs activity records. */
int mp_party_join(CUpti_CallbackFunc callback, void *userdata);
/* memprof has its own place, which it never leaves. */
void mp_party_join_memprof(CUpti_CallbackFunc callback);
/* The party gets no callbacks from then on, except running ones. */
void mp_party_leave(int party);

/* The same as CUPTI's functions of these names, with the same results. */
CUptiResult mp_party_enable(int party, bool enable, CUpti_CallbackDomain, CUpti_CallbackId);
CUptiResult mp_party_enable_domain(int party, bool enable, CUpti_CallbackDomain);
CUptiResult mp_party_enable_all(int party, bool enable);
CUptiResult mp_party_state(int party, uint32_t *enabled, CUpti_CallbackDomain, CUpti_CallbackId);

#endif
