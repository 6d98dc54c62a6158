/* One driver call, as its handler sees it: once when the driver is entered and once when it
 * returns.
 *
 * Handlers run on the program's thread, in a CUPTI callback or around a call that was made by name.
 * They may call the driver's queries (driver.h) under mp_guard_enter, take no lock that the program
 * can hold, and keep errno (the dispatcher does). */
#ifndef MP_CALL_H
#define MP_CALL_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct mp_call {
    /* The call's struct of generated_cuda_meta.h; outputs are valid after success. */
    const void *params;
    uint64_t *keep;       /* a word that lasts from the entry to the return */
    CUcontext context;    /* the current one at the return, or NULL */
    uint32_t context_uid; /* unique among live contexts; 0: none */
    CUresult result;      /* at the return */
    bool enter;
};

#define MP_CALL(name, handler) void mp_on_##handler(const struct mp_call *call);
#include "cuda/calls.def"
#include "cuda/launches.def"
#undef MP_CALL

#endif
