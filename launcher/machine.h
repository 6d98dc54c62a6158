/* The processor for which this launcher and its libmemprof.so are built. */
#ifndef MPL_MACHINE_H
#define MPL_MACHINE_H

#if defined(__x86_64__)
#define MPL_MACHINE      EM_X86_64
#define MPL_MACHINE_NAME "64-bit x86"
/* Debian's name for the folder of this processor's libraries. */
#define MPL_MACHINE_FILES "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MPL_MACHINE       EM_AARCH64
#define MPL_MACHINE_NAME  "64-bit Arm"
#define MPL_MACHINE_FILES "aarch64-linux-gnu"
#endif

#endif
