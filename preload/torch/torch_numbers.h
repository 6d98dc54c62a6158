/* Numbers of autograd's nodes: a forward operator makes a node with the next number of its thread,
 * and the backward pass runs the node on another thread. From these the report finds the forward
 * operator of a backward range. */
#ifndef MP_TORCH_NUMBERS_H
#define MP_TORCH_NUMBERS_H

#include <stdbool.h>

#include "core/record.h"

/* Called with libtorch_cpu.so before the functions below. */
void mp_torch_numbers_start(void *library);

/* Records the number that the calling thread's next node gets, if it differs from that in the
 * log. Not from signal handlers: a thread's first call may allocate its thread-local memory of
 * PyTorch. */
void mp_torch_next(void);
static inline bool mp_torch_has_next(void) { return mp_self && mp_self->next_node; }
/* The same from any context, on threads that have called it before. */
void mp_torch_next_again(void);

/* Records which node the newly pushed range runs, if the layout of the at::RecordFunction is
 * known. */
void mp_torch_node(const void *function, const char *name);

#endif
