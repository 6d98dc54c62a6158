/* A program that contains a tool which subscribes to CUPTI's callbacks, as PyTorch's profiler does.
 * It prints which callbacks the tool got. They must be the same with and without memprof.
 *
 * early: subscribes before cuInit.
 * late: subscribes after cuInit.
 * two: has two tools, and prints how many more can subscribe, which differs without memprof.
 * newer: looks up cuptiSubscribe_v2 and allows other subscribers. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cupti.h>

#include "steps.h"

/* A tool and the number of callbacks that it got, by call. */
struct tool {
    const char *name;
    bool asks; /* calls the driver at the entry of each cuMemAlloc */
    bool finalizes;
    bool stops; /* stops listening at the entry of each cuMemAlloc */
    CUpti_SubscriberHandle handle;
    atomic_uint allocs, returned, infos, resources, wrong_words;
};

/* CUPTI keeps one word for a tool from a call's entry to its return. */
static void check_word(struct tool *t, const CUpti_CallbackData *d)
{
    const uint64_t word = (uintptr_t)t ^ (uint64_t)d->correlationId << 20;
    if (d->callbackSite == CUPTI_API_ENTER) *d->correlationData = word;
    else if (*d->correlationData != word) atomic_fetch_add(&t->wrong_words, 1);
}

static CUptiResult driver(struct tool *t, bool on, CUpti_CallbackId id)
{
    return cuptiEnableCallback(on, t->handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

static void on_alloc(struct tool *t, const CUpti_CallbackData *d)
{
    size_t available, total;
    if (d->callbackSite == CUPTI_API_EXIT) {
        atomic_fetch_add(&t->returned, 1);
        if (t->finalizes) CHECK(cuptiFinalize() == CUPTI_SUCCESS);
        return;
    }
    atomic_fetch_add(&t->allocs, 1);
    if (t->asks) OK(cuMemGetInfo(&available, &total));
    if (t->stops) driver(t, false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
}

static void CUPTIAPI on_callback(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    struct tool *t = arg;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) atomic_fetch_add(&t->resources, 1);
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    const CUpti_CallbackData *d = data;
    check_word(t, d);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) on_alloc(t, d);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2 && d->callbackSite == CUPTI_API_ENTER)
        atomic_fetch_add(&t->infos, 1);
}

static void report(struct tool *t, const char *when)
{
    printf("%s %s: allocs %u returned %u infos %u wrong words %u\n", t->name, when, t->allocs,
           t->returned, t->infos, t->wrong_words);
}

static void answer(const char *call, CUptiResult result) { printf("%s: %d\n", call, (int)result); }

static void subscribe(struct tool *t)
{
    answer("subscribe", cuptiSubscribe(&t->handle, on_callback, t));
    CHECK(driver(t, true, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) == CUPTI_SUCCESS);
    CHECK(driver(t, true, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2) == CUPTI_SUCCESS);
}

static void blocks(unsigned count)
{
    for (unsigned i = 0; i < count; i++) steps_free(steps_alloc(MIB), MIB);
}

