/* Driver calls that the program makes by their names, and that libmemprof-cuda.so stands before:
 * where CUPTI cannot be had, or is to be left to others. */
#ifndef MP_BY_NAME_H
#define MP_BY_NAME_H

#include <stdbool.h>

/* Is that library here, and so early that it stands before the driver's names?  Any thread. */
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
