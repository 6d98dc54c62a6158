/* The user's injection library, chained after memprof: the original value of NVTX_INJECTION64_PATH.
 *
 * It sets the program's tables first, and keeps the entries that memprof does not replace. Replaced
 * entries are kept in `mp_nvtx_next`, and the callbacks forward their arguments unchanged: the
 * program has the library's handles, and memprof finds its numbers by them. */
#ifndef MP_NVTX_CHAIN_H
#define MP_NVTX_CHAIN_H

#include "nvtx/nvtx_abi.h"

struct mp_nvtx_next {
    struct nvtx_core core;
    struct nvtx_core2 core2;
    struct nvtx_payload_extension payload;
};
/* Zeros without such a library. Set before the program's first NVTX call in a shared object ends.
 */
extern struct mp_nvtx_next mp_nvtx_next __attribute__((visibility("hidden")));

/* Calls the next function, if there is one. */
#define MP_NVTX_NEXT(module, name, ...)                                                            \
    do {                                                                                           \
        if (mp_nvtx_next.module.name) mp_nvtx_next.module.name(__VA_ARGS__);                       \
    } while (0)

/* The next function's result, or 0 without such a function. */
#define MP_NVTX_ASK(module, name, ...)                                                             \
    (mp_nvtx_next.module.name ? mp_nvtx_next.module.name(__VA_ARGS__) : 0)

/* Returns the entry point `name` of the user's library (MEMPROF_NVTX_CHAIN), or NULL. Loads the
 * library once. Changes errno. */
void *mp_nvtx_chain_symbol(const char *name);

/* Returns the handle for the number `id` that the program gets: the library's if it created one,
 * otherwise the number itself. */
void *mp_nvtx_handle(uint32_t id, void *next);
/* Returns the number of a handle that the program passed, or 0 for an unknown one. Without a
 * chained library the handle is the number and is not checked yet. */
uint64_t mp_nvtx_number(const void *handle);

#endif
