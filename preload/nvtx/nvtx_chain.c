/* Handles of a chained library: an insert-only map from its pointers to our numbers, for strings
 * and domains. It takes no lock: a key is claimed by compare-and-swap, and its number is stored
 * after that. */
#include "nvtx/nvtx_chain.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/loader.h"
#include "base/sys.h"
#include "core/names.h"

#define HANDLES (2 * MP_NAMES_MAX)
/* If all of these places are taken, the handle is forgotten, and its ranges have no name. */
#define PROBES 64

struct mp_nvtx_next mp_nvtx_next;
static bool chained;
struct known {
    uintptr_t handle;
    uint32_t id;
};
static void *the_map; /* HANDLES of them, mapped for the first handle */

void *mp_nvtx_chain_symbol(const char *name)
{
    /* recursive, because the library may use NVTX in its own constructor */
    static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static bool tried;
    static void *library;
    const char *path = secure_getenv("MEMPROF_NVTX_CHAIN");
    pthread_mutex_lock(&lock);
    if (!tried && path && *path) {
        tried = true;
        library = dlopen(path, RTLD_LAZY);
        __atomic_store_n(&chained, library != NULL, __ATOMIC_RELEASE);
    }
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) mp_loader_forget_error();
    pthread_mutex_unlock(&lock);
    return symbol;
}

static size_t place_of(uintptr_t handle, unsigned probe)
{
    return ((handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) + probe) % HANDLES;
}

static void remember(uintptr_t handle, uint32_t id)
{
    struct known *const map = mp_sys_map_once(&the_map, HANDLES * sizeof *map, false);
    for (unsigned i = 0; map && i < PROBES; i++) {
        const size_t at = place_of(handle, i);
        uintptr_t held = 0;
        __atomic_compare_exchange_n(&map[at].handle, &held, handle, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
        if (held && held != handle) continue;
        __atomic_store_n(&map[at].id, id, __ATOMIC_RELEASE);
        return;
    }
}

void *mp_nvtx_handle(uint32_t id, void *next)
{
    void *handle = next ? next : (void *)(uintptr_t)id;
    if (handle && __atomic_load_n(&chained, __ATOMIC_ACQUIRE)) remember((uintptr_t)handle, id);
    return handle;
}

uint64_t mp_nvtx_number(const void *handle)
{
    if (!handle || !__atomic_load_n(&chained, __ATOMIC_ACQUIRE)) return (uintptr_t)handle;
    const struct known *const map = __atomic_load_n(&the_map, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; map && i < PROBES; i++) {
        const size_t at = place_of((uintptr_t)handle, i);
        const uintptr_t found = __atomic_load_n(&map[at].handle, __ATOMIC_ACQUIRE);
        if (found == (uintptr_t)handle) return __atomic_load_n(&map[at].id, __ATOMIC_ACQUIRE);
        if (!found) return 0;
    }
    return 0;
}