static void one_tool(struct tool *t)
{
    const CUdeviceptr kept = steps_alloc(3 * MIB);
    step("listening");
    report(t, "listens");
    driver(t, false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    blocks(5);
    report(t, "after it listens no more");
    answer("domain on", cuptiEnableDomain(1, t->handle, CUPTI_CB_DOMAIN_DRIVER_API));
    blocks(2);
    answer("domain off", cuptiEnableDomain(0, t->handle, CUPTI_CB_DOMAIN_DRIVER_API));
    blocks(4);
    report(t, "had the domain");
    steps_free(kept, 3 * MIB);
    step("domain-off");
}

static void state(struct tool *t, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    uint32_t on = 7;
    const CUptiResult result = cuptiGetCallbackState(&on, t->handle, domain, id);
    printf("state: %d %u\n", (int)result, on);
}

static void ask_states(struct tool *t)
{
    answer("unknown id", driver(t, true, 1u << 20));
    answer("unknown domain", cuptiEnableDomain(1, t->handle, 77));
    state(t, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    driver(t, true, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    state(t, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    state(t, CUPTI_CB_DOMAIN_DRIVER_API, 1u << 20);
    state(t, 77, 1);
}

static void streams(struct tool *t)
{
    CUstream stream;
    answer("all domains on", cuptiEnableAllDomains(1, t->handle));
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy(stream));
    printf("%s got resource callbacks: %s\n", t->name, t->resources ? "yes" : "no");
    answer("all domains off", cuptiEnableAllDomains(0, t->handle));
}

/* ---- callbacks that are running while the tool subscribes and unsubscribes */

enum { THREADS = 4, TURNS = 300, COMINGS = 200 };
static CUcontext context;

static void *allocate(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    blocks(TURNS);
    return NULL;
}

/* Two tools subscribe in turns. Neither gets callbacks that only the other one enabled. */
static void subscribe_in_turns(void)
{
    static struct tool asks_for_allocs = { .name = "third" }, asks_for_infos = { .name = "fourth" };
    pthread_t threads[THREADS];
    OK(cuCtxGetCurrent(&context));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
    for (int i = 0; i < COMINGS; i++) {
        struct tool *t = i % 2 ? &asks_for_allocs : &asks_for_infos;
        CHECK(cuptiSubscribe(&t->handle, on_callback, t) == CUPTI_SUCCESS);
        CHECK(driver(t, true,
                     i % 2 ? CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2
                           : CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2) == CUPTI_SUCCESS);
        blocks(1);
        CHECK(cuptiUnsubscribe(t->handle) == CUPTI_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(asks_for_allocs.allocs >= COMINGS / 2 && asks_for_infos.allocs == 0);
    step("came-and-went");
}

/* A tool that stops listening during a call does not get the callback of its return. */
static void stop_inside(void)
{
    static struct tool t = { .name = "fifth", .stops = true };
    subscribe(&t);
    blocks(3);
    report(&t, "stopped at the first entry");
    answer("unsubscribe", cuptiUnsubscribe(t.handle));
}

/* Subscribes only for activity records. If callbacks were enabled for such a subscriber, CUPTI
 * would crash. */
static void subscribe_without_callback(void)
{
    CUpti_SubscriberHandle handle;
    answer("subscribe without a callback", cuptiSubscribe(&handle, NULL, NULL));
    blocks(2);
    answer("unsubscribe", cuptiUnsubscribe(handle));
}

static void one_after_another(bool early)
{
    static struct tool first = { .name = "first", .asks = true },
                       second = { .name = "second", .finalizes = true };
    if (early) subscribe(&first);
    steps_start();
    if (!early) subscribe(&first);
    one_tool(&first);
    ask_states(&first);
    streams(&first);
    answer("unsubscribe", cuptiUnsubscribe(first.handle));
    answer("unsubscribe again", cuptiUnsubscribe(first.handle));
    blocks(3);
    report(&first, "is gone");

    subscribe_in_turns();
    stop_inside();
    subscribe_without_callback();
    subscribe(&second);
    blocks(3);
    report(&second, "ended CUPTI");
    second.finalizes = false;
    subscribe(&second);
    blocks(2);
    report(&second, "came again");
}

static void two_tools(void)
{
    enum { MORE = 3 };
    static struct tool first = { .name = "first", .asks = true }, second = { .name = "second" },
                       more[MORE];
    steps_start();
    subscribe(&first);
    blocks(1);
    subscribe(&second);
    blocks(2);
    report(&first, "is one of two");
    report(&second, "is one of two");
    driver(&second, false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    blocks(4);
    answer("unsubscribe", cuptiUnsubscribe(first.handle));
    driver(&second, true, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    blocks(8);
    report(&first, "is gone");
    report(&second, "is left");
    for (int i = 0; i < MORE + 1; i++)
        answer("more", cuptiSubscribe(&more[i % MORE].handle, on_callback, &more[i % MORE]));
}

/* CUpti_SubscriberParams of CUDA 13.3. */
struct params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
    uint8_t allow_several;
};

static void newer_tool(void)
{
    static struct tool tool = { .name = "newer", .asks = true };
    char old[64] = "";
    const struct params p = { offsetof(struct params, allow_several) + 1, "newer", old, sizeof old,
                              1 };
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    CUptiResult (*its_subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                                 const void *);
    CUptiResult (*its_enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                              CUpti_CallbackId);
    CHECK(library);
    *(void **)&its_subscribe = dlsym(library, "cuptiSubscribe_v2");
    *(void **)&its_enable = dlsym(library, "cuptiEnableCallback");
    steps_start();
    answer("subscribe", its_subscribe(&tool.handle, on_callback, &tool, &p));
    answer("enable", its_enable(1, tool.handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
    blocks(3);
    report(&tool, "listens");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "late";
    if (!strcmp(mode, "two")) two_tools();
    else if (!strcmp(mode, "newer")) newer_tool();
    else one_after_another(!strcmp(mode, "early"));
    step("end");
    return 0;
}
