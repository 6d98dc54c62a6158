/* The object files of the process, recorded (MODULE) when a call stack first leads into them.
 *
 * They come from /proc/self/maps, not from the loader: its lock may be held by a thread that waits
 * for a lock of ours' caller.  What dlclose unmaps is gone at once; what goes in another way (the C
 * library's own dlclose) stays known until a new stack finds another file in its place. */
#ifndef MP_MODULE_H
#define MP_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once, before the others.  False: no memory. */
bool mp_module_init(void);
/* Forgets what is recorded: in a forked child, single-threaded. */
void mp_module_reset(void);
/* Makes sure that the object files with this code are in the log, if there are any. */
void mp_module_seen(const uint64_t *pc, unsigned count);
/* Whoever keeps something by addresses of code keeps this with it: a greater one says that they may
 * be other code now. */
extern uint32_t mp_module_generation;
static inline uint32_t mp_module_now(void)
{
    return __atomic_load_n(&mp_module_generation, __ATOMIC_ACQUIRE);
}
/* Around the real dlclose: what the handle stands for, and what to do where it is there no more.
 * Any context. */
struct mp_module_place {
    uint64_t at, object;
};
struct mp_module_place mp_module_opened(const void *handle);
void mp_module_closed(struct mp_module_place before);
/* The path of a file whose code is mapped and whose path ends with `part` and what follows within
 * one name ("/libc10.so", with a version behind it or not); false: there is none, or its path has
 * `cap` bytes or more. */
bool mp_module_file(const char *part, char *path, size_t cap);
/* The mapping that holds this address; false: there is none, or it cannot be known. */
bool mp_module_mapping(uintptr_t at, uintptr_t *from, uintptr_t *to);

#endif
