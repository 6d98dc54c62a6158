/* The object files of the process, recorded (MODULE) when a call stack first contains their code.
 *
 * They are read from /proc/self/maps, and not from the loader, because the loader's lock may be
 * held by a thread that waits for a lock of the caller. Files that dlclose unmaps are forgotten at
 * once. Files unmapped in another way (the C library's own dlclose) stay known until a new stack
 * finds another file at their place. */
#ifndef MP_MODULE_H
#define MP_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once, before the other functions. Returns false without memory. */
bool mp_module_init(void);
/* Forgets which modules are recorded. Called in a forked child, which has one thread. */
void mp_module_reset(void);
/* Makes sure that the object files with this code are in the log, if there are any. */
void mp_module_seen(const uint64_t *pc, unsigned count);
/* Data that is keyed by code addresses stores this value. If the value has increased since, the
 * addresses may belong to other code. */
extern uint32_t mp_module_generation;
static inline uint32_t mp_module_now(void)
{
    return __atomic_load_n(&mp_module_generation, __ATOMIC_ACQUIRE);
}
/* Called around the real dlclose: finds the handle's object, and forgets it if it was unloaded. Any
 * context. */
struct mp_module_place {
    uint64_t at, object;
};
struct mp_module_place mp_module_opened(const void *handle);
void mp_module_closed(struct mp_module_place before);
/* Finds the path of a mapped code file that ends with `part` and the rest of one name
 * ("/libc10.so", with or without a version). Returns false if it is not mapped, or if its path has
 * `cap` bytes or more. */
bool mp_module_file(const char *part, char *path, size_t cap);
/* Finds the mapping that contains this address. Returns false if it is not mapped or unknown. */
bool mp_module_mapping(uintptr_t at, uintptr_t *from, uintptr_t *to);

#endif
