/* Each NVTX call of a program is recorded as its event, or is counted as invalid. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loss.h"
#include "core/names.h"
#include "core/ranges.h"
#include "double.h"
#include "emitter.h"
#include "mpf/event.h"
#include "mpf/slot.h"

int InitializeInjectionNvtx2(nvtx_get_table get);
int InitializeInjectionNvtx(nvtx_get_table get);
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

static struct nvtx_event text_event(const char *text)
{
    return (struct nvtx_event){ .version = 3,
                                .bytes = sizeof(struct nvtx_event),
                                .message_type = NVTX_MESSAGE_ASCII,
                                .message.ascii = text };
}

static int inject(void **state)
{
    (void)state;
    double_active = 1;
    double_reset();
    mp_names_reset();
    emitter_entries(16, 16);
    return !emitter_inject(InitializeInjectionNvtx2) ||
           !emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_PAYLOAD);
}

static uint64_t name_of(unsigned op) { return double_last(op)->addr & UINT32_MAX; }
static uint64_t domain_of(unsigned op) { return double_last(op)->addr >> 32; }

static void levels_count_from_zero(void **state)
{
    (void)state;
    assert_int_equal(emit_core.RangePushA("a"), 0);
    assert_int_equal(emit_core.RangePushA("b"), 1);
    assert_int_equal(emit_core.RangePop(), 1);
    assert_int_equal(emit_core.RangePop(), 0);
    assert_int_equal(double_count(MPF_OP_PUSH), 2);
    assert_int_equal(double_count(MPF_OP_POP), 2);
}

static void a_pop_without_a_range_is_an_error_and_no_event(void **state)
{
    (void)state;
    assert_true(emit_core.RangePop() < 0);
    assert_int_equal(double_total(), 0);
    assert_int_equal(emit_core.RangePushA("a"), 0);
    assert_int_equal(emit_core.RangePop(), 0);
}

static void domains_have_separate_levels(void **state)
{
    (void)state;
    void *nccl = emit_core2.DomainCreateA("NCCL"), *blas = emit_core2.DomainCreateA("cuBLAS");
    const struct nvtx_event e = text_event("x");
    assert_int_equal(emit_core2.DomainRangePushEx(nccl, &e), 0);
    assert_int_equal(emit_core2.DomainRangePushEx(blas, &e), 0);
    assert_int_equal(emit_core.RangePushA("y"), 0);
    assert_int_equal(emit_core2.DomainRangePushEx(nccl, &e), 1);
    assert_int_equal(domain_of(MPF_OP_PUSH), double_id(MPF_OP_DOMAIN, "NCCL"));
    assert_int_equal(emit_core2.DomainRangePop(blas), 0);
    assert_int_equal(domain_of(MPF_OP_POP), double_id(MPF_OP_DOMAIN, "cuBLAS"));
    assert_true(emit_core2.DomainRangePop(blas) < 0);
    assert_int_equal(emit_core2.DomainRangePop(nccl), 1);
    assert_int_equal(emit_core2.DomainRangePop(nccl), 0);
    assert_int_equal(emit_core2.DomainRangePop(NULL), 0);
    assert_int_equal(domain_of(MPF_OP_POP), 0);
}

static void *push_once(void *level)
{
    *(int *)level = emit_core.RangePushA("thread's own");
    return NULL;
}

static void threads_have_separate_levels(void **state)
{
    (void)state;
    emit_core.RangePushA("outer");
    int level = -1;
    pthread_t t;
    pthread_create(&t, NULL, push_once, &level);
    pthread_join(t, NULL);
    assert_int_equal(level, 0);
    assert_int_equal(emit_core.RangePop(), 0);
}

static void a_domain_of_the_same_name_has_the_same_handle(void **state)
{
    (void)state;
    void *a = emit_core2.DomainCreateA("same");
    assert_non_null(a);
    assert_ptr_equal(emit_core2.DomainCreateA("same"), a);
    assert_ptr_equal(emit_core2.DomainCreateW(L"same"), a);
    assert_int_equal(double_count(MPF_OP_DOMAIN), 1);
    assert_null(emit_core2.DomainCreateA(NULL));
}

static void unknown_handles_are_refused(void **state)
{
    (void)state;
    const struct nvtx_event e = text_event("x");
    void *bad[] = { (void *)UINTPTR_MAX, (void *)(uintptr_t)MP_NAME_BUSY,
                    emit_core2.DomainRegisterStringA(NULL, "a string") };
    double_reset();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(emit_core2.DomainRangePushEx(bad[i], &e) < 0);
        assert_true(emit_core2.DomainRangePop(bad[i]) < 0);
        assert_true(emit_payload.RangePopPayload(bad[i], NULL, 0) < 0);
        emit_core2.DomainMarkEx(bad[i], &e);
    }
    assert_int_equal(double_total(), 0);
}

static void many_domains_are_recorded_without_levels(void **state)
{
    (void)state;
    const struct nvtx_event e = text_event("x");
    void *last = NULL;
    for (char name[] = "domain 0"; name[7] < '0' + 40; name[7]++)
        last = emit_core2.DomainCreateA(name);
    assert_int_equal(emit_core2.DomainRangePushEx(last, &e), MP_RANGE_UNTRACKED);
    assert_int_equal(emit_core2.DomainRangePop(last), MP_RANGE_UNTRACKED);
    assert_int_equal(double_count(MPF_OP_PUSH), 1);
    assert_int_equal(double_count(MPF_OP_POP), 1);
}

static void a_message_arrives_in_every_form(void **state)
{
    (void)state;
    const uint32_t want = mp_name_id("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", 11);
    struct nvtx_event e = text_event("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
    emit_core.MarkEx(&e);
    assert_int_equal(name_of(MPF_OP_MARK), want);
    emit_core.MarkW(L"gr\u00fc\u00df \U0001f600");
    assert_int_equal(name_of(MPF_OP_MARK), want);
    e.message_type = NVTX_MESSAGE_UNICODE;
    e.message.unicode = L"gr\u00fc\u00df \U0001f600";
    emit_core.RangePushEx(&e);
    assert_int_equal(name_of(MPF_OP_PUSH), want);
    emit_core.RangePop();
    e.message_type = NVTX_MESSAGE_REGISTERED;
    e.message.registered = emit_core2.DomainRegisterStringW(NULL, L"gr\u00fc\u00df \U0001f600");
    emit_core.RangeStartEx(&e);
    assert_int_equal(name_of(MPF_OP_RANGE_START), want);
    assert_int_equal(double_count(MPF_OP_NAME), 1);
}

static void invalid_wide_text_is_replaced(void **state)
{
    (void)state;
    const wchar_t bad[] = { 'a', 0xd800, 0x110000, (wchar_t)-1, 'b', 0 };
    emit_core.MarkW(bad);
    assert_string_equal(double_last(MPF_OP_NAME)->data, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                                        "b");
}

static void a_missing_message_is_a_range_without_a_name(void **state)
{
    (void)state;
    struct nvtx_event none = text_event(NULL), old = text_event("unseen");
    old.bytes = 40;
    assert_int_equal(emit_core.RangePushA(NULL), 0);
    assert_int_equal(emit_core.RangePushW(NULL), 1);
    assert_int_equal(emit_core.RangePushEx(NULL), 2);
    assert_int_equal(emit_core.RangePushEx(&none), 3);
    assert_int_equal(emit_core.RangePushEx(&old), 4);
    assert_int_equal(name_of(MPF_OP_PUSH), MP_NAME_NONE);
    for (int level = 4; level >= 0; level--) assert_int_equal(emit_core.RangePop(), level);
    assert_int_equal(double_count(MPF_OP_NAME), 0);
}

static void process_ranges_end_by_their_id(void **state)
{
    (void)state;
    const uint64_t a = emit_core.RangeStartA("a"), b = emit_core.RangeStartW(L"b");
    assert_true(a && b && a != b);
    emit_core.RangeEnd(a);
    assert_int_equal(double_last(MPF_OP_RANGE_END)->size, a);
    emit_core2.DomainRangeEnd(NULL, b);
    assert_int_equal(double_last(MPF_OP_RANGE_END)->size, b);
    assert_int_equal(double_count(MPF_OP_RANGE_START), 2);
}

static void a_thread_is_named_by_its_kernel_id(void **state)
{
    (void)state;
    emit_core.NameOsThreadA(4242, "loader");
    assert_int_equal(double_last(MPF_OP_THREAD_NAME)->addr, 4242);
    assert_string_equal(double_last(MPF_OP_THREAD_NAME)->data, "loader");
    emit_core.NameOsThreadW(4243, L"w\u00fc");
    assert_string_equal(double_last(MPF_OP_THREAD_NAME)->data, "w\xc3\xbc");
}

static void a_push_of_the_core_is_popped_by_the_extension(void **state)
{
    (void)state;
    void *nccl = emit_core2.DomainCreateA("NCCL");
    const struct nvtx_event e = text_event("AllReduce");
    emit_core2.DomainRangePushEx(nccl, &e);
    emit_core2.DomainRangePushEx(nccl, &e);
    assert_int_equal(emit_payload.RangePopPayload(nccl, NULL, 0), 1);
    assert_int_equal(domain_of(MPF_OP_POP), double_id(MPF_OP_DOMAIN, "NCCL"));
    assert_int_equal(emit_core2.DomainRangePop(nccl), 0);
}

static void payloads_follow_their_event(void **state)
{
    (void)state;
    const uint64_t bytes[2] = { 7, 8 };
    const struct nvtx_payload list[3] = { { 1 << 24, sizeof bytes, bytes },
                                          { 5, SIZE_MAX, bytes },
                                          { 6, 8, NULL } };
    emit_payload.RangePushPayload(NULL, list, 3);
    assert_int_equal(double_at(0)->op, MPF_OP_PUSH);
    assert_int_equal(double_at(1)->op, MPF_OP_RANGE_DATA);
    assert_int_equal(double_at(1)->addr, 1 << 24);
    assert_int_equal(double_at(1)->size, sizeof bytes);
    assert_memory_equal(double_at(1)->data, bytes, sizeof bytes);
    assert_int_equal(double_total(), 2);
    assert_int_equal(emit_payload.RangePopPayload(NULL, list, 3), 0);
    assert_int_equal(double_at(2)->op, MPF_OP_POP);
    assert_int_equal(double_at(3)->op, MPF_OP_RANGE_DATA);
    assert_memory_equal(double_at(3)->data, bytes, sizeof bytes);

    struct nvtx_event e = text_event("with payload");
    e.payload_type = NVTX_PAYLOADS;
    e.payloads = 1;
    e.payload.list = list;
    emit_core.MarkEx(&e);
    assert_int_equal(double_count(MPF_OP_RANGE_DATA), 3);
    const uint64_t id = emit_payload.RangeStartPayload(NULL, list, 1);
    assert_int_equal(double_last(MPF_OP_RANGE_START)->size, id);
    assert_int_equal(double_last(MPF_OP_RANGE_DATA)->addr, 1 << 24);
    emit_payload.RangeEndPayload(NULL, id, NULL, 0);
    assert_int_equal(double_last(MPF_OP_RANGE_END)->size, id);
}

static void a_payload_is_bounded(void **state)
{
    (void)state;
    static const char large[2 * MPF_DATA_MAX];
    const struct nvtx_payload list = { 1 << 24, sizeof large, large };
    emit_payload.MarkPayload(NULL, &list, 1);
    assert_int_equal(double_last(MPF_OP_RANGE_DATA)->size, MPF_DATA_MAX);
}

static void schemas_are_described(void **state)
{
    (void)state;
    const struct nvtx_schema_entry entry[] = { { .type = 18, .name = "comm", .offset = 0 },
                                               { .type = 5, .name = NULL, .offset = 8 } };
    const struct nvtx_schema schema = {
        .fields = NVTX_SCHEMA_HAS_ID, .id = 78, .entries = entry, .entry_count = 2
    };
    emit_payload.PayloadSchemaRegister(NULL, &schema);
    const struct double_event *e = double_last(MPF_OP_SCHEMA);
    assert_non_null(e);
    assert_int_equal(e->addr, 78);
    static const char data[] = "\x12\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\0"
                               "comm\0"
                               "\5\0\0\0\0\0\0\0"
                               "\x08\0\0\0\0\0\0";
    assert_int_equal(e->size, sizeof data + 1);
    assert_memory_equal(e->data, data, sizeof data);
}

/* The schemas of other tests are also recorded again. */
static void schemas_are_recorded_again_after_a_lost_frame(void **state)
{
    (void)state;
    const struct nvtx_schema_entry entry = { .type = 18, .name = "comm" };
    const struct nvtx_schema schema = {
        .fields = NVTX_SCHEMA_HAS_ID, .id = 80, .entries = &entry, .entry_count = 1
    };
    const struct nvtx_schema two = {
        .fields = NVTX_SCHEMA_HAS_ID, .id = 81, .entries = &entry, .entry_count = 1
    };
    const struct nvtx_payload payload = { 80, 4, "data" };
    emit_payload.PayloadSchemaRegister(NULL, &schema);
    emit_payload.PayloadSchemaRegister(NULL, &two);
    const size_t count = double_count(MPF_OP_SCHEMA);
    emit_payload.MarkPayload(NULL, &payload, 1);
    assert_int_equal(double_count(MPF_OP_SCHEMA), count);
    mp_loss_generation++;
    emit_payload.MarkPayload(NULL, &payload, 1);
    const size_t again = double_count(MPF_OP_SCHEMA);
    assert_in_range(again, count + 2, SIZE_MAX);
    assert_int_equal(double_last(MPF_OP_SCHEMA)->addr, 81);
    assert_int_equal(double_at(double_total() - 1)->op, MPF_OP_RANGE_DATA);
    emit_payload.MarkPayload(NULL, &payload, 1);
    assert_int_equal(double_count(MPF_OP_SCHEMA), again);
}

