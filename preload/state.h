/* Whether this copy of the library is the one that records. */
#ifndef MP_STATE_H
#define MP_STATE_H

/* 1 when libmemprof.so was preloaded and records.  0 in a copy that was dlopen'ed later (children
 * inherit NVTX_INJECTION64_PATH where LD_PRELOAD was dropped): that copy has to stay inert. */
int mp_active(void);

/* Starts the recording of the program, once; until the C library has an environment this does nothing.  Takes memory and the
 * loader's lock: from the constructor or behind an allocation only (init.c). */
void mp_enter(void);

#endif
