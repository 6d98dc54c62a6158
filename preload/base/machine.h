/* Functions that depend on the processor. Each file below defines all of them.
 *
 * Order of memory: x86 keeps a thread's stores in order and its read-modify-writes are barriers.
 * Other processors do neither, so the code does not rely on it. Data that one thread publishes is
 * stored with __ATOMIC_RELEASE and read with __ATOMIC_ACQUIRE. Two threads that each store one word
 * and then read that of the other thread use __ATOMIC_SEQ_CST. docs/machines.md lists these places.
 * mp_machine_take, _swap, _add and _subtract are for words that only one thread changes: they order
 * nothing, but a signal handler of that thread runs either before or after them.
 *
 *   mp_machine_syscall(n, a ... f)   result or -E...; changes nothing else
 *   mp_machine_clone(flags, stack, tid, running, tp, run, arg)
 *                                    clone(2): the new thread calls run(arg), which does not
 *                                    return. `tid` gets its ID, `running` is set to 0 when it
 *                                    ends, `tp` is its thread pointer. Result or -E...
 *   mp_machine_call_on(stack, f, arg)
 *                                    calls f(arg) on the stack that ends at `stack`
 *   mp_machine_thread_pointer()      that of the calling thread
 *   mp_machine_begin_storage(tp)     initialises the words at a new thread's thread pointer
 *   MP_MACHINE_VARIABLES_BELOW       thread-local variables are below the thread pointer
 *   mp_machine_ticks()               a counter that all processors share, read not before earlier
 *                                    instructions if the processor can guarantee that
 *   mp_machine_ticks_per_us()        the nominal rate, if it cannot be measured
 *   MP_MACHINE_CLOCK                 the kernel's name of that counter as a clock
 *   MP_MACHINE_POLL                  the number of poll(2), or -1 if ppoll(2) replaces it
 *   mp_machine_stop()                the instruction by which the C library ends as a last resort
 *   mp_machine_tags_memory()         true if only the allocator may read the word before a block
 *   mp_machine_take(word, n)         adds n and returns the old value
 *   mp_machine_swap(word, &expected, now)
 *                                    stores `now` if the value is `expected`, which becomes the
 *                                    old value
 *   mp_machine_add(word, n)          adds n
 *   mp_machine_subtract(word, n)     subtracts n and returns true if the value was smaller
 *   mp_machine_code(address)         a return address without its signature
 *   mp_machine_resolve(function)     the result of the resolver of an indirect function */
#ifndef MP_MACHINE_H
#define MP_MACHINE_H

#if defined(__x86_64__)
#include "base/machine_x86_64.h"
#elif defined(__aarch64__)
#include "base/machine_aarch64.h"
#else
#error "memprof's capture library is written for x86-64 and aarch64"
#endif

/* A sanitizer's runtime must know every stack. */
#if defined(MEMPROF_SANITIZED)
#define MP_MACHINE_MAY_SWITCH 0
#else
#define MP_MACHINE_MAY_SWITCH 1
#endif

#endif
