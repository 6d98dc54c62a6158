/* Calls of NVTX's memory extension are recorded, also with descriptions that no header creates. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/names.h"
#include "double.h"
#include "emitter.h"
#include "mpf/event.h"
#include "mpf/sample.h"

int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

#define HEAD(struct_, kind)                                                                        \
    {                                                                                              \
        NVTX_MEMORY_COMPATIBLE, sizeof(struct_), kind                                              \
    }
#define AT(n) ((const void *)(uintptr_t)(0x1000 * (n)))

static int inject(void **state)
{
    (void)state;
    double_active = 1;
    double_reset();
    mp_names_reset();
    emitter_compatible = NVTX_MEMORY_COMPATIBLE;
    return !emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_MEMORY);
}

static struct nvtx_heap heap_of(const struct nvtx_range *range)
{
    return (struct nvtx_heap){ .head = HEAD(struct nvtx_heap, 0),
                               .usage = 1,
                               .type = NVTX_VIRTUAL_ADDRESS,
                               .of_bytes = sizeof *range,
                               .range = range,
                               .message_type = NVTX_MESSAGE_ASCII,
                               .message.ascii = "arena" };
}

static void a_heaps_handle_is_its_address(void **state)
{
    (void)state;
    const struct nvtx_range range = { 4096, AT(7) };
    const struct nvtx_heap heap = heap_of(&range);
    uint64_t v[MPF_NVTX_COUNT];
    errno = 7;
    assert_ptr_equal(emit_memory.MemHeapRegister(NULL, &heap), AT(7));
    assert_int_equal(errno, 7);
    const struct double_event *e = double_last(MPF_OP_NVTX_HEAP);
    assert_int_equal(e->addr, 0x7000);
    memcpy(v, e->data, sizeof v);
    assert_int_equal(v[MPF_NVTX_BYTES], 4096);
    assert_int_equal(v[MPF_NVTX_NAME], double_id(MPF_OP_NAME, "arena"));
}

/* For these kinds neither the address nor the size is known. */
static void heaps_of_other_kinds_have_no_handle(void **state)
{
    (void)state;
    const struct nvtx_range range = { 4096, AT(7) }, nowhere = { 4096, NULL };
    struct nvtx_heap heap[] = { heap_of(&range), heap_of(&range), heap_of(&range),
                                heap_of(&range), heap_of(NULL),   heap_of(&nowhere) };
    heap[0].type = 0x11;
    heap[1].of_bytes = sizeof range - 1;
    heap[2].head.bytes = sizeof *heap - 1;
    heap[3].head.compatible++;
    for (size_t i = 0; i < sizeof heap / sizeof *heap; i++)
        assert_null(emit_memory.MemHeapRegister(NULL, &heap[i]));
    assert_null(emit_memory.MemHeapRegister(NULL, NULL));
    assert_int_equal(double_total(), 0);
}

/* Longer structs, as a later version may have. */
struct longer {
    struct nvtx_range range;
    uint64_t more;
};

static void longer_elements_are_skipped_by_their_size(void **state)
{
    (void)state;
    const struct longer element[] = { { { 10, AT(1) }, 0 }, { { 20, AT(2) }, 0 } };
    const void *handle[2] = { NULL, NULL };
    const struct nvtx_regions batch = { HEAD(struct nvtx_regions, NVTX_VIRTUAL_ADDRESS),
                                        (void *)AT(7),
                                        2,
                                        sizeof *element,
                                        element,
                                        handle };
    emit_memory.MemRegionsRegister(NULL, &batch);
    assert_int_equal(double_at(0)->op, MPF_OP_NVTX_IN);
    assert_int_equal(double_at(0)->addr, 0x7000);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(double_at(1 + i)->op, MPF_OP_ALLOC);
        assert_int_equal(double_at(1 + i)->addr, 0x1000 * (i + 1));
        assert_int_equal(double_at(1 + i)->size, 10 * (i + 1));
        assert_ptr_equal(handle[i], AT(i + 1));
    }
    assert_int_equal(double_total(), 3);
}

static void a_resize_is_one_change(void **state)
{
    (void)state;
    const struct nvtx_range range = { 30, AT(1) };
    const struct nvtx_resizes batch = { HEAD(struct nvtx_resizes, NVTX_VIRTUAL_ADDRESS), 1,
                                        sizeof range, &range };
    emit_memory.MemRegionsResize(NULL, &batch);
    assert_int_equal(double_at(0)->op, MPF_OP_MOVE_BEGIN);
    assert_int_equal(double_at(1)->op, MPF_OP_MOVE_END);
    assert_int_equal(double_at(1)->addr, 0x1000);
    assert_int_equal(double_at(1)->size, 30);
    assert_int_equal(double_total(), 2);
}

