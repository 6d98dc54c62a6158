/* What the fuzz targets share.
 *
 * A target is a program of libFuzzer: LLVMFuzzerTestOneInput gets bytes that nobody made, and what
 * it calls ends, in its bounds, whatever they are. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of that name with these bytes, in a folder of this process's own that goes when it ends.
 * Its path, which lasts. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);

/* Ends the process, for libFuzzer to tell: the code under test broke its word. */
#define FUZZ_HOLDS(what)                                                                           \
    do {                                                                                           \
        if (!(what)) __builtin_trap();                                                             \
    } while (0)

#endif
