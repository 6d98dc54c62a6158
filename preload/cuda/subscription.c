#include "cuda/subscription.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/loader.h"
#include "core/record.h"
#include "torch/torch_library.h"

enum {
    DOMAINS = 8, /* 6 in CUDA 13.0 */
    IDS = 2048   /* per domain; the driver has 792 in CUDA 13.0 */
};

bool mp_cupti_library(void *handle, struct mp_cupti_library *out)
{
#define LOOK_UP(field, name) out->field = (__typeof__(out->field))dlsym(handle, name)
    LOOK_UP(subscribe, "cuptiSubscribe");
    LOOK_UP(subscribe_v2, "cuptiSubscribe_v2");
    LOOK_UP(unsubscribe, "cuptiUnsubscribe");
    LOOK_UP(finalize, "cuptiFinalize");
    LOOK_UP(enable, "cuptiEnableCallback");
    LOOK_UP(enable_domain, "cuptiEnableDomain");
    LOOK_UP(enable_all, "cuptiEnableAllDomains");
    LOOK_UP(state, "cuptiGetCallbackState");
    LOOK_UP(version, "cuptiGetVersion");
    LOOK_UP(result_text, "cuptiGetResultString");
#undef LOOK_UP
    return out->subscribe && out->subscribe != cuptiSubscribe && out->unsubscribe &&
           out->finalize && out->enable && out->enable_domain && out->enable_all && out->state &&
           out->version && out->result_text;
}

/* ---- the subscription */

static enum state { CLOSED, OPENING, OPEN } state;
static struct mp_cupti_library library;
static CUpti_SubscriberHandle subscriber;
static bool several;
static char holder[64]; /* size as in CUPTI's interface */

static bool is_open(void) { return __atomic_load_n(&state, __ATOMIC_SEQ_CST) == OPEN; }

bool mp_subscription_is_one_of_several(void) { return is_open() && several; }

const char *mp_subscription_holder(void) { return holder; }

const struct mp_cupti_library *mp_subscription_library(void) { return is_open() ? &library : NULL; }

/* ---- the callbacks that each party enabled: one bit per party */

static uint8_t enabled_bits[DOMAINS][IDS];

static uint8_t enabled_by(unsigned domain, unsigned id)
{
    return __atomic_load_n(&enabled_bits[domain][id], __ATOMIC_SEQ_CST);
}

/* Returns true if this changed the party's setting. */
static bool set_enabled(int party, bool enable, unsigned domain, unsigned id)
{
    const uint8_t bit = (uint8_t)(1u << party);
    uint8_t *at = &enabled_bits[domain][id];
    const uint8_t before = enable ? __atomic_fetch_or(at, bit, __ATOMIC_SEQ_CST)
                                  : __atomic_fetch_and(at, (uint8_t)~bit, __ATOMIC_SEQ_CST);
    return !(before & bit) == enable;
}

/* If two parties change one callback at once, the later call decides for both. */
static CUptiResult apply_enabled(unsigned domain, unsigned id)
{
    for (;;) {
        const bool on = enabled_by(domain, id);
        const CUptiResult result = library.enable(on, subscriber, (CUpti_CallbackDomain)domain, id);
        if (result != CUPTI_SUCCESS || on == (enabled_by(domain, id) != 0)) return result;
    }
}

static void apply_wanted(unsigned domain)
{
    for (unsigned id = 0; id < IDS; id++)
        if (enabled_by(domain, id)) apply_enabled(domain, id);
}

CUptiResult mp_party_enable(int party, bool enable, CUpti_CallbackDomain domain,
                            CUpti_CallbackId id)
{
    if ((unsigned)domain >= DOMAINS || id >= IDS) return CUPTI_ERROR_INVALID_PARAMETER;
    const bool changed = set_enabled(party, enable, domain, id);
    if (!is_open()) return CUPTI_SUCCESS;
    const CUptiResult result = apply_enabled(domain, id);
    if (result != CUPTI_SUCCESS && changed && enable) set_enabled(party, false, domain, id);
    return result;
}

