/* Python call stacks, read from the calling thread's own frames without the interpreter's lock: while a thread is in C its
 * frames do not change.  CPython 3.9 to 3.14, by the layouts of these versions; no other interpreter. */
#ifndef MP_PYTHON_H
#define MP_PYTHON_H

/* Looks for an interpreter.  Where the loader's lock may be taken; cheap after the first time. */
void mp_python_start(void);
/* The event that the thread records next happens in its present Python stack: recorded when there is one.  Takes about
 * 10 ns a frame once the stack is known.  Not in signal handlers. */
void mp_python_at(void);

#endif
