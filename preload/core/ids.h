/* User and groups of the threads that memprof makes.
 *
 * setuid(3) and its relatives change every thread that the C library knows, and memprof's are
 * unknown to it.  They follow the process's first thread, so that none of them keeps rights that
 * the program has given up. */
#ifndef MP_IDS_H
#define MP_IDS_H

#include <stdbool.h>

/* Reads the ids of the process's first thread.  Returns true if they changed since the last call;
 * then the caller wakes memprof's other threads.  Called by the first encoder, once a period. */
bool mp_ids_read(void);
/* In a forked child: nothing was read yet. */
void mp_ids_reset(void);
/* Gives the calling thread, which memprof made, the ids that were read last, if it has others. */
void mp_ids_follow(void);

#endif
