/* Marks slow paths that must not be inlined into hooks, because every event would pay for their
 * saved registers and frame. */
#ifndef MP_COLD_H
#define MP_COLD_H

#define MP_COLD __attribute__((noinline, cold))

#endif
