#include "torch/torch_ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/loader.h"
#include "core/config.h"
#include "core/names.h"
#include "core/ranges.h"
#include "core/say.h"
#include "torch/torch_library.h"
#include "torch/torch_numbers.h"

/* at::RecordFunctionCallback, which is passed by value and has been the same since PyTorch 2.0
 * (ATen/record_function.h). An observer without a state stores NULL as its result, a
 * std::unique_ptr. */
enum { SCOPE_FUNCTION = 0, SCOPE_BACKWARD = 1, SCOPE_USER = 7, SCOPES = 10 };
struct record_function;
struct observer {
    void *(*start)(void **context, const struct record_function *f);
    void (*end)(const struct record_function *f, void *context);
    double probability;
    bool scope[SCOPES];
    bool inputs, outputs, ids;
};
enum { OLDEST = 200, NEWEST = 214 }; /* major * 100 + minor */

#define ADD_CALLBACK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define NAME_OF      "_ZNK2at14RecordFunction4nameEv"

static const char *(*name_of)(const struct record_function *);
static uint32_t domain;

/* Pushes the range and returns its name. */
static const char *push(const struct record_function *f)
{
    const char *name = name_of(f);
    if (!name) name = "";
    mp_torch_next();
    mp_range_push(mp_domain_check(domain), mp_name_id(name, strlen(name)));
    return name;
}

static void *start(void **context, const struct record_function *f)
{
    const int saved = errno;
    push(f);
    errno = saved;
    *context = NULL;
    return context;
}

static void *start_node(void **context, const struct record_function *f)
{
    const int saved = errno;
    mp_torch_node(f, push(f));
    errno = saved;
    *context = NULL;
    return context;
}

static void end(const struct record_function *f, void *context)
{
    (void)f;
    (void)context;
    const int saved = errno;
    mp_range_pop(domain);
    errno = saved;
}

static void add(uint64_t (*add_callback)(struct observer))
{
    domain = mp_domain_id("torch", 5);
    struct observer ranges = { .start = start, .end = end, .probability = 1.0 }, nodes = ranges;
    ranges.scope[SCOPE_USER] = true;
    ranges.scope[SCOPE_FUNCTION] = mp_config.torch_ranges == MP_TORCH_OPS;
    nodes.start = start_node;
    nodes.scope[SCOPE_BACKWARD] = true;
    add_callback(ranges);
    add_callback(nodes);
}

static void look_up(void *library)
{
    uint64_t (*add_callback)(struct observer) =
        (uint64_t(*)(struct observer))dlsym(library, ADD_CALLBACK);
    name_of = (__typeof__(name_of))dlsym(library, NAME_OF);
    const unsigned version = add_callback ? mp_torch_version((const void *)add_callback) : 0;
    if (name_of && version >= OLDEST && version <= NEWEST) {
        mp_torch_numbers_start(library);
        add(add_callback);
    } else
        mp_say("PyTorch's own ranges are not recorded: this memprof supports PyTorch 2.0 to 2.14 "
               "(MEMPROF_TORCH_RANGES=off hides this line)",
               NULL, NULL, NULL);
}

/* Until PyTorch is found, looking for it costs more than the calls that lead here, so it is done
 * less and less often. */
static bool is_time(void)
{
    static uint32_t calls;
    const uint32_t n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return (n & (n - 1)) == 0;
}

void mp_torch_ranges_start(void)
{
    static uint32_t started;
    if (__atomic_load_n(&started, __ATOMIC_RELAXED) || mp_config.torch_ranges == MP_TORCH_OFF ||
        !is_time())
        return;
    const int saved = errno;
    void *library = mp_torch_library("libtorch_cpu.so");
    if (library && !__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL)) look_up(library);
    mp_loader_forget_error();
    errno = saved;
}