static bool others_want(int party, unsigned domain)
{
    for (unsigned id = 0; id < IDS; id++)
        if (enabled_by(domain, id) & ~(1u << party)) return true;
    return false;
}

/* Callbacks of the other parties stay enabled throughout: a whole domain is disabled only if the
 * other parties have none of its callbacks enabled. */
static CUptiResult disable_domain(int party, unsigned domain)
{
    const bool shared = others_want(party, domain), open = is_open();
    for (unsigned id = 0; id < IDS; id++)
        if (set_enabled(party, false, domain, id) && open && shared && !enabled_by(domain, id))
            apply_enabled(domain, id);
    if (shared || !open) return CUPTI_SUCCESS;
    const CUptiResult result = library.enable_domain(0, subscriber, (CUpti_CallbackDomain)domain);
    apply_wanted(domain);
    return result;
}

CUptiResult mp_party_enable_domain(int party, bool enable, CUpti_CallbackDomain domain)
{
    if (domain == CUPTI_CB_DOMAIN_INVALID || (unsigned)domain >= DOMAINS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!enable) return disable_domain(party, domain);
    for (unsigned id = 0; id < IDS; id++) set_enabled(party, true, domain, id);
    if (!is_open()) return CUPTI_SUCCESS;
    const CUptiResult result = library.enable_domain(1, subscriber, domain);
    if (result != CUPTI_SUCCESS)
        for (unsigned id = 0; id < IDS; id++) set_enabled(party, false, domain, id);
    return result;
}

/* Domains that do not exist are ignored. */
CUptiResult mp_party_enable_all(int party, bool enable)
{
    for (unsigned domain = 1; domain < DOMAINS; domain++)
        mp_party_enable_domain(party, enable, (CUpti_CallbackDomain)domain);
    return CUPTI_SUCCESS;
}

CUptiResult mp_party_state(int party, uint32_t *enabled, CUpti_CallbackDomain domain,
                           CUpti_CallbackId id)
{
    if (!enabled || (unsigned)domain >= DOMAINS || id >= IDS) return CUPTI_ERROR_INVALID_PARAMETER;
    const CUptiResult result =
        is_open() ? library.state(enabled, subscriber, domain, id) : CUPTI_SUCCESS;
    if (result == CUPTI_SUCCESS) *enabled = enabled_by(domain, id) >> party & 1;
    return result;
}

/* ---- the parties */

/* Running callbacks of a party are counted, so that its place is reused only when there are
 * none. */
static struct party {
    CUpti_CallbackFunc callback;
    void *userdata;
    uint32_t taken;   /* 0 if free */
    uint32_t running; /* number of running callbacks */
    uint32_t turn;    /* number of the party that uses the place */
} parties[MP_PARTIES];

enum { BEING_TAKEN = 1, LISTENS = 2 };

