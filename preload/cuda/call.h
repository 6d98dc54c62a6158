/* One driver call as its handler sees it: once at the entry and once at the return.
 *
 * Handlers run on the program's thread, in a CUPTI callback or around a call that was made by name.
 * They may call the driver's queries (driver.h) under mp_guard_enter, must take no lock that the
 * program can hold, and must keep errno (the dispatcher does). */
#ifndef MP_CALL_H
#define MP_CALL_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct mp_call {
    /* The call's struct of generated_cuda_meta.h. Outputs are valid after success. */
    const void *params;
    uint64_t *keep;       /* a word that is kept from the entry to the return */
    CUcontext context;    /* the current one at the return, or NULL */
    uint32_t context_uid; /* unique among live contexts, or 0 */
    CUresult result;      /* valid at the return */
    bool enter;
};

#define MP_CALL(name, handler) void mp_on_##handler(const struct mp_call *call);
#include "cuda/calls.def"
#include "cuda/launches.def"
#undef MP_CALL

#endif
