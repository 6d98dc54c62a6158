/* The plug-in of sleep.py, similar to vLLM's CuMemAllocator and torch_memory_saver: each segment is
 * a reservation whose physical memory can be released and allocated again. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 };
static struct segment {
    CUdeviceptr at;
    size_t size;
    CUmemGenericAllocationHandle handle;
    int tag, awake;
} segment[MOST];
static int segments, tag;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult status_ = (call);                                                                 \
        if (status_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "%s: %d\n", #call, status_);                                           \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static CUmemAllocationProp of_device(void)
{
    CUdevice device;
    CHECK(cuCtxGetDevice(&device));
    return (
        CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } };
}

static void create_and_map(struct segment *s)
{
    const CUmemAllocationProp prop = of_device();
    const CUmemAccessDesc access = { .location = prop.location,
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CHECK(cuMemCreate(&s->handle, s->size, &prop, 0));
    CHECK(cuMemMap(s->at, s->size, 0, s->handle, 0));
    CHECK(cuMemSetAccess(s->at, s->size, &access, 1));
    s->awake = 1;
}

static void unmap_and_release(struct segment *s)
{
    CHECK(cuMemUnmap(s->at, s->size));
    CHECK(cuMemRelease(s->handle));
    s->awake = 0;
}

static void *take(size_t size)
{
    const CUmemAllocationProp prop = of_device();
    size_t granule;
    CHECK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    struct segment *s = &segment[segments++];
    s->size = (size + granule - 1) / granule * granule;
    s->tag = tag;
    CHECK(cuMemAddressReserve(&s->at, s->size, granule, 0, 0));
    create_and_map(s);
    return (void *)s->at;
}

static int give(void *at)
{
    for (int i = 0; i < segments; i++)
        if (segment[i].at == (CUdeviceptr)at) {
            if (segment[i].awake) unmap_and_release(&segment[i]);
            CHECK(cuMemAddressFree(segment[i].at, segment[i].size));
            segment[i] = segment[--segments];
            return 1;
        }
    return 0;
}

/* ---- functions that the program calls */

void plugin_tag(int number) { tag = number; }
/* number 0: all tags */
void plugin_sleep(int number)
{
    for (int i = 0; i < segments; i++)
        if (segment[i].awake && (!number || segment[i].tag == number))
            unmap_and_release(&segment[i]);
}
void plugin_wake(int number)
{
    for (int i = 0; i < segments; i++)
        if (!segment[i].awake && (!number || segment[i].tag == number)) create_and_map(&segment[i]);
}
size_t plugin_bytes(int awake)
{
    size_t bytes = 0;
    for (int i = 0; i < segments; i++)
        if (segment[i].awake == awake) bytes += segment[i].size;
    return bytes;
}

void *my_malloc(ssize_t size, int device, void *stream)
{
    (void)device, (void)stream;
    return take((size_t)size);
}
void my_free(void *at, ssize_t size, int device, void *stream)
{
    (void)size, (void)device, (void)stream;
    give(at);
}
