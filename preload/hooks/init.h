/* Ends of the recorded process. */
#ifndef MP_INIT_H
#define MP_INIT_H

/* Registers the functions that end the recording at the process's exit, once. They allocate. */
void mp_init_ends(void);

#endif
