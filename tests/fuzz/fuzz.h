/* Functions shared by the fuzz targets.
 *
 * A target is a libFuzzer program. LLVMFuzzerTestOneInput gets arbitrary bytes. The code that it
 * calls must end and stay within its bounds for any input. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes a file of that name with these bytes, in a temporary folder of this process. Returns its
 * path, which stays valid. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);

/* Ends the process, which libFuzzer reports, if the tested code did not keep its contract. */
#define FUZZ_HOLDS(what)                                                                           \
    do {                                                                                           \
        if (!(what)) __builtin_trap();                                                             \
    } while (0)

#endif
