/* Listening to the CUDA driver through CUPTI's callback interface. */
#ifndef MP_LISTEN_H
#define MP_LISTEN_H

#include <stdbool.h>

/* Listens to kernel launches, or no more.  Any callback. */
void mp_cupti_listen_to_launches(bool listen);

#endif
