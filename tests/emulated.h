/* What an emulator of another processor (qemu-user) lacks of Linux: its tests are skipped there. */
#ifndef EMULATED_H
#define EMULATED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* `what`: the call or option that the test rests on.  True: skip it; the reason is printed. */
static inline bool emulator_lacks(const char *what)
{
    const char *emulator = getenv("MEMPROF_EMULATOR");
    if (!emulator || !*emulator) return false;
    printf("skipped: %s has no %s\n", emulator, what);
    return true;
}

#endif
