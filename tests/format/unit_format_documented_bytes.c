/* The bytes are those of FORMAT.md, written by hand. Existing logs have them, so if a test here
 * fails, the version must change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/columns.h"
#include "mpf/frame.h"
#include "mpf/header.h"
#include "mpf/sample.h"

enum { EVENTS = 8, SHIFT = 11 };

static struct mpf_slot slot(unsigned op, unsigned heap, uint64_t step, uint64_t addr, uint64_t size)
{
    return (struct mpf_slot){ step << SHIFT | 5, addr, mpf_slot_head(op, heap, 77, size) };
}

/* An event of each class except BLOCK, with numbers of more than one byte. */
static void events_of_each_class_have_the_documented_bytes(void **state)
{
    (void)state;
    void *memory = calloc(1, mpf_columns_memory(EVENTS));
    struct mpf_columns *c = mpf_columns_init(memory, EVENTS, SHIFT);
    // clang-format off
    const struct { struct mpf_slot slot; uint32_t thread; } event[] = {
        { slot(MPF_OP_THREAD, 0, 1, 300, 4), 1 },
        { slot(MPF_OP_FREE, 1, 1, 0x1230, 0), 1 },
        { slot(MPF_OP_FREE, 1, 1, 0x1000, 0), 200 },
        { slot(MPF_OP_MAP, 2, 1 + 1000, 0x2000, 4096), 200 },
        { slot(MPF_OP_UNMAP, 0, 1 + 1000, 0x2000, 0), 200 },
        { slot(MPF_OP_PUSH, 0, 1 + 1000, UINT64_C(3) << 32 | 4, 0), 200 },
    };
    // clang-format on
    const size_t count = sizeof event / sizeof *event;
    const struct mpf_clock from = { 0x0102, 0x0304, 0x0506 }, to = { 0x0708, 0x090a, 0x0b0c };
    mpf_columns_begin(c);
    for (size_t i = 0; i < count; i++)
        mpf_columns_add(c, &event[i].slot, event[i].thread, (const uint8_t *)"main");
    // clang-format off
    static const uint8_t golden[] = {
        2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 6, 5, 0, 0, 0, 0, 0, 0,
        8, 7, 0, 0, 0, 0, 0, 0, 10, 9, 0, 0, 0, 0, 0, 0, 12, 11, 0, 0, 0, 0, 0, 0,
        6, 0, 0, 0, 11, 5, 0, 0,                                    /* events, shift, pairs */
        6, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0,
        26, 0, 5, 2, 1, 2, 8, 2, 3, 10, 0, 3, 16, 0, 4,             /* operation, heap, class */
        0, 1, 1, 2, 3, 4,                                           /* ops */
        1, 2, 0xc8, 1, 4, /* thread 1 twice, thread 200 four times */
        1, 3, 0xe8, 7, 3, /* step 1 thrice, 1000 steps later thrice */
        0, 0xc6, 4, 0, 0x45, /* no age: zigzag(0x123), zigzag(0x100 - 0x123) */
        0x80, 8, 0x80, 0x20,                                        /* zigzag(0x200), 4096 */
        0, 0,                                                       /* the same address, 0 */
        0x84, 0x80, 0x80, 0x80, 0x30, 0,                            /* 3 << 32 | 4, 0 */
        0xac, 2, 4, 'm', 'a', 'i', 'n',
    };
    // clang-format on
    uint8_t body[1024];
    const long n = mpf_columns_finish(c, &from, &to, body, sizeof body);
    free(memory);
    assert_int_equal(n, sizeof golden);
    assert_memory_equal(body, golden, sizeof golden);
}

static void frame_headers_have_the_documented_bytes(void **state)
{
    (void)state;
    uint8_t payload[MPF_FRAME_HEAD + 3], packed[256], back[sizeof payload];
    memset(payload, 0xff, sizeof payload);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    const struct mpf_frame frame = {
        .major = 1, .minor = 0, .kind = MPF_FRAME_END, .seq = 0x0102030405060708, .body_bytes = 3
    };
    const long n = mpf_frame_write(ctx, 1, &frame, payload, packed, sizeof packed);
    ZSTD_freeCCtx(ctx);
    assert_true(n > 0);
    // clang-format off
    static const uint8_t golden[] = { 'M', 'P', 'F', '1', 1, 0, 4, 0, 8, 7, 6, 5, 4, 3, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0,
                                      0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff };
    // clang-format on
    assert_int_equal(ZSTD_decompress(back, sizeof back, packed, (size_t)n), sizeof golden);
    assert_memory_equal(back, golden, sizeof golden);
    assert_int_equal(packed[4] >> 2 & 1, 1); /* Frame_Header_Descriptor: Content_Checksum_flag */
}