static void schemas_get_numbers(void **state)
{
    (void)state;
    const struct nvtx_schema schema = { .fields = NVTX_SCHEMA_HAS_ID, .id = 77 },
                             unnamed = { .id = 77 };
    const struct nvtx_enum values = { .fields = NVTX_ENUM_HAS_ID, .id = 78 };
    assert_int_equal(emit_payload.PayloadSchemaRegister(NULL, &schema), 77);
    assert_int_equal(emit_payload.PayloadEnumRegister(NULL, &values), 78);
    const uint64_t first = emit_payload.PayloadSchemaRegister(NULL, &unnamed);
    assert_true(first >= NVTX_SCHEMA_DYNAMIC);
    assert_int_not_equal(emit_payload.PayloadSchemaRegister(NULL, &unnamed), first);
    assert_int_equal(emit_payload.DomainIsEnabled(NULL), 1);
}

static void errno_is_kept(void **state)
{
    (void)state;
    errno = 4711;
    inject(NULL);
    void *domain = emit_core2.DomainCreateA("errno");
    const struct nvtx_event e = text_event("new name");
    emit_core2.DomainRangePushEx(domain, &e);
    emit_payload.RangePopPayload(domain, NULL, 0);
    emit_core.NameOsThreadA(1, "x");
    assert_int_equal(errno, 4711);
}

