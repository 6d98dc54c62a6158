/* Stacks of memprof's for what takes more than a few hundred bytes in a hook: the program may run
 * on small ones (coroutines, signal stacks). */
#ifndef MP_OWN_STACK_H
#define MP_OWN_STACK_H

/* Calls f(arg) on a stack of memprof's of 16 KiB; on the caller's, if all of them are in use or
 * signals cannot be blocked.  The caller has blocked signals: a handler must not run there. */
void mp_own_stack_call(void (*f)(void *), void *arg);
/* In a forked child: stacks that other threads of the parent had are free again. */
void mp_own_stack_reset(void);

#endif
