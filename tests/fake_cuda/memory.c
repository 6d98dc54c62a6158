/* Allocations that each are one block: device, managed, pinned and registered memory, arrays. */
#include <stdlib.h>
#include <sys/mman.h>

#include "fake.h"

enum { PITCH_UNIT = 512 };

CUresult fake_mem_alloc(CUdeviceptr *out, size_t bytes)
{
    struct fake_device *d = fake_current_device();
    if (!d) return CUDA_ERROR_INVALID_CONTEXT;
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    const CUresult refused = fake_capture_unsafe();
    if (refused) return refused;
    if (!fake_take(d, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = fake_address_take(bytes);
    return fake_block_add((struct fake_block){ *out, bytes, FAKE_DEVICE, fake_current() });
}

CUresult fake_mem_alloc_pitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height)
{
    *pitch = fake_round_up(width, PITCH_UNIT);
    return fake_mem_alloc(out, *pitch * height);
}

/* Allocates memory that the host can read and write. */
static CUresult host_block(CUdeviceptr *out, size_t bytes, enum fake_kind kind)
{
    if (!fake_current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    const CUresult refused = fake_capture_unsafe();
    if (refused) return refused;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUdeviceptr)mapped;
    return fake_block_add((struct fake_block){ *out, bytes, kind, fake_current() });
}

CUresult fake_mem_alloc_managed(CUdeviceptr *out, size_t bytes)
{
    return host_block(out, bytes, FAKE_MANAGED);
}

CUresult fake_host_alloc(void **out, size_t bytes)
{
    return host_block((CUdeviceptr *)out, bytes, FAKE_PINNED);
}

CUresult fake_mem_free(CUdeviceptr address)
{
    if (!fake_current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!address) return CUDA_SUCCESS;
    struct fake_block *block = fake_block_find(address);
    if (!block || block->kind == FAKE_PINNED || block->kind == FAKE_REGISTERED ||
        block->kind == FAKE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    fake_block_free(block);
    return CUDA_SUCCESS;
}

CUresult fake_host_register(void *address, size_t bytes)
{
    if (!fake_current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!address || !bytes) return CUDA_ERROR_INVALID_VALUE;
    if (fake_block_around((CUdeviceptr)address)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return fake_block_add(
        (struct fake_block){ (CUdeviceptr)address, bytes, FAKE_REGISTERED, fake_current() });
}

CUresult fake_host_free(void *address, enum fake_kind kind)
{
    struct fake_block *block = fake_block_find((CUdeviceptr)address);
    if (block && block->kind == kind) {
        fake_block_free(block);
        return CUDA_SUCCESS;
    }
    return kind == FAKE_REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
                                   : CUDA_ERROR_INVALID_VALUE;
}

/* ---- arrays: the handle is a piece of host memory that refers to the block ---- */

struct CUarray_st {
    CUdeviceptr address;
};

static uint64_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    switch (shape->Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return shape->NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2 * shape->NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4 * shape->NumChannels;
    default: return 0;
    }
}

static uint64_t side(size_t length, unsigned level)
{
    return length >> level ? length >> level : 1;
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < levels; i++)
        bytes += side(shape->Width, i) * side(shape->Height, i) * side(shape->Depth, i) *
                 element_bytes(shape);
    return bytes;
}

CUresult fake_array_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    struct CUarray_st array;
    const CUresult result = fake_mem_alloc(&array.address, array_bytes(shape, levels));
    if (result) return result;
    fake_block_find(array.address)->kind = FAKE_ARRAY;
    *out = malloc(sizeof array);
    if (!*out) abort();
    **out = array;
    return CUDA_SUCCESS;
}

CUresult fake_flat_array_create(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *shape)
{
    const CUDA_ARRAY3D_DESCRIPTOR whole = { shape->Width,  shape->Height,      0,
                                            shape->Format, shape->NumChannels, 0 };
    return fake_array_create(out, &whole, 1);
}

CUresult fake_array_destroy(CUarray array)
{
    struct fake_block *block = fake_block_find(array->address);
    if (!block || block->kind != FAKE_ARRAY) return CUDA_ERROR_INVALID_HANDLE;
    fake_block_free(block);
    free(array);
    return CUDA_SUCCESS;
}

/* ---- attributes of an address ---- */

static CUdevice device_of(const struct fake_block *block)
{
    return block->pool ? block->pool->device : block->context ? block->context->device : 0;
}

CUresult fake_pointer_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    const struct fake_block *b = fake_block_around(address);
    if (!b) return CUDA_ERROR_INVALID_VALUE;
    const bool host = b->kind == FAKE_PINNED || b->kind == FAKE_REGISTERED;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)value = b->context; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = address; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = b->kind == FAKE_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = device_of(b); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)value = b->address; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)value = b->size; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)value = b->pool; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* As documented, an address that the driver does not know, or an attribute that it does not have,
 * gives zeros and is not an error. */
CUresult fake_pointer_attributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                 CUdeviceptr address)
{
    for (unsigned i = 0; i < count; i++) {
        if (fake_pointer_attribute(values[i], attributes[i], address) == CUDA_SUCCESS) continue;
        switch (attributes[i]) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(uint64_t *)values[i] = 0; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)values[i] = -2; break;
        default: *(unsigned *)values[i] = 0;
        }
    }
    return CUDA_SUCCESS;
}

CUresult fake_address_range(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    const struct fake_block *b = fake_block_around(address);
    if (!b) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = b->address;
    if (size) *size = b->size;
    return CUDA_SUCCESS;
}
