/* Reads the build ID of a mapped object file through the kernel, because the file may be unmapped
 * meanwhile. */
#ifndef MP_BUILD_ID_H
#define MP_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define MP_BUILD_ID_BYTES 64

/* Reads the build ID of the file whose ELF header is at `base`. Returns its bytes, or 0 if it has
 * none or cannot be read. */
size_t mp_build_id(uint64_t base, uint8_t out[MP_BUILD_ID_BYTES]);

#endif
