/* User and groups of the threads that memprof creates.
 *
 * setuid(3) and similar functions change every thread that the C library knows, and it does not
 * know memprof's. These follow a thread of the program, so that none of them keeps a user or group
 * that the program has given up. Capabilities that are given up by capset(2) alone are not
 * followed. */
#ifndef MP_IDS_H
#define MP_IDS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the program's IDs changed since the last call. The caller then wakes memprof's
 * other threads. Called by the first encoder, once per period. */
bool mp_ids_changed(void);
/* Gives the calling memprof thread the program's IDs if they changed since its last call.
 * @followed: the change that the thread has followed, 0 at first */
void mp_ids_follow(uint32_t *followed);
/* Called in a forked child, where nothing has been read yet. */
void mp_ids_reset(void);

#endif
