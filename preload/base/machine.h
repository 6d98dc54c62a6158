/* What depends on the processor: each file below has the same functions.
 *
 * Order of memory.  x86 keeps a thread's stores in order and its read-modify-writes are barriers;
 * others do neither.  So nothing leans on it: what one thread publishes to another is stored with
 * __ATOMIC_RELEASE and read with __ATOMIC_ACQUIRE, and where two threads each store one word and
 * read the other's, both do it with __ATOMIC_SEQ_CST.  docs/machines.md lists these places.  The
 * three functions on words here are a thread's alone: they order nothing, but a signal handler of
 * the same thread comes before or behind them, never between.
 *
 *   mp_machine_syscall(n, a ... f)   result or -E...; touches nothing else
 *   mp_machine_clone(flags, stack, tid, running, tp, run, arg)
 *                                    clone(2): the new thread calls run(arg), which does not
 * return; `tid` gets its id, `running` is set to 0 at its end, `tp` is its thread pointer.  Result
 * or -E... mp_machine_call_on(stack, f, arg) calls f(arg) on the stack that ends at `stack`
 *   mp_machine_thread_pointer()      the calling thread's
 *   mp_machine_begin_storage(tp)     what code expects at a new thread's thread pointer
 *   MP_MACHINE_VARIABLES_BELOW       thread-local variables are below the thread pointer, and not
 *                                    above it
 *   mp_machine_ticks()               a counter that all processors share, read no earlier than what
 *                                    stands before it as far as the processor can say
 *   mp_machine_ticks_per_us()        where it cannot be measured
 *   MP_MACHINE_CLOCK                 the kernel's name of that counter as a clock
 *   MP_MACHINE_POLL                  the number of poll(2); -1: ppoll(2) takes its place
 *   mp_machine_stop()                the instruction that the C library ends with where nothing
 *                                    else does
 *   mp_machine_tags_memory()         may a word in front of a block be one that only the allocator
 *                                    reads?
 *   mp_machine_take(word, n)         adds n; what was there before
 *   mp_machine_swap(word, &was, now) stores `now` if `was` is there; `was` is what was there
 *   mp_machine_add(word, n)          adds n
 *   mp_machine_code(address)         a return address without what a processor signs it with
 *   mp_machine_resolve(function)     what the resolver of an indirect function gives */
#ifndef MP_MACHINE_H
#define MP_MACHINE_H

#if defined(__x86_64__)
#include "base/machine_x86_64.h"
#elif defined(__aarch64__)
#include "base/machine_aarch64.h"
#else
#error "memprof's capture library is written for x86-64 and aarch64"
#endif

/* A sanitizer's runtime has to know every stack. */
#if defined(MEMPROF_SANITIZED)
#define MP_MACHINE_MAY_SWITCH 0
#else
#define MP_MACHINE_MAY_SWITCH 1
#endif

#endif
