/* CUPTI's functions for subscriptions, for tools of the program that call them by name (PyTorch's
 * profiler: libtorch_cpu needs libcupti). This library precedes libcupti in look-up order. The tool
 * becomes a party of the one subscription, as if it had its own.
 *
 * A tool that looks them up itself (dlopen and dlsym), or uses another copy of libcupti than
 * memprof, does not call these functions, or is forwarded to its copy: CUPTI reports that it is in
 * use. Functions without a subscription (activity records, names, times) have no stand-in, and
 * neither has cuptiSubscribe_v2: since CUDA 13.2 activity records belong to a subscriber, so
 * memprof's handle would not be sufficient. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"
#include "core/config.h"
#include "core/process.h"
#include "cuda/by_name.h"
#include "cuda/cupti.h"
#include "cuda/find_cupti.h"
#include "cuda/subscription.h"

/* ---- the library that the caller would have reached without this one */

/* Searches the libraries that the caller needs (it may have been opened with RTLD_LOCAL), those
 * after this one in look-up order, and all others that are loaded: a caller that ends in a jump is
 * seen as its own caller. */
static bool look_up(const void *caller, struct mp_cupti_library *out)
{
    Dl_info info;
    struct link_map *map;
    void *handle = dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP)
                       ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)
                       : NULL;
    bool found = handle && mp_cupti_library(handle, out);
    if (handle) dlclose(handle);
    if (found || mp_cupti_library(RTLD_NEXT, out)) return true;
    handle = mp_loaded_cupti();
    return handle && mp_cupti_library(handle, out);
}

/* The result per calling address: the loader is called once for each, and usually not in a
 * callback. */
enum { PLACES = 64 };
static struct place {
    const void *caller;
    struct mp_cupti_library library;
    bool found;
} places[PLACES];
static uint32_t places_taken, places_ready;

static const struct place *known_place(const void *caller)
{
    const uint32_t ready = __atomic_load_n(&places_ready, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < ready; i++)
        if (places[i].caller == caller) return &places[i];
    return NULL;
}

/* Places become ready in the order in which they were taken. A place that is out of order is looked
 * up again at its next call. */
