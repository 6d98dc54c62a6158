/* Functions that the core calls in the rooms above it. The library has one table, which the linker
 * fills (init.c): it is valid before any constructor. A program without a table has none of the
 * features. A member may be NULL. */
#ifndef MP_FEATURE_H
#define MP_FEATURE_H

#include <stdint.h>

#include "base/frame.h"

struct mp_features {
    /* Starts recording, once. It does nothing until the C library has an environment. It takes
     * memory and the loader's lock, so it is called only after an allocation. */
    void (*enter)(void);
    /* The ids of the native and of the Python call stack that an event of this kind is to have, and
     * which are in the log then; 0: none.  Any context of the program; `from` is one of the
     * thread's frames, `stack` the id of the native one. */
    uint64_t (*stack)(unsigned op, unsigned heap, uint64_t size, const struct mp_frame *from);
    uint64_t (*python)(unsigned op, unsigned heap, uint64_t size, uint64_t stack);
    /* Before the thread's push or pop of a range.  Any context. */
    void (*before_range)(void);
    /* Called in a forked child before its log exists: each feature forgets which data the parent's
     * log has. Ended by NULL. */
    void (*const *forked)(void);
};
extern const struct mp_features mp_features;

#endif
