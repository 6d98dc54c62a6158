/* Features of Linux that an emulator of another processor (qemu-user) does not have. Tests that
 * need them are skipped. */
#ifndef EMULATED_H
#define EMULATED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns true, and prints the reason, if the test must be skipped. @what: the call or option that
 * the test needs. */
static inline bool emulator_lacks(const char *what)
{
    const char *emulator = getenv("MEMPROF_EMULATOR");
    if (!emulator || !*emulator) return false;
    printf("skipped: %s has no %s\n", emulator, what);
    return true;
}

#endif
