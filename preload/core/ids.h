/* User and groups of the threads that memprof makes.
 *
 * setuid(3) and its relatives change every thread that the C library knows, and memprof's are
 * unknown to it.  They follow a thread of the program, so that none of them keeps a user or group
 * that the program has given up.  Capabilities that are given up by capset(2) alone are not
 * followed. */
#ifndef MP_IDS_H
#define MP_IDS_H

#include <stdbool.h>

/* Returns true if the program's ids changed since the last call; then the caller wakes memprof's
 * other threads.  Called by the first encoder, once a period. */
bool mp_ids_changed(void);
/* Gives the calling thread, which memprof made, the program's ids if they changed since its last
 * call. */
void mp_ids_follow(void);
/* In a forked child: nothing was read yet. */
void mp_ids_reset(void);

#endif
