/* What few events need stays out of the way of those that do not. */
#ifndef MPR_COLD_H
#define MPR_COLD_H

#define MPR_COLD __attribute__((noinline, cold))

#endif
