/* A signal frame as the kernel writes it when it calls a signal handler. */
#ifndef MPL_SIGNAL_FRAME_H
#define MPL_SIGNAL_FRAME_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include "tracer.h"

/* Prepares a stopped thread for the call. The frame has the thread's registers, floating-point
 * state and signal mask. The call returns into `restorer`, which tells the kernel to restore them.
 * Returns false if the thread's state is unchanged because a part cannot be read or written. */
bool mpl_signal_frame(const struct mpl_safety *s, pid_t thread, const struct user_regs_struct *now,
                      const struct mpl_call *call);

#endif
