/* The user and groups of memprof's own threads.
 *
 * setuid(3) and its relatives change those of every thread that the C library knows, and memprof's
 * are not among them: they follow the process's first thread, so that none of them keeps rights that
 * the program has given up. */
#ifndef MP_IDS_H
#define MP_IDS_H

#include <stdbool.h>

/* Reads the ids of the process's first thread.  True: they changed since the last call, and the
 * other threads of memprof's are to be woken.  The first encoder's, once a period. */
bool mp_ids_read(void);
/* Takes the ids that were read last for the calling thread of memprof's, if it has not yet. */
void mp_ids_follow(void);

#endif
