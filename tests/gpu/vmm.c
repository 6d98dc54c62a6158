/* Physical memory with handles lives until the last reference and the last mapping are removed. */
#include <unistd.h>

#include "steps.h"

#define PIECE (2 * MIB)

static const CUmemAllocationProp prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, bytes, &prop, 0));
    counters.device += bytes;
    return handle;
}

static void map(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle handle)
{
    OK(cuMemMap(address, bytes, 0, handle, 0));
    OK(cuMemSetAccess(address, bytes,
                      &(CUmemAccessDesc){ prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE }, 1));
}

static void step_freed(size_t bytes, const char *name)
{
    counters.device -= bytes;
    step(name);
}

static void mapping_outlives_handle(CUdeviceptr at)
{
    const CUmemGenericAllocationHandle handle = create(PIECE);
    step("create");
    map(at, PIECE, handle);
    OK(cuMemRelease(handle));
    step("released-while-mapped");
    OK(cuMemUnmap(at, PIECE));
    step_freed(PIECE, "unmapped-last");
}

/* As in NCCL, the owner asks for the handle of an address and releases it later. */
static void retained(CUdeviceptr at)
{
    CUmemGenericAllocationHandle handle = create(PIECE), again;
    map(at, PIECE, handle);
    OK(cuMemRelease(handle));
    OK(cuMemRetainAllocationHandle(&again, (void *)(at + PIECE / 2)));
    step("retained");
    OK(cuMemUnmap(at, PIECE));
    step("unmapped-while-retained");
    OK(cuMemRelease(again));
    step_freed(PIECE, "released-last");
}

/* An import is a reference to memory that another process created, here to this process's own
 * memory. No call shows that both are the same memory, so the original handle must be released last
 * for the log to be right. */
static void imported(CUdeviceptr at)
{
    const CUmemGenericAllocationHandle handle = create(3 * PIECE);
    CUmemGenericAllocationHandle twin;
    int fd;
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    step("exported");
    OK(cuMemImportFromShareableHandle(&twin, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    step("imported");
    map(at, 3 * PIECE, twin);
    OK(cuMemUnmap(at, 3 * PIECE));
    OK(cuMemRelease(twin));
    step("import-released");
    OK(cuMemRelease(handle));
    step_freed(3 * PIECE, "exported-released");
}

/* Most machines have no fabric. PyTorch and NCCL ask once, and then continue without it. */
static void fabric_probe(void)
{
    CUmemAllocationProp fabric = prop;
    fabric.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    CUmemGenericAllocationHandle handle;
    const CUresult result = cuMemCreate(&handle, PIECE, &fabric, 0);
    if (result == CUDA_SUCCESS) OK(cuMemRelease(handle));
    CHECK(result != CUDA_ERROR_OUT_OF_MEMORY);
    step("fabric-probe");
}

enum { PIECES = 64 };

/* As with PyTorch's expandable segments, pieces are mapped one after the other, and unmapped from
 * the middle. */
static void expandable(void)
{
    CUdeviceptr base;
    CUmemGenericAllocationHandle handles[PIECES];
    OK(cuMemAddressReserve(&base, 4 * PIECES * PIECE, 0, 0, 0));
    step("segment-reserved");
    for (size_t i = 0; i < PIECES; i++) {
        handles[i] = create(PIECE);
        map(base + i * PIECE, PIECE, handles[i]);
    }
    step("segment-mapped");
    for (size_t i = PIECES / 4; i < PIECES / 2; i++) {
        OK(cuMemUnmap(base + i * PIECE, PIECE));
        OK(cuMemRelease(handles[i]));
        counters.device -= PIECE;
    }
    step("segment-hole");
    REFUSED(cuMemUnmap(base, PIECE / 2), CUDA_ERROR_INVALID_VALUE);
    step("segment-half-a-piece");
    for (size_t i = 0; i < PIECES; i++) {
        if (i < PIECES / 4 || i >= PIECES / 2) OK(cuMemRelease(handles[i]));
    }
    step("segment-released");
    OK(cuMemUnmap(base, PIECES / 4 * PIECE));
    step_freed(PIECES / 4 * PIECE, "segment-unmapped-front");
    OK(cuMemUnmap(base + PIECES / 2 * PIECE, PIECES / 2 * PIECE));
    step_freed(PIECES / 2 * PIECE, "segment-unmapped-back");
    OK(cuMemAddressFree(base, 4 * PIECES * PIECE));
    step("segment-gone");
}

static void on_host(void)
{
    CUmemAllocationProp host = prop;
    host.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, PIECE, &host, 0));
    counters.pinned += PIECE;
    step("host-handle");
    OK(cuMemRelease(handle));
    counters.pinned -= PIECE;
    step("host-handle-released");
}

int main(void)
{
    steps_start();
    CUdeviceptr at;
    OK(cuMemAddressReserve(&at, 4 * PIECE, 0, 0, 0));
    step("start");
    mapping_outlives_handle(at);
    retained(at);
    imported(at);
    fabric_probe();
    expandable();
    on_host();
    OK(cuMemAddressFree(at, 4 * PIECE));
    step("end");
    return 0;
}
