/* Numbers of autograd's nodes: a forward operator makes a node with the next number of its thread,
 * and the backward pass runs the node on another thread. From these the report finds the forward
 * operator of a backward range. */
#ifndef MP_TORCH_NUMBERS_H
#define MP_TORCH_NUMBERS_H

#include <stdbool.h>

#include "core/record.h"

/* libtorch_cpu.so; before the first of the calls below. */
void mp_torch_numbers_start(void *library);

/* Records the number that the calling thread's next node gets, when it is another one than in the
 * log.  Not from signal handlers: a thread's first call may make its thread-local memory of
 * PyTorch. */
void mp_torch_next(void);
static inline bool mp_torch_has_next(void) { return mp_self && mp_self->next_node; }
/* The same from any context: on threads that have called it before. */
void mp_torch_next_again(void);

/* Records which node's run the newly pushed range is, if the layout of the at::RecordFunction is
 * known. */
void mp_torch_node(const void *function, const char *name);

#endif
