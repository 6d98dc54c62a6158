/* The devices, the used memory of each, and their common address space. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static struct fake_device devices[FAKE_DEVICES];
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void add_device(unsigned number)
{
    devices[count++] = (struct fake_device){
        .number = number,
        .total = setting("FAKE_CUDA_TOTAL", 16ull << 30),
        .others = fake_round_up(setting("FAKE_CUDA_OTHERS", 0), FAKE_GRANULE),
    };
}

/* As in the driver, the first number in CUDA_VISIBLE_DEVICES without a device ends the list. */
static void find_devices(void)
{
    const unsigned long machine = setting("FAKE_CUDA_DEVICES", 2);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        for (unsigned i = 0; i < machine && i < FAKE_DEVICES; i++) add_device(i);
        return;
    }
    for (char *end; count < FAKE_DEVICES; visible = end + 1) {
        const unsigned long number = strtoul(visible, &end, 10);
        if (end == visible || number >= machine) return;
        add_device((unsigned)number);
        if (*end != ',') return;
    }
}

unsigned fake_device_count(void)
{
    pthread_once(&once, find_devices);
    return count;
}

struct fake_device *fake_device(CUdevice device)
{
    return device >= 0 && (unsigned)device < fake_device_count() ? &devices[device] : NULL;
}

/* ---- physical memory ---- */

static uint64_t used_with(const struct fake_device *d, uint64_t whole, uint64_t packed)
{
    return d->others + whole + fake_round_up(packed, FAKE_GRANULE);
}

uint64_t fake_used(const struct fake_device *d) { return used_with(d, d->whole, d->packed); }

static bool take(struct fake_device *d, uint64_t bytes)
{
    const bool small = bytes < FAKE_GRANULE;
    if (bytes > d->total) return false;
    const uint64_t whole = d->whole + (small ? 0 : fake_round_up(bytes, FAKE_GRANULE));
    const uint64_t packed = d->packed + (small ? bytes : 0);
    if (used_with(d, whole, packed) > d->total) return false;
    d->whole = whole;
    d->packed = packed;
    return true;
}

/* If there is too little memory, the driver trims pools, as seen on an H200. */
bool fake_take(struct fake_device *d, uint64_t bytes)
{
    return take(d, bytes) || (fake_pools_trim(d) && take(d, bytes));
}

void fake_give(struct fake_device *d, uint64_t bytes)
{
    if (bytes < FAKE_GRANULE) d->packed -= bytes;
    else d->whole -= fake_round_up(bytes, FAKE_GRANULE);
}

/* ---- addresses: a stack of free ones, in a part of the address space that the host does not use
 * ---- */

enum { FREE_ADDRESSES = 1 << 16, ADDRESS_UNIT = 512 };
static struct {
    CUdeviceptr address;
    uint64_t bytes;
} given_back[FREE_ADDRESSES];
static unsigned free_count;
static CUdeviceptr next_address = 0x200000000000;

static uint64_t span(uint64_t bytes)
{
    return fake_round_up(bytes, bytes < FAKE_GRANULE ? ADDRESS_UNIT : FAKE_GRANULE);
}

CUdeviceptr fake_address_take(uint64_t bytes)
{
    for (unsigned i = free_count; i-- > 0;) {
        if (given_back[i].bytes != span(bytes)) continue;
        const CUdeviceptr address = given_back[i].address;
        memmove(&given_back[i], &given_back[i + 1], (--free_count - i) * sizeof given_back[0]);
        return address;
    }
    if (bytes >= FAKE_GRANULE) next_address = fake_round_up(next_address, FAKE_GRANULE);
    const CUdeviceptr address = next_address;
    next_address += span(bytes);
    return address;
}

void fake_address_give(CUdeviceptr address, uint64_t bytes)
{
    if (free_count == FREE_ADDRESSES) return;
    given_back[free_count].address = address;
    given_back[free_count++].bytes = span(bytes);
}

/* ---- attributes ---- */

static void make_uuid(unsigned number, unsigned char uuid[16])
{
    for (unsigned i = 0; i < 16; i++) uuid[i] = (unsigned char)(0x10 * i + number);
}

static void make_pci(unsigned number, char text[FAKE_PCI_TEXT])
{
    snprintf(text, FAKE_PCI_TEXT, "0000:%02X:00.0", (number + 1) & 0xff);
}

static bool is_shared(void) { return getenv("FAKE_CUDA_SHARED") != NULL; }

FAKE_EXPORT bool fake_cuda_usage(unsigned n, struct fake_usage *out)
{
    const struct fake_device *d = fake_device((CUdevice)n);
    if (!d) return false;
    fake_lock();
    *out = (struct fake_usage){ .total = d->total,
                                .used = fake_used(d),
                                .own = fake_used(d) - d->others };
    fake_unlock();
    unsigned char u[16];
    make_uuid(d->number, u);
    snprintf(out->uuid, sizeof out->uuid,
             "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             getenv("FAKE_CUDA_MIG") ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5], u[6],
             u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    out->has_nvml_figures = !is_shared();
    make_pci(d->number, out->pci);
    return true;
}

CUresult fake_device_get(CUdevice *out, int ordinal)
{
    if (!fake_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return CUDA_SUCCESS;
}

CUresult fake_device_name(char *name, int length, CUdevice device)
{
    if (!fake_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)length, "Stand-in GPU");
    return CUDA_SUCCESS;
}

CUresult fake_device_uuid(CUuuid *uuid, CUdevice device)
{
    const struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    make_uuid(d->number, (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult fake_device_total(size_t *bytes, CUdevice device)
{
    const struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = d->total;
    return CUDA_SUCCESS;
}

CUresult fake_device_pci(char *text, int length, CUdevice device)
{
    const struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (length < FAKE_PCI_TEXT) return CUDA_ERROR_INVALID_VALUE;
    make_pci(d->number, text);
    return CUDA_SUCCESS;
}

CUresult fake_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (!fake_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: *value = is_shared(); break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = FAKE_PROCESSORS; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = FAKE_PROCESSOR_THREADS; break;
    case CU_DEVICE_ATTRIBUTE_NUMA_CONFIG: *value = getenv("FAKE_CUDA_NODE") != NULL; break;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID: *value = (int)setting("FAKE_CUDA_NODE", 0); break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}