static bool take(struct party *p, CUpti_CallbackFunc callback, void *userdata)
{
    uint32_t free_place = 0;
    if (!__atomic_compare_exchange_n(&p->taken, &free_place, BEING_TAKEN, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return false;
    if (__atomic_load_n(&p->running, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&p->taken, 0, __ATOMIC_SEQ_CST);
        return false;
    }
    p->callback = callback;
    p->userdata = userdata;
    p->turn++;
    __atomic_store_n(&p->taken, LISTENS, __ATOMIC_SEQ_CST);
    return true;
}

int mp_party_join(CUpti_CallbackFunc callback, void *userdata)
{
    for (int i = MP_PARTY_MEMPROF + 1; i < MP_PARTIES; i++)
        if (take(&parties[i], callback, userdata)) return i;
    return -1;
}

void mp_party_join_memprof(CUpti_CallbackFunc callback)
{
    parties[MP_PARTY_MEMPROF].callback = callback;
}

void mp_party_leave(int party)
{
    for (unsigned domain = 1; domain < DOMAINS; domain++) disable_domain(party, domain);
    __atomic_store_n(&parties[party].taken, 0, __ATOMIC_SEQ_CST);
}

/* ---- from a callback to the parties */

/* A party's data of a call from its entry to its return: CUPTI's word, and the number of the party
 * at this place, or 0. */
struct part {
    uint64_t word;
    uint32_t turn;
};

/* The arguments of a party's callback. A call's data are a copy, because each party has its own
 * word. */
struct arguments {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    const void *data;
};

static void call_party(const struct party *p, const struct arguments *t, uint64_t *word)
{
    CUpti_CallbackData own_data;
    if (!p->callback) return;
    if (word) {
        own_data = *(const CUpti_CallbackData *)t->data;
        own_data.correlationData = word;
    }
    p->callback(p->userdata, t->domain, t->id, word ? &own_data : t->data);
}

/* Another party may have taken the place since `listeners` was read, or since the call was entered.
 * It must have enabled the callback, and never gets another party's word. */
static void call_tool(int party, const struct arguments *t, struct part *part)
{
    struct party *p = &parties[party];
    __atomic_fetch_add(&p->running, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->taken, __ATOMIC_SEQ_CST) == LISTENS &&
        enabled_by(t->domain, t->id) >> party & 1) {
        if (part && part->turn != p->turn) *part = (struct part){ .turn = p->turn };
        call_party(p, t, part ? &part->word : NULL);
    }
    __atomic_fetch_sub(&p->running, 1, __ATOMIC_SEQ_CST);
}

/* CUPTI gives a call one word from its entry to its return, which memprof uses. In a call that
 * other parties observe it refers to a row with a part for each. A row whose return is never
 * reported is reused after many others. */
enum { CALLS = 1024, TRIES = 32 };
#define IN_ROW (UINT64_C(0x6d70726f) << 32)

static struct call {
    uint64_t key; /* 0 if free */
    uint8_t listeners;
    struct part part[MP_PARTIES];
} calls[CALLS];

static uint64_t key_of(CUpti_CallbackDomain domain, const CUpti_CallbackData *data)
{
    return UINT64_C(1) << 63 | (uint64_t)domain << 32 | data->correlationId;
}

static bool exchange(uint64_t *key, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(key, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static struct call *take_row(uint64_t key)
{
    static uint32_t next;
    for (int tries = 0; tries < TRIES; tries++) {
        struct call *c = &calls[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % CALLS];
        if (exchange(&c->key, 0, key)) return c;
    }
    struct call *c = &calls[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % CALLS];
    __atomic_store_n(&c->key, key, __ATOMIC_SEQ_CST);
    return c;
}

/* Returns true with the row of the entry. */
static bool give_row_back(uint64_t key, uint64_t word, struct call *out)
{
    if ((word & ~UINT64_C(0xffffffff)) != IN_ROW) return false;
    struct call *c = &calls[word % CALLS];
    if (__atomic_load_n(&c->key, __ATOMIC_SEQ_CST) != key) return false;
    *out = *c;
    return exchange(&c->key, key, 0);
}

static void call_enters(uint8_t listeners, const struct arguments *t)
{
    const CUpti_CallbackData *data = t->data;
    struct call row = { .key = key_of(t->domain, data), .listeners = listeners };
    if (listeners & 1u << MP_PARTY_MEMPROF)
        call_party(&parties[MP_PARTY_MEMPROF], t, &row.part[MP_PARTY_MEMPROF].word);
    for (int i = MP_PARTY_MEMPROF + 1; i < MP_PARTIES; i++)
        if (listeners >> i & 1) call_tool(i, t, &row.part[i]);
    struct call *kept = take_row(row.key);
    kept->listeners = row.listeners;
    memcpy(kept->part, row.part, sizeof row.part);
    *data->correlationData = IN_ROW | (uint64_t)(kept - calls);
}

/* As in CUPTI (13.0, observed on an H200): a party that has the callback enabled now gets the
 * return, even if it did not get the entry. memprof also gets the return of every entry that it
 * got. */
static void call_returns(uint8_t listeners, const struct arguments *t)
{
    const CUpti_CallbackData *data = t->data;
    struct call row = { .listeners = 1u << MP_PARTY_MEMPROF };
    uint64_t *word = &row.part[MP_PARTY_MEMPROF].word;
    if (!give_row_back(key_of(t->domain, data), *data->correlationData, &row))
        word = data->correlationData;
    for (int i = MP_PARTIES; i-- > MP_PARTY_MEMPROF + 1;)
        if (listeners >> i & 1) call_tool(i, t, &row.part[i]);
    if ((listeners | row.listeners) & 1u << MP_PARTY_MEMPROF)
        call_party(&parties[MP_PARTY_MEMPROF], t, word);
}

static void call(uint8_t listeners, const struct arguments *t)
{
    const CUpti_CallbackData *data = t->data;
    if (data->callbackSite == CUPTI_API_EXIT) call_returns(listeners, t);
    else if (listeners == 1u << MP_PARTY_MEMPROF) call_party(&parties[MP_PARTY_MEMPROF], t, NULL);
    else call_enters(listeners, t);
}

static void CUPTIAPI callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    (void)unused;
    if (mp_self && mp_self->guard & MP_INSIDE) return; /* memprof's own calls are ignored */
    if ((unsigned)domain >= DOMAINS || id >= IDS) return;
    const uint8_t listeners = enabled_by(domain, id);
    const struct arguments arguments = { domain, id, data };
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        call(listeners, &arguments);
        return;
    }
    for (int i = MP_PARTY_MEMPROF + 1; i < MP_PARTIES; i++)
        if (listeners >> i & 1) call_tool(i, &arguments, NULL);
}

/* ---- subscribing */

/* CUpti_SubscriberParams of CUDA 13.3 (NVIDIA's reference). CUDA 13.0 does not have the last field,
 * and CUDA 12 has none of it. */
struct params {
    size_t size; /* up to the end of the last field */
    const char *name;
    char *old_name;
    size_t old_name_bytes;
    uint8_t allow_several;
};

static CUptiResult come_by_v2(bool allow_several)
{
    struct params p = { .size = allow_several ? offsetof(struct params, allow_several) + 1
                                              : offsetof(struct params, allow_several),
                        .name = "memprof",
                        .old_name = holder,
                        .old_name_bytes = sizeof holder,
                        .allow_several = allow_several };
    return library.subscribe_v2(&subscriber, callback, NULL, &p);
}

/* Since CUDA 13.3 and driver r610 there may be several subscribers if all of them use
 * cuptiSubscribe_v2. PyTorch's profiler does not use it, and takes its records by calls that are
 * incompatible with it. So in a process with PyTorch memprof subscribes in the old way. Otherwise
 * the newer call returns the name of the tool that has CUPTI. */
static CUptiResult subscribe_one_way(bool may_be_of_several)
{
    enum { SEVERAL = 130300 };
    uint32_t version = 0;
    library.version(&version);
    several = may_be_of_several && library.subscribe_v2 && version >= SEVERAL &&
              !mp_torch_library("libtorch_cpu.so") && come_by_v2(true) == CUPTI_SUCCESS;
    if (several) return CUPTI_SUCCESS;
    const CUptiResult result = library.subscribe(&subscriber, callback, NULL);
    return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && library.subscribe_v2
               ? come_by_v2(false)
               : result;
}

/* The driver calls this library as long as the process lives, even if the tool that loaded it
 * unloads it. */
static void keep_loaded(const void *function)
{
    Dl_info info;
    if (dladdr(function, &info)) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    mp_loader_forget_error();
}

CUptiResult mp_subscription_open(const struct mp_cupti_library *with, bool may_be_of_several)
{
    enum state closed = CLOSED;
    if (!__atomic_compare_exchange_n(&state, &closed, OPENING, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return CUPTI_SUCCESS;
    library = *with;
    keep_loaded((const void *)library.subscribe);
    const CUptiResult result = subscribe_one_way(may_be_of_several);
    __atomic_store_n(&state, result == CUPTI_SUCCESS ? OPEN : CLOSED, __ATOMIC_SEQ_CST);
    for (unsigned domain = 1; domain < DOMAINS && result == CUPTI_SUCCESS; domain++)
        apply_wanted(domain);
    return result;
}
