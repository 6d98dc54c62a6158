/* Physical memory with handles. A physical object lives while a handle has references or a mapping
 * uses it. A handle is removed when its count is 0, and its number is reused. An import creates
 * another handle of the same object. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"

struct physical {
    struct fake_device *device; /* NULL for host memory, or for an object without memory */
    CUmemAllocationProp prop;
    uint64_t size;
    unsigned uses;          /* number of handles, mappings and multicast objects that use it */
    ino_t exported;         /* inode of the exported descriptor, or 0 */
    struct physical *bound; /* the memory of a multicast object */
};

enum { HANDLES = 1 << 16, MAPPINGS = 1 << 16, RESERVATIONS = 1024, FIRST_HANDLE = 0x1000 };
static struct {
    struct physical *object;
    unsigned references;
} handles[HANDLES];
static struct {
    CUdeviceptr address;
    uint64_t size;
    struct physical *object;
} mappings[MAPPINGS];
static struct {
    CUdeviceptr address;
    uint64_t size;
} reservations[RESERVATIONS];
static unsigned mapping_count, reservation_count;

/* ---- objects and handles ---- */

static void drop(struct physical *object)
{
    if (--object->uses) return;
    if (object->bound) drop(object->bound);
    if (object->device) fake_give(object->device, object->size);
    free(object);
}

static struct physical *object_of(CUmemGenericAllocationHandle handle)
{
    const unsigned long long i = handle - FIRST_HANDLE;
    return i < HANDLES && handles[i].references ? handles[i].object : NULL;
}

static CUresult new_handle(CUmemGenericAllocationHandle *out, struct physical *object)
{
    unsigned i = 0;
    while (i < HANDLES && handles[i].references) i++;
    if (i == HANDLES) return CUDA_ERROR_OUT_OF_MEMORY;
    handles[i].object = object;
    handles[i].references = 1;
    object->uses++;
    *out = FIRST_HANDLE + i;
    return CUDA_SUCCESS;
}

static struct physical *new_object(uint64_t size)
{
    struct physical *object = calloc(1, sizeof *object);
    if (!object) abort();
    object->size = size;
    return object;
}

CUresult fake_vmm_create(CUmemGenericAllocationHandle *out, size_t size,
                         const CUmemAllocationProp *prop)
{
    if (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_PERMITTED;
    if (!size || size % FAKE_GRANULE) return CUDA_ERROR_INVALID_VALUE;
    const bool host = prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    struct fake_device *d = host ? NULL : fake_device(prop->location.id);
    if (!host && !d) return CUDA_ERROR_INVALID_DEVICE;
    if (d && !fake_take(d, size)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct physical *object = new_object(size);
    object->device = d;
    object->prop = *prop;
    return new_handle(out, object);
}

CUresult fake_vmm_release(CUmemGenericAllocationHandle handle)
{
    struct physical *object = object_of(handle);
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    if (--handles[handle - FIRST_HANDLE].references == 0) drop(object);
    return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *out, struct physical *object)
{
    for (unsigned i = 0; i < HANDLES; i++) {
        if (!handles[i].references || handles[i].object != object) continue;
        handles[i].references++;
        *out = FIRST_HANDLE + i;
        return CUDA_SUCCESS;
    }
    return new_handle(out, object);
}

static struct physical *object_at(CUdeviceptr address)
{
    for (unsigned i = 0; i < mapping_count; i++) {
        if (address - mappings[i].address < mappings[i].size) return mappings[i].object;
    }
    return NULL;
}

CUresult fake_vmm_retain(CUmemGenericAllocationHandle *out, CUdeviceptr address)
{
    struct physical *object = object_at(address);
    return object ? retain(out, object) : CUDA_ERROR_INVALID_VALUE;
}

/* The exported descriptor is that of an empty file. Its inode identifies the object, because it
 * survives dup and the transfer of descriptors between processes. */
CUresult fake_vmm_export(void *out, CUmemGenericAllocationHandle handle,
                         CUmemAllocationHandleType type)
{
    struct physical *object = object_of(handle);
    if (!object || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(object->prop.requestedHandleTypes & type))
        return CUDA_ERROR_INVALID_VALUE;
    const int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status)) return CUDA_ERROR_OPERATING_SYSTEM;
    object->exported = status.st_ino;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult fake_vmm_import(CUmemGenericAllocationHandle *out, void *os_handle,
                         CUmemAllocationHandleType type)
{
    struct stat status;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        fstat((int)(intptr_t)os_handle, &status))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < HANDLES; i++) {
        if (handles[i].references && handles[i].object->exported == status.st_ino)
            return new_handle(out, handles[i].object);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_vmm_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    const struct physical *object = object_of(handle);
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    *prop = object->prop;
    return CUDA_SUCCESS;
}