static void string_pairs_have_the_documented_bytes(void **state)
{
    (void)state;
    char bytes[64];
    struct mpf_pairs p;
    mpf_pairs_init(&p, bytes, sizeof bytes);
    mpf_pairs_add(&p, "rank", "");
    mpf_pairs_add_u64(&p, "pid", UINT64_MAX);
    static const char golden[] = "rank\0\0pid\0"
                                 "18446744073709551615";
    assert_int_equal(mpf_pairs_bytes(&p), sizeof golden);
    assert_memory_equal(bytes, golden, sizeof golden);
}

static void journal_fields_have_the_documented_offsets(void **state)
{
    (void)state;
    // clang-format off
    const size_t journal[] = { offsetof(struct mpf_journal, magic), offsetof(struct mpf_journal, major), offsetof(struct mpf_journal, head_bytes),
                               offsetof(struct mpf_journal, id), offsetof(struct mpf_journal, pid), offsetof(struct mpf_journal, start),
                               offsetof(struct mpf_journal, last), offsetof(struct mpf_journal, chunks), offsetof(struct mpf_journal, lost),
                               offsetof(struct mpf_journal, unused), offsetof(struct mpf_journal, unwritten.error), offsetof(struct mpf_journal, unwritten.from),
                               offsetof(struct mpf_journal, unwritten.to), offsetof(struct mpf_journal, unwritten.events),
                               offsetof(struct mpf_journal, unwritten.bytes),
                               offsetof(struct mpf_journal, flags), offsetof(struct mpf_journal, beat),
                               offsetof(struct mpf_journal, process.boot), offsetof(struct mpf_journal, process.pidns),
                               offsetof(struct mpf_journal, process.timens), offsetof(struct mpf_journal, process.started),
                               offsetof(struct mpf_journal, self.dev), offsetof(struct mpf_journal, self.ino),
                               offsetof(struct mpf_journal, log.dev), offsetof(struct mpf_journal, log.ino),
                               offsetof(struct mpf_journal, heir.dev), offsetof(struct mpf_journal, heir.ino) };
    // clang-format on
    const size_t chunk[] = { offsetof(struct mpf_chunk, seq),
                             offsetof(struct mpf_chunk, thread),
                             offsetof(struct mpf_chunk, state),
                             offsetof(struct mpf_chunk, tag),
                             offsetof(struct mpf_chunk, drained),
                             offsetof(struct mpf_chunk, drained_next),
                             offsetof(struct mpf_chunk, frame),
                             offsetof(struct mpf_chunk, slot),
                             MPF_CHUNK_SLOTS,
                             MPF_CHUNK_BYTES };
    // clang-format off
    assert_memory_equal(journal, ((const size_t[]){ 0, 8, 12, 24, 40, 48, 72, 96, 104, 112, 120, 128, 136, 144, 152,
                                                       160, 168, 176, 192, 200, 208, 216, 224, 232, 240, 248, 256 }), sizeof journal);
    assert_memory_equal(chunk, ((const size_t[]){ 0, 8, 12, 13, 16, 20, 24, 64, 1362, 32768 }), sizeof chunk);
    // clang-format on
}

static void slots_have_the_documented_bytes(void **state)
{
    (void)state;
    const struct mpf_slot s = { 0x0807060504030201, 0x100f0e0d0c0b0a09,
                                mpf_slot_head(MPF_OP_FREE, 3, 0x15, MPF_SIZE_MAX) };
    // clang-format off
    static const uint8_t golden[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 2, 3, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff };
    // clang-format on
    assert_int_equal(sizeof s, sizeof golden);
    assert_memory_equal(&s, golden, sizeof golden);
}

