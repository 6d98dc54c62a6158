/* Stacks for code in hooks that needs more than a few hundred bytes: the program's own stack may be
 * small (coroutines, signal stacks). */
#ifndef MP_OWN_STACK_H
#define MP_OWN_STACK_H

/* Calls f(arg) on a stack of 16 KiB. If all of these stacks are in use, or signals cannot be
 * blocked, it calls f on the caller's stack. The caller must have blocked signals, because no
 * handler may run there. */
void mp_own_stack_call(void (*f)(void *), void *arg);
/* Called in a forked child: releases stacks that other threads of the parent used. */
void mp_own_stack_reset(void);

#endif
