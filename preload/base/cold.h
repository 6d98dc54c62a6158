/* Slow paths that stay out of the hooks: inlined, their needs (saved registers, a frame) would be
 * paid by every event. */
#ifndef MP_COLD_H
#define MP_COLD_H

#define MP_COLD __attribute__((noinline, cold))

#endif
