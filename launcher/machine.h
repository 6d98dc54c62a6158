/* The processor that this launcher and its libmemprof.so are built for. */
#ifndef MPL_MACHINE_H
#define MPL_MACHINE_H

#if defined(__x86_64__)
#define MPL_MACHINE       EM_X86_64
#define MPL_MACHINE_NAME  "64-bit x86"
#define MPL_MACHINE_FILES "x86_64-linux-gnu" /* Debian's name of a folder for its libraries */
#elif defined(__aarch64__)
#define MPL_MACHINE       EM_AARCH64
#define MPL_MACHINE_NAME  "64-bit Arm"
#define MPL_MACHINE_FILES "aarch64-linux-gnu"
#endif

#endif