static void know_place(const struct place *place)
{
    const uint32_t n = __atomic_load_n(&places_ready, __ATOMIC_ACQUIRE);
    uint32_t expected = n;
    if (n >= PLACES || !__atomic_compare_exchange_n(&places_taken, &expected, n + 1, false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    places[n] = *place;
    __atomic_store_n(&places_ready, n + 1, __ATOMIC_RELEASE);
}

/* Returns false if libcupti is not loaded. Keeps errno. */
static bool library_of(const void *caller, struct mp_cupti_library *out)
{
    const struct place *known = known_place(caller);
    struct place place = { .caller = caller };
    if (!known) {
        const int saved = errno;
        place.found = look_up(caller, &place.library);
        mp_loader_forget_error();
        errno = saved;
        if (place.found) know_place(&place);
        known = &place;
    }
    *out = known->library;
    return known->found;
}

#define CALLER __builtin_return_address(0)
#define FORWARD(function, ...)                                                                     \
    ({                                                                                             \
        struct mp_cupti_library real_library;                                                      \
        library_of(CALLER, &real_library) ? real_library.function(__VA_ARGS__)                     \
                                          : CUPTI_ERROR_NOT_INITIALIZED;                           \
    })

/* ---- handles */

/* A handle is an address inside memprof that is never read. The last HANDLES handles differ, so a
 * use after its end is recognised. */
enum { HANDLES = 4096 };
static char handles[HANDLES];
static uint32_t given;
static CUpti_SubscriberHandle handle_of[MP_PARTIES];

static bool is_ours(CUpti_SubscriberHandle handle)
{
    const char *at = (const char *)handle;
    return at >= handles && at < handles + HANDLES;
}

/* Returns -1 if it has ended. */
static int party_of(CUpti_SubscriberHandle handle)
{
    for (int i = MP_PARTY_MEMPROF + 1; i < MP_PARTIES; i++)
        if (__atomic_load_n(&handle_of[i], __ATOMIC_ACQUIRE) == handle) return i;
    return -1;
}

/* If two threads end one party, only one of them does it. */
static void end(int party, CUpti_SubscriberHandle handle)
{
    if (handle && __atomic_compare_exchange_n(&handle_of[party], &handle, NULL, false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        mp_party_leave(party);
}

/* ---- subscribing */

/* Returns false if memprof has left CUPTI to others, because the place would then be taken
 * forever. */
static bool may_share(void)
{
    static int allowed; /* 1: no, 2: yes; kept because the program may change its environment */
    if (!__atomic_load_n(&allowed, __ATOMIC_RELAXED)) {
        const char *wish = secure_getenv("MEMPROF_CUPTI");
        const bool no = mp_config.cuda == MP_CUDA_OFF || mp_by_name_is_chosen() ||
                        (wish && (!strcmp(wish, "off") || !strcmp(wish, "alone")));
        __atomic_store_n(&allowed, no ? 1 : 2, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&allowed, __ATOMIC_RELAXED) == 2 && mp_process_active() &&
           !mp_cupti_is_given_up() && !mp_subscription_is_one_of_several();
}

static bool is_subscribed_to(const struct mp_cupti_library *library)
{
    const struct mp_cupti_library *subscribed = mp_subscription_library();
    return subscribed && subscribed->subscribe == library->subscribe;
}

/* If all places are taken, CUPTI's own error is returned. */
static CUptiResult join_parties(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                void *userdata)
{
    const int party = mp_party_join(callback, userdata);
    if (party < 0) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    const uint32_t n = __atomic_fetch_add(&given, 1, __ATOMIC_RELAXED);
    *out = (CUpti_SubscriberHandle)&handles[n % HANDLES];
    __atomic_store_n(&handle_of[party], *out, __ATOMIC_RELEASE);
    return CUPTI_SUCCESS;
}

#define HOOK __attribute__((visibility("default")))

HOOK CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                         void *userdata)
{
    struct mp_cupti_library library;
    if (!library_of(CALLER, &library)) return CUPTI_ERROR_NOT_INITIALIZED;
    if (!out || !may_share() || (mp_subscription_library() && !is_subscribed_to(&library)))
        return library.subscribe(out, callback, userdata);
    const CUptiResult result = mp_subscription_open(&library, false);
    if (result == CUPTI_SUCCESS) return join_parties(out, callback, userdata);
    mp_cupti_refused((int)result);
    return result;
}

/* ---- unsubscribing */

/* As in CUPTI, a second call is not an error (13.0, seen on an H200). */
HOOK CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!is_ours(handle)) return FORWARD(unsubscribe, handle);
    const int party = party_of(handle);
    if (party >= 0) end(party, handle);
    return CUPTI_SUCCESS;
}

/* Ends the program's subscription, and not memprof's. */
HOOK CUptiResult CUPTIAPI cuptiFinalize(void)
{
    struct mp_cupti_library library;
    if (!library_of(CALLER, &library)) return CUPTI_ERROR_NOT_INITIALIZED;
    if (!is_subscribed_to(&library)) return library.finalize();
    for (int i = MP_PARTY_MEMPROF + 1; i < MP_PARTIES; i++)
        end(i, __atomic_load_n(&handle_of[i], __ATOMIC_ACQUIRE));
    return CUPTI_SUCCESS;
}

/* ---- choosing */

HOOK CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                              CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    if (!is_ours(handle)) return FORWARD(enable, enable, handle, domain, id);
    const int party = party_of(handle);
    return party < 0 ? CUPTI_ERROR_INVALID_PARAMETER : mp_party_enable(party, enable, domain, id);
}

HOOK CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                            CUpti_CallbackDomain domain)
{
    if (!is_ours(handle)) return FORWARD(enable_domain, enable, handle, domain);
    const int party = party_of(handle);
    return party < 0 ? CUPTI_ERROR_INVALID_PARAMETER
                     : mp_party_enable_domain(party, enable, domain);
}

HOOK CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    if (!is_ours(handle)) return FORWARD(enable_all, enable, handle);
    const int party = party_of(handle);
    return party < 0 ? CUPTI_ERROR_INVALID_PARAMETER : mp_party_enable_all(party, enable);
}

HOOK CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    if (!is_ours(handle)) return FORWARD(state, enable, handle, domain, id);
    const int party = party_of(handle);
    return party < 0 ? CUPTI_ERROR_INVALID_PARAMETER : mp_party_state(party, enable, domain, id);
}
