/* System calls that a stopped thread is in. The registers have the kernel's intention: to call it
 * again, or to return an error.
 *
 * Only two kinds of calls matter here: those in which a thread waits for something outside of
 * itself, and those that return EINTR although the thread has no signal handler to run. The kernel
 * does not repeat these after a mere stop. */
#ifndef MPL_RESTART_H
#define MPL_RESTART_H

#include <stdbool.h>
#include <sys/user.h>

/* Returns true if the thread was stopped in a system call. */
bool mpl_is_in_call(const struct user_regs_struct *regs);
/* Returns true if it waits in a call that holds no lock of the process and that can be made again
 * after another call. */
bool mpl_waits_safely(const struct user_regs_struct *regs);
/* Changes the registers so that the kernel repeats a call that would return EINTR because of the
 * stop. Returns true if they changed. */
bool mpl_repeat_call(struct user_regs_struct *regs);
/* Changes the registers to those from which the thread makes the call again. */
void mpl_call_again(struct user_regs_struct *regs);

#endif
