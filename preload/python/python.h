/* Python call stacks, read from the calling thread's frames without the interpreter's lock: while a
 * thread runs C code its frames do not change. CPython 3.9 to 3.14, by the layouts of these
 * versions; no other interpreter. */
#ifndef MP_PYTHON_H
#define MP_PYTHON_H

#include <stdint.h>

/* Looks for an interpreter. Called where the loader's lock may be taken; cheap after the first
 * time. */
void mp_python_start(void);
/* Forgets what is recorded: in a forked child, single-threaded. */
void mp_python_reset(void);
/* The id of the calling thread's Python stack, which is in the log then; 0: it is not in Python, or
 * in one that is not known.  Takes about 10 ns a frame once the stack is known. */
uint64_t mp_python_here(void);
/* Records an allocation that is not in Python code and has a name instead. */
uint64_t mp_python_named(const char *name);
/* The event that the thread records next happens there. */
void mp_python_at(void);

#endif
