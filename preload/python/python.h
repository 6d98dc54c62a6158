/* Python call stacks, read from the calling thread's frames without the interpreter's lock: while a
 * thread runs C code its frames do not change. Supports only CPython 3.9 to 3.14, by the layouts of
 * these versions. */
#ifndef MP_PYTHON_H
#define MP_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* Looks for an interpreter. Called when the loader's lock may be taken; cheap after the first
 * time. */
void mp_python_start(void);
/* Forgets which frames and stacks are recorded. Called in a forked child, which has one thread. */
void mp_python_reset(void);
/* Returns the ID of the calling thread's Python stack, after recording it if necessary, or 0 if
 * the thread is not in Python, or in an unknown version. Takes about 10 ns per frame for a known
 * stack. */
uint64_t mp_python_here(void);
/* Returns false if the thread certainly has no Python stack. */
bool mp_python_may_run(void);
/* Records an allocation that is not in Python code and has a name instead. */
uint64_t mp_python_named(const char *name);
/* Gives the thread's next event the current Python stack. */
void mp_python_at(void);

#endif
