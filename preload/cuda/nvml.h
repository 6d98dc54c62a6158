/* NVML, the driver's management library, by dlopen: used bytes of a device without a context, from
 * any thread.
 *
 * What it allocates is recorded as anything in the program's heap: its destructors free it as the
 * program's. Its descriptors lie in the program's table, so it is never called from the encoder,
 * which has one of its own. */
#ifndef MP_NVML_H
#define MP_NVML_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes; total = reserved + free + used */
struct mp_nvml_memory {
    uint64_t total, reserved, free, used;
};

/* False: there is no NVML.  Takes about 10 ms; called once. */
bool mp_nvml_init(void);
/* The device with this UUID; NULL.  MIG instances have names of their own. */
void *mp_nvml_device(const char *uuid);
bool mp_nvml_memory(void *device, struct mp_nvml_memory *out);
/* Bytes that this process holds on the device; false where NVML does not know it (a container's
 * pids). */
bool mp_nvml_own(void *device, uint64_t *bytes);

#endif