static void regions_are_known_by_address_or_handle(void **state)
{
    (void)state;
    const void *region[] = { AT(1), NULL, AT(2) };
    struct nvtx_references batch = { HEAD(struct nvtx_references, NVTX_BY_ADDRESS), 3,
                                     sizeof *region, region };
    emit_memory.MemRegionsUnregister(NULL, &batch);
    batch.head.kind = NVTX_BY_HANDLE;
    emit_memory.MemRegionsUnregister(NULL, &batch);
    assert_int_equal(double_count(MPF_OP_FREE), 4);
    batch.head.kind = 3;
    emit_memory.MemRegionsUnregister(NULL, &batch);
    assert_int_equal(double_count(MPF_OP_FREE), 4);
    const struct nvtx_region_name name = { .reference = NVTX_BY_HANDLE,
                                           .message_type = NVTX_MESSAGE_UNICODE,
                                           .region = AT(2),
                                           .message.unicode = L"weights" };
    const struct nvtx_names names = { HEAD(struct nvtx_names, 0), 1, sizeof name, &name, 0 };
    emit_memory.MemRegionsName(NULL, &names);
    assert_int_equal(double_last(MPF_OP_NVTX_NAME)->addr, 0x2000);
    assert_int_equal(double_last(MPF_OP_NVTX_NAME)->size, double_id(MPF_OP_NAME, "weights"));
}

/* Ends one heap and empties another one. The process heap can only be emptied. */
static void ended_heaps_free_their_regions(void **state)
{
    (void)state;
    emit_memory.MemHeapReset(NULL, NULL);
    assert_int_equal(double_last(MPF_OP_NVTX_HEAP_END)->size, 1);
    emit_memory.MemHeapUnregister(NULL, NULL);
    assert_int_equal(double_total(), 1);
    emit_memory.MemHeapUnregister(NULL, (void *)AT(7));
    assert_int_equal(double_last(MPF_OP_NVTX_HEAP_END)->addr, 0x7000);
    assert_int_equal(double_last(MPF_OP_NVTX_HEAP_END)->size, 0);
}

static void descriptions_of_other_versions_are_ignored(void **state)
{
    (void)state;
    const struct nvtx_range range = { 30, AT(1) };
    const struct nvtx_regions good = {
        HEAD(struct nvtx_regions, NVTX_VIRTUAL_ADDRESS), NULL, 1, sizeof range, &range, NULL
    };
    struct nvtx_regions bad[] = { good, good, good, good, good };
    bad[0].head.bytes--;
    bad[1].head.compatible = 0x0101;
    bad[2].head.kind = 0x12;
    bad[3].element_bytes--;
    bad[4].elements = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        emit_memory.MemRegionsRegister(NULL, &bad[i]);
    emit_memory.MemRegionsRegister(NULL, NULL);
    emit_memory.MemRegionsResize(NULL, NULL);
    emit_memory.MemRegionsUnregister(NULL, NULL);
    emit_memory.MemRegionsName(NULL, NULL);
    assert_int_equal(double_total(), 0);
    emit_memory.MemRegionsRegister(NULL, &good);
    assert_int_equal(double_count(MPF_OP_ALLOC), 1);
}

static void another_version_of_the_extension_is_not_served(void **state)
{
    (void)state;
    emitter_compatible = 0x0103;
    assert_false(emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_MEMORY));
    assert_null(emit_memory.MemHeapRegister);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_heaps_handle_is_its_address, inject),
        cmocka_unit_test_setup(heaps_of_other_kinds_have_no_handle, inject),
        cmocka_unit_test_setup(longer_elements_are_skipped_by_their_size, inject),
        cmocka_unit_test_setup(a_resize_is_one_change, inject),
        cmocka_unit_test_setup(regions_are_known_by_address_or_handle, inject),
        cmocka_unit_test_setup(ended_heaps_free_their_regions, inject),
        cmocka_unit_test_setup(descriptions_of_other_versions_are_ignored, inject),
        cmocka_unit_test_setup(another_version_of_the_extension_is_not_served, inject),
    };
    return cmocka_run_group_tests_name("nvtx_memory", tests, NULL, NULL);
}
