/* Between the hooks of operator new and of malloc. */
#ifndef MP_HOOK_MALLOC_H
#define MP_HOOK_MALLOC_H

#include <stddef.h>

/* The calling thread's next aligned_alloc serves an aligned operator new for this many bytes: a C++ library rounds the
 * size up to the alignment, and what was asked for is what is recorded. */
void mp_aligned_new(size_t bytes);

#endif