static void a_copy_that_does_not_record_does_not_attach(void **state)
{
    (void)state;
    double_active = 0;
    assert_int_equal(emitter_inject(InitializeInjectionNvtx2), 0);
    assert_int_equal(
        emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_PAYLOAD), 0);
    assert_null(emit_core.RangePushA);
    assert_null(emit_payload.RangePopPayload);
}

static void an_old_nvtx_has_fewer_entries(void **state)
{
    (void)state;
    emitter_entries(12, 0);
    assert_int_equal(emitter_inject(InitializeInjectionNvtx), 1);
    assert_int_equal(emit_core.RangePushA("v1"), 0);
    assert_int_equal(emit_core.RangePop(), 0);
    assert_null(emit_core.NameOsThreadA);
    assert_null(emit_core2.DomainCreateA);
}

static void an_unknown_extension_is_not_changed(void **state)
{
    (void)state;
    assert_int_equal(emitter_inject_extension(InitializeInjectionNvtxExtension, 9), 0);
    assert_null(emit_payload.RangePopPayload);
}

#define TEST(name) cmocka_unit_test_setup(name, inject)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(levels_count_from_zero),
        TEST(a_pop_without_a_range_is_an_error_and_no_event),
        TEST(domains_have_separate_levels),
        TEST(threads_have_separate_levels),
        TEST(a_domain_of_the_same_name_has_the_same_handle),
        TEST(unknown_handles_are_refused),
        TEST(a_message_arrives_in_every_form),
        TEST(invalid_wide_text_is_replaced),
        TEST(a_missing_message_is_a_range_without_a_name),
        TEST(process_ranges_end_by_their_id),
        TEST(a_thread_is_named_by_its_kernel_id),
        TEST(a_push_of_the_core_is_popped_by_the_extension),
        TEST(payloads_follow_their_event),
        TEST(a_payload_is_bounded),
        TEST(schemas_get_numbers),
        TEST(schemas_are_described),
        TEST(schemas_are_recorded_again_after_a_lost_frame),
        TEST(errno_is_kept),
        TEST(a_copy_that_does_not_record_does_not_attach),
        TEST(an_old_nvtx_has_fewer_entries),
        TEST(an_unknown_extension_is_not_changed),
        TEST(many_domains_are_recorded_without_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
