/* Driver calls that the program makes by name and libmemprof-cuda.so interposes, if CUPTI is
 * unavailable or left to other tools. */
#ifndef MP_BY_NAME_H
#define MP_BY_NAME_H

#include <stdbool.h>

/* Returns true if that library is loaded before the driver's names. Any thread. */
bool mp_by_name_is_here(void);
/* Is CUPTI to be left alone for it (MEMPROF_CUDA=interpose)?  Not where it is missing.  Any
 * thread. */
bool mp_by_name_is_chosen(void);
/* Listens from now on, and for good. */
void mp_by_name_start(void);
bool mp_by_name_is_on(void);
/* Listens to kernel launches, or no more.  Any context. */
void mp_by_name_listen_to_launches(bool listen);

#endif