CUresult fake_vmm_granularity(size_t *out, const CUmemAllocationProp *prop)
{
    if (!prop) return CUDA_ERROR_INVALID_VALUE;
    *out = FAKE_GRANULE;
    return CUDA_SUCCESS;
}

/* ---- addresses ---- */

static bool within_reservation(CUdeviceptr address, uint64_t size)
{
    for (unsigned i = 0; i < reservation_count; i++) {
        const uint64_t offset = address - reservations[i].address;
        if (offset < reservations[i].size && size <= reservations[i].size - offset) return true;
    }
    return false;
}

/* Returns the mapped bytes of the range, or UINT64_MAX if a mapping extends beyond it. */
static uint64_t mapped(CUdeviceptr address, uint64_t size)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < mapping_count; i++) {
        const CUdeviceptr from = mappings[i].address, to = from + mappings[i].size;
        if (to <= address || from >= address + size) continue;
        if (from < address || to > address + size) return UINT64_MAX;
        sum += mappings[i].size;
    }
    return sum;
}

CUresult fake_vmm_map(CUdeviceptr address, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle)
{
    struct physical *object = object_of(handle);
    if (!object || offset || size != object->size) return CUDA_ERROR_INVALID_VALUE;
    if (!within_reservation(address, size) || mapped(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    if (mapping_count == MAPPINGS) return CUDA_ERROR_OUT_OF_MEMORY;
    mappings[mapping_count].address = address;
    mappings[mapping_count].size = size;
    mappings[mapping_count++].object = object;
    object->uses++;
    return CUDA_SUCCESS;
}

CUresult fake_vmm_unmap(CUdeviceptr address, size_t size)
{
    if (!size || mapped(address, size) != size) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = mapping_count; i-- > 0;) {
        if (mappings[i].address - address >= size) continue;
        drop(mappings[i].object);
        mappings[i] = mappings[--mapping_count];
    }
    return CUDA_SUCCESS;
}

CUresult fake_vmm_access(CUdeviceptr address, size_t size)
{
    return size && mapped(address, size) == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_vmm_reserve(CUdeviceptr *out, size_t size)
{
    if (!size || size % FAKE_GRANULE) return CUDA_ERROR_INVALID_VALUE;
    if (reservation_count == RESERVATIONS) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = fake_address_take(size);
    reservations[reservation_count].address = *out;
    reservations[reservation_count++].size = size;
    return CUDA_SUCCESS;
}

CUresult fake_vmm_unreserve(CUdeviceptr address, size_t size)
{
    unsigned i = 0;
    while (i < reservation_count && reservations[i].address != address) i++;
    if (i == reservation_count || reservations[i].size != size) return CUDA_ERROR_INVALID_VALUE;
    if (mapped(address, size)) return CUDA_ERROR_INVALID_VALUE;
    fake_address_give(address, size);
    reservations[i] = reservations[--reservation_count];
    return CUDA_SUCCESS;
}

/* ---- multicast objects: they are mapped like memory but have none; they keep the memory that is
 * bound to them ---- */

CUresult fake_multicast_create(CUmemGenericAllocationHandle *out, const CUmulticastObjectProp *prop)
{
    if (prop->handleTypes & CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_PERMITTED;
    if (!prop->size || prop->size % FAKE_GRANULE) return CUDA_ERROR_INVALID_VALUE;
    return new_handle(out, new_object(prop->size));
}

static CUresult bind(CUmemGenericAllocationHandle cast, struct physical *object)
{
    struct physical *to = object_of(cast);
    if (!to || !object || to->bound) return CUDA_ERROR_INVALID_VALUE;
    to->bound = object;
    object->uses++;
    return CUDA_SUCCESS;
}

CUresult fake_multicast_bind(CUmemGenericAllocationHandle cast, CUmemGenericAllocationHandle handle)
{
    return bind(cast, object_of(handle));
}

CUresult fake_multicast_bind_address(CUmemGenericAllocationHandle cast, CUdeviceptr address)
{
    return bind(cast, object_at(address));
}

CUresult fake_multicast_unbind(CUmemGenericAllocationHandle cast)
{
    struct physical *object = object_of(cast);
    if (!object || !object->bound) return CUDA_ERROR_INVALID_VALUE;
    drop(object->bound);
    object->bound = NULL;
    return CUDA_SUCCESS;
}
