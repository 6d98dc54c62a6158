/* Driver calls that the program makes by name and libmemprof-cuda.so interposes, if CUPTI is
 * unavailable or left to other tools. */
#ifndef MP_BY_NAME_H
#define MP_BY_NAME_H

#include <stdbool.h>

/* Returns true if that library is loaded before the driver's names. Any thread. */
bool mp_by_name_is_here(void);
/* Returns true if CUPTI must not be used (MEMPROF_CUDA=interpose) and that library is loaded. Any
 * thread. */
bool mp_by_name_is_chosen(void);
/* Starts listening, permanently. */
void mp_by_name_start(void);
bool mp_by_name_is_on(void);
/* Starts or stops listening to kernel launches. Any context. */
void mp_by_name_listen_to_launches(bool listen);

#endif
