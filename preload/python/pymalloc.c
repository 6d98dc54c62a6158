/* Sampling wraps pymalloc's functions with PyMem_SetAllocator. A thread with the interpreter's lock
 * may do this at any time if its wrappers call the previous functions, because blocks then remain
 * pymalloc's. It is done while pymalloc maps an arena, so never in a program whose small objects
 * fit into the first arenas. If another wrapper is installed (tracemalloc, a debug allocator),
 * nothing is wrapped.
 *
 * The wrappers have the same context as pymalloc's functions (none), so a caller that reads the
 * table while it is written gets a consistent pair. They stay until the process ends, as this
 * library does. */
#include "python/pymalloc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/addresses.h"
#include "base/loader.h"
#include "core/config.h"
#include "core/draw.h"
#include "core/record.h"
#include "core/window.h"
#include "mpf/event.h"

enum { MEM = 1, OBJ = 2 }; /* domains that use pymalloc */
enum { SMALL = 512 };      /* bytes; larger objects are allocated by malloc */

/* PyMemAllocatorEx and PyObjectArenaAllocator, which are part of the stable headers since 3.5. */
struct allocator {
    void *ctx;
    void *(*malloc)(void *ctx, size_t bytes);
    void *(*calloc)(void *ctx, size_t n, size_t each);
    void *(*realloc)(void *ctx, void *p, size_t bytes);
    void (*free)(void *ctx, void *p);
};
struct arenas {
    void *ctx;
    void *(*map)(void *ctx, size_t bytes);
    void (*unmap)(void *ctx, void *p, size_t bytes);
};

static struct {
    void (*get)(int domain, struct allocator *out), (*set)(int domain, const struct allocator *in);
    int (*is_initialized)(void);
    uintptr_t map; /* the function that maps arenas, or 0. Set last, after all other members */
    size_t arena;  /* bytes of an arena */
} python;
/* The original functions; NULL if small objects are not sampled. */
static struct allocator pymalloc;

static struct mp_addresses *samples; /* NULL before the first sample */

static MP_COLD void sample_freed(void *p)
{
    if (p && mp_addresses_take(samples, p))
        mp_record(MPF_OP_FREE, MPF_HEAP_PYTHON, (uintptr_t)p, 0);
}

/* ---- wrappers of pymalloc's functions */

static __thread struct {
    int32_t bytes_left; /* until the next sample */
    uint32_t random;    /* 0 before the first draw */
    bool mapping;
} here __attribute__((tls_model("initial-exec")));

static MP_COLD void *sampled(void *p, size_t bytes)
{
    const bool first = !here.random;
    here.bytes_left = (int32_t)mp_draw(&here.random, mp_config.python_mean);
    if (!first && p && mp_window_is_open() && mp_addresses_add(samples, p))
        mp_record_slow(MPF_OP_ALLOC, MPF_HEAP_PYTHON, (uintptr_t)p, bytes);
    return p;
}

static inline bool is_due(size_t bytes)
{
    return bytes <= SMALL && __builtin_expect((here.bytes_left -= (int32_t)bytes) < 0, 0);
}

static void *in_front_malloc(void *ctx, size_t bytes)
{
    if (is_due(bytes)) return sampled(pymalloc.malloc(ctx, bytes), bytes);
    return pymalloc.malloc(ctx, bytes);
}

static void *in_front_calloc(void *ctx, size_t n, size_t each)
{
    size_t bytes;
    if (!__builtin_mul_overflow(n, each, &bytes) && is_due(bytes))
        return sampled(pymalloc.calloc(ctx, n, each), bytes);
    return pymalloc.calloc(ctx, n, each);
}

/* The result is another block even at the same address: no other thread can have got the old one,
 * because this thread has the interpreter's lock. */
static void *in_front_realloc(void *ctx, void *p, size_t bytes)
{
    void *q = pymalloc.realloc(ctx, p, bytes);
    if (!q) return NULL;
    if (mp_addresses_may_have(samples, p)) sample_freed(p);
    return is_due(bytes) ? sampled(q, bytes) : q;
}

static void in_front_free(void *ctx, void *p)
{
    if (mp_addresses_may_have(samples, p)) sample_freed(p);
    pymalloc.free(ctx, p);
}

static bool is_pymalloc(int domain)
{
    struct allocator now;
    python.get(domain, &now);
    return memcmp(&now, &pymalloc, sizeof now) == 0;
}

/* Called again if an interpreter was ended and another one was started. */
static void sample(void)
{
    static const struct allocator in_front = { NULL, in_front_malloc, in_front_calloc,
                                               in_front_realloc, in_front_free };
    if (!pymalloc.malloc || !python.is_initialized() || !is_pymalloc(OBJ) || !is_pymalloc(MEM))
        return;
    if (!samples && !(samples = mp_addresses_map())) return;
    python.set(OBJ, &in_front);
    python.set(MEM, &in_front);
}

void mp_pymalloc_reset(void)
{
    if (samples) mp_addresses_clear(samples);
}

/* ---- arenas */

bool mp_pymalloc_is_mapping(void) { return here.mapping; }

bool mp_pymalloc_mapped(const void *caller, void *p, size_t bytes)
{
    enum { CODE = 256 }; /* maximum bytes of the function */
    const uintptr_t map = __atomic_load_n(&python.map, __ATOMIC_ACQUIRE);
    if (bytes != python.arena || (uintptr_t)caller - map >= CODE) return false;
    const int saved = errno;
    here.mapping = true;
    mp_record_slow(MPF_OP_MAP, MPF_HEAP_MMAP, (uintptr_t)p, bytes);
    here.mapping = false;
    sample();
    errno = saved;
    return true;
}

void mp_pymalloc_find(unsigned version)
{
    enum { LARGE_ARENAS = 0x30a };
    struct arenas arenas = { NULL, NULL, NULL };
    struct allocator object, mem;
    void (*of_arenas)(struct arenas *) =
        (__typeof__(of_arenas))dlsym(RTLD_DEFAULT, "PyObject_GetArenaAllocator");
    python.get = (__typeof__(python.get))dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    python.set = (__typeof__(python.set))dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    python.is_initialized =
        (__typeof__(python.is_initialized))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (!of_arenas || !python.get || !python.set || !python.is_initialized) return;
    of_arenas(&arenas);
    python.arena = version < LARGE_ARENAS ? 256 << 10 : 1 << 20;
    python.get(OBJ, &object);
    python.get(MEM, &mem);
    if (mp_config_samples_small() && !object.ctx && memcmp(&mem, &object, sizeof mem) == 0)
        pymalloc = object;
    __atomic_store_n(&python.map, (uintptr_t)arenas.map, __ATOMIC_RELEASE);
}
