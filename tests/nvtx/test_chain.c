/* The user's own injection library keeps working while memprof records. argv[1] is that library. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/names.h"
#include "double.h"
#include "emitter.h"
#include "mpf/event.h"
#include "tool.h"

int InitializeInjectionNvtx2(nvtx_get_table get);
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

static struct tool_seen *seen;

static int inject(void **state)
{
    (void)state;
    double_reset();
    mp_names_reset();
    const int core = emitter_inject(InitializeInjectionNvtx2);
    const int extension =
        emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_PAYLOAD);
    void *tool = dlopen(getenv("MEMPROF_NVTX_CHAIN"), RTLD_LAZY | RTLD_NOLOAD);
    seen = tool ? dlsym(tool, "tool_seen") : NULL;
    if (seen) *seen = (struct tool_seen){ 0 };
    return !core || !extension || !seen;
}

static void memprof_and_the_tool_both_see_a_push(void **state)
{
    (void)state;
    assert_int_equal(emit_core.RangePushA("a"), 0);
    assert_int_equal(seen->pushes, 1);
    assert_int_equal(double_count(MPF_OP_PUSH), 1);
    assert_int_equal(emit_core.RangePop(), 0);
}

static void the_program_gets_the_handles_of_the_tool(void **state)
{
    (void)state;
    void *domain = emit_core2.DomainCreateA("lib");
    const struct nvtx_event e = { .version = 3,
                                  .bytes = sizeof e,
                                  .message_type = NVTX_MESSAGE_REGISTERED,
                                  .message.registered =
                                      emit_core2.DomainRegisterStringA(domain, "registered") };
    assert_true(seen->domain_known);
    assert_int_equal(emit_core2.DomainRangePushEx(domain, &e), 0);
    assert_true(seen->domain_known);
    assert_true(seen->string_known);
    assert_int_equal(double_last(MPF_OP_PUSH)->addr >> 32, double_id(MPF_OP_DOMAIN, "lib"));
    assert_int_equal(double_last(MPF_OP_PUSH)->addr & UINT32_MAX,
                     double_id(MPF_OP_NAME, "registered"));
    assert_int_equal(emit_payload.RangePopPayload(domain, NULL, 0), 0);
    assert_int_equal(seen->pops, 1);
    assert_int_equal(double_last(MPF_OP_POP)->addr >> 32, double_id(MPF_OP_DOMAIN, "lib"));
}

static void an_unknown_handle_is_refused(void **state)
{
    (void)state;
    emit_core2.DomainCreateA("lib");
    const struct nvtx_event e = { .version = 3, .bytes = sizeof e };
    assert_true(emit_core2.DomainRangePushEx((void *)(uintptr_t)MP_NAME_FIRST, &e) < 0);
    assert_int_equal(double_count(MPF_OP_PUSH), 0);
}

static void range_ids_come_from_the_tool(void **state)
{
    (void)state;
    assert_int_equal(emit_core.RangeStartA("r"), TOOL_RANGE);
    assert_int_equal(double_last(MPF_OP_RANGE_START)->size, TOOL_RANGE);
    const uint64_t range = emit_core.RangeStartW(L"not the tool's");
    assert_true(range != 0 && range != TOOL_RANGE);
    assert_int_equal(double_last(MPF_OP_RANGE_START)->size, range);
}

static void calls_that_memprof_does_not_record_reach_the_tool(void **state)
{
    (void)state;
    emit_core.NameCategoryA(12, "io");
    assert_int_equal(seen->category, 12);
}

/* Its handles are not those of memprof. */
static void memory_calls_reach_only_the_tool(void **state)
{
    (void)state;
    emitter_compatible = NVTX_MEMORY_COMPATIBLE;
    assert_true(emitter_inject_extension(InitializeInjectionNvtxExtension, NVTX_EXTENSION_MEMORY));
    assert_non_null(emit_memory.MemRegionsResize);
    assert_null(emit_memory.MemHeapRegister);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    setenv("MEMPROF_NVTX_CHAIN", argv[1], 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memprof_and_the_tool_both_see_a_push, inject),
        cmocka_unit_test_setup(the_program_gets_the_handles_of_the_tool, inject),
        cmocka_unit_test_setup(an_unknown_handle_is_refused, inject),
        cmocka_unit_test_setup(range_ids_come_from_the_tool, inject),
        cmocka_unit_test_setup(calls_that_memprof_does_not_record_reach_the_tool, inject),
        cmocka_unit_test_setup(memory_calls_reach_only_the_tool, inject),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
