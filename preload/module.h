/* The object files of the process, recorded (MODULE) when a call stack first leads into them.
 *
 * They come from /proc/self/maps, not from the loader: its lock may be held by a thread that waits for a lock of ours'
 * caller.  What dlclose unmaps stays known until a new stack finds another file in its place. */
#ifndef MP_MODULE_H
#define MP_MODULE_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before the others.  False: no memory. */
bool mp_module_init(void);
/* Makes sure that the object files with this code are in the log, if there are any.  True: one has taken another's place. */
bool mp_module_seen(const uint64_t *pc, unsigned count);
/* The mapping that holds this address; false: there is none, or it cannot be known. */
bool mp_module_mapping(uintptr_t at, uintptr_t *from, uintptr_t *to);

#endif
