/* Leads the calls of a running program to the hooks: every loaded object has a table of slots with
 * the addresses of the functions that it calls in other objects. */
#ifndef MP_SLOTS_H
#define MP_SLOTS_H

#include <pthread.h>
#include <stdint.h>

/* Replaces the hooked functions in the slots of all objects, and of those that are loaded later.
 * @loader_lock: held meanwhile, so that no object is loaded or unloaded. Returns the number of
 * slots. */
uint32_t mp_slots_take(pthread_mutex_t *loader_lock);
/* Restores them. */
void mp_slots_give_back(void);

#endif