static void operations_have_the_documented_codes_and_classes(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *name; unsigned code; enum mpf_class class; } golden[] = {
        { "ALLOC", 1, MPF_CLASS_BLOCK }, { "FREE", 2, MPF_CLASS_REF }, { "MOVE_BEGIN", 3, MPF_CLASS_REF }, { "MOVE_END", 4, MPF_CLASS_BLOCK },
        { "FAIL", 5, MPF_CLASS_VALUE }, { "MAP", 8, MPF_CLASS_REGION }, { "RESERVE", 9, MPF_CLASS_REGION }, { "UNMAP", 10, MPF_CLASS_REGION },
        { "PROTECT_RW", 11, MPF_CLASS_REGION }, { "PROTECT_NONE", 12, MPF_CLASS_REGION }, { "REMAP_FROM", 13, MPF_CLASS_REGION },
        { "REMAP_TO", 14, MPF_CLASS_REGION }, { "PUSH", 16, MPF_CLASS_VALUE }, { "POP", 17, MPF_CLASS_VALUE }, { "RANGE_START", 18, MPF_CLASS_VALUE },
        { "RANGE_END", 19, MPF_CLASS_VALUE }, { "MARK", 20, MPF_CLASS_VALUE }, { "NAME", 24, MPF_CLASS_DATA }, { "DOMAIN", 25, MPF_CLASS_DATA },
        { "THREAD", 26, MPF_CLASS_DATA }, { "THREAD_NAME", 27, MPF_CLASS_DATA }, { "THREAD_END", 28, MPF_CLASS_VALUE },
        { "RANGE_DATA", 29, MPF_CLASS_DATA }, { "SAMPLE_RSS", 32, MPF_CLASS_DATA }, { "SAMPLE_CGROUP", 33, MPF_CLASS_DATA },
        { "SAMPLE_JEMALLOC", 34, MPF_CLASS_DATA }, { "SAMPLE_ALLOCATOR", 42, MPF_CLASS_DATA }, { "LOST", 35, MPF_CLASS_VALUE }, { "UNWRITTEN", 36, MPF_CLASS_DATA },
        { "SAMPLE_RESIDENT", 39, MPF_CLASS_DATA }, { "RESIDENT_FILE", 40, MPF_CLASS_DATA },
        { "RESIDENT_MAPPING", 41, MPF_CLASS_DATA },
        { "GPU_DEVICE", 48, MPF_CLASS_DATA }, { "GPU_CONTEXT", 49, MPF_CLASS_VALUE }, { "GPU_ENTER", 50, MPF_CLASS_VALUE },
        { "GPU_RETURN", 51, MPF_CLASS_DATA }, { "GPU_FAIL", 52, MPF_CLASS_DATA }, { "GPU_LEVEL", 53, MPF_CLASS_VALUE },
        { "GPU_POOL", 54, MPF_CLASS_VALUE }, { "SAMPLE_GPU", 55, MPF_CLASS_DATA }, { "HANDLE_NEW", 56, MPF_CLASS_BLOCK },
        { "HANDLE_IMPORT", 57, MPF_CLASS_VALUE }, { "HANDLE_RETAIN", 58, MPF_CLASS_DATA }, { "HANDLE_DROP", 59, MPF_CLASS_VALUE },
        { "HANDLE_MAP", 60, MPF_CLASS_DATA }, { "HANDLE_UNMAP", 61, MPF_CLASS_REGION }, { "ADDRESS_RESERVE", 62, MPF_CLASS_REGION },
        { "ADDRESS_FREE", 63, MPF_CLASS_REGION }, { "TORCH_LEVEL", 64, MPF_CLASS_VALUE }, { "TORCH_OOM", 65, MPF_CLASS_DATA },
        { "TORCH_CAPTURE", 66, MPF_CLASS_DATA }, { "TORCH_CAPTURE_END", 67, MPF_CLASS_DATA }, { "TORCH_GRAPH_RESET", 68, MPF_CLASS_VALUE },
        { "CAPTURE_BEGIN", 69, MPF_CLASS_VALUE }, { "CAPTURE_END", 70, MPF_CLASS_VALUE }, { "MODULE", 72, MPF_CLASS_DATA },
        { "STACK", 73, MPF_CLASS_DATA }, { "AT", 74, MPF_CLASS_VALUE }, { "SCHEMA", 75, MPF_CLASS_DATA },
        { "FRAME", 76, MPF_CLASS_DATA }, { "PYTHON", 77, MPF_CLASS_DATA }, { "AT_PYTHON", 78, MPF_CLASS_VALUE },
        { "TORCH_NEXT", 79, MPF_CLASS_VALUE }, { "TORCH_NODE", 80, MPF_CLASS_VALUE },
    };
    // clang-format on
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        assert_string_equal(mpf_op_name(golden[i].code), golden[i].name);
        assert_int_equal(mpf_op_class(golden[i].code), golden[i].class);
    }
    static const char *const heaps[] = { "", "host/heap", "host/mmap", "host/shm", "host/pinned" };
    for (unsigned i = 0; i < sizeof heaps / sizeof *heaps; i++)
        assert_string_equal(mpf_heap_name(i), heaps[i]);
    assert_string_equal(mpf_heap_name(mpf_heap_gpu(MPF_HEAP_DEVICE, 0)), "gpu0/device");
    assert_string_equal(mpf_heap_name(mpf_heap_gpu(MPF_HEAP_TORCH, 15)), "gpu15/torch");
    for (unsigned gpu = 0; gpu < MPF_GPUS; gpu++) {
        char name[16];
        snprintf(name, sizeof name, "gpu%u/managed", gpu);
        assert_string_equal(mpf_heap_name(mpf_heap_gpu(MPF_HEAP_MANAGED, gpu)), name);
        assert_int_equal(mpf_heap_named(name), mpf_heap_gpu(MPF_HEAP_MANAGED, gpu));
    }
    assert_null(mpf_heap_name(13));
    assert_int_equal(mpf_heap_named("host/shm"), MPF_HEAP_SHM);
    assert_int_equal(mpf_heap_named("gpu15/used"), mpf_heap_gpu(MPF_HEAP_USED, 15));
    assert_int_equal(mpf_heap_named("gpu16/used"), MPF_HEAP_NONE);
    assert_int_equal(mpf_heap_named(""), MPF_HEAP_NONE);
}

