/* Functions that the core calls in the layers above it. The library has one table, which the linker
 * fills (init.c): it is valid before any constructor. A program without a table has none of the
 * features. A member may be NULL. */
#ifndef MP_FEATURE_H
#define MP_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

struct mp_features {
    /* Starts recording, once. It does nothing until the C library has an environment. It takes
     * memory and the loader's lock, so it is called only after an allocation. */
    void (*enter)(void);
    /* Returns the IDs of the native and of the Python call stack for an event of this kind, after
     * recording them if necessary; 0 for no stack. Any context of the program. @from: a frame of
     * the thread. `stack` returns the ID of the native one. @sampled: the event is that of a small
     * block that was drawn. */
    uint64_t (*stack)(unsigned op, unsigned heap, uint64_t size, bool sampled,
                      const struct mp_frame *from);
    uint64_t (*python)(unsigned op, unsigned heap, uint64_t size, uint64_t stack);
    /* Returns false if the event certainly has neither. */
    bool (*has_place)(unsigned op, unsigned heap, uint64_t size, bool sampled);
    /* Called before the thread pushes or pops a range. Any context. */
    void (*before_range)(void);
    /* Called in a forked child before its log exists: each feature forgets which data the parent's
     * log has. Terminated by NULL. */
    void (*const *forked)(void);
};
extern const struct mp_features mp_features;

#endif
