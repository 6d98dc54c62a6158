/* NVML, the driver's management library, by dlopen: used bytes of a device without a context, on
 * any thread.
 *
 * Its allocations are recorded like the program's, because its destructors free them. Its
 * descriptors are in the program's table, so it is never called on the encoder, which has a
 * separate table. */
#ifndef MP_NVML_H
#define MP_NVML_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes. total = reserved + free + used. */
struct mp_nvml_memory {
    uint64_t total, reserved, free, used;
};

/* Returns false without NVML. Takes about 10 ms. Called once. */
bool mp_nvml_init(void);
/* Returns the device with this UUID, or NULL. MIG instances have separate names. */
void *mp_nvml_device(const char *uuid);
bool mp_nvml_memory(void *device, struct mp_nvml_memory *out);
/* Gets the bytes that this process uses on the device. Returns false if NVML does not know the
 * process (because of a container's process IDs). */
bool mp_nvml_own(void *device, uint64_t *bytes);

#endif