static void samples_and_losses_have_the_documented_numbers(void **state)
{
    (void)state;
    const unsigned rss[] = { MPF_RSS_ANON, MPF_RSS_FILE,          MPF_RSS_SHMEM, MPF_RSS_HWM,
                             MPF_RSS_SWAP, MPF_RSS_PRIVATE_DIRTY, MPF_RSS_PSS,   MPF_RSS_MEMPROF };
    const unsigned cgroup[] = { MPF_CGROUP_USAGE,     MPF_CGROUP_LIMIT,   MPF_CGROUP_PEAK,
                                MPF_CGROUP_OOM_KILLS, MPF_CGROUP_MEMPROF, MPF_CGROUP_ANON,
                                MPF_CGROUP_CACHE,     MPF_CGROUP_SHMEM,   MPF_CGROUP_KERNEL };
    const unsigned jemalloc[] = { MPF_JEMALLOC_ALLOCATED, MPF_JEMALLOC_ACTIVE,
                                  MPF_JEMALLOC_METADATA,  MPF_JEMALLOC_RESIDENT,
                                  MPF_JEMALLOC_MAPPED,    MPF_JEMALLOC_RETAINED };
    const unsigned resident[] = { MPF_RESIDENT_BRK,    MPF_RESIDENT_ANON,
                                  MPF_RESIDENT_STACKS, MPF_RESIDENT_DATA,
                                  MPF_RESIDENT_CODE,   MPF_RESIDENT_FILES,
                                  MPF_RESIDENT_SHMEM,  MPF_RESIDENT_MEMPROF,
                                  MPF_RESIDENT_HUGE,   MPF_RESIDENT_STACK_COUNT };
    const unsigned loss[] = { 0,
                              MPF_LOSS_STALLED,
                              MPF_LOSS_TORN,
                              MPF_LOSS_WRITE,
                              MPF_LOSS_MEMORY,
                              MPF_LOSS_NAMES,
                              MPF_LOSS_THREADS,
                              MPF_LOSS_SAMPLES,
                              MPF_LOSS_HANDLERS };
    for (unsigned i = 0; i < sizeof rss / sizeof *rss; i++) assert_int_equal(rss[i], i);
    for (unsigned i = 0; i < sizeof cgroup / sizeof *cgroup; i++) assert_int_equal(cgroup[i], i);
    for (unsigned i = 0; i < sizeof jemalloc / sizeof *jemalloc; i++)
        assert_int_equal(jemalloc[i], i);
    for (unsigned i = 0; i < sizeof resident / sizeof *resident; i++)
        assert_int_equal(resident[i], i);
    for (unsigned i = 0; i < sizeof loss / sizeof *loss; i++) assert_int_equal(loss[i], i);
    assert_int_equal(MPF_LOSS_CODES, sizeof loss / sizeof *loss);
    for (unsigned i = 1; i < MPF_LOSS_CODES; i++) assert_non_null(mpf_loss_text(i));
    assert_null(mpf_loss_text(0));
    assert_null(mpf_loss_text(MPF_LOSS_CODES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_each_class_have_the_documented_bytes),
        cmocka_unit_test(frame_headers_have_the_documented_bytes),
        cmocka_unit_test(string_pairs_have_the_documented_bytes),
        cmocka_unit_test(journal_fields_have_the_documented_offsets),
        cmocka_unit_test(slots_have_the_documented_bytes),
        cmocka_unit_test(operations_have_the_documented_codes_and_classes),
        cmocka_unit_test(samples_and_losses_have_the_documented_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
