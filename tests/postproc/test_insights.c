/* Rules of insights on what no log of a test holds: communicators, instances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evidence.h"

enum { MIB = 1 << 20 };

struct fixture {
    struct mpr_insights out;
    struct mpr_device device;
    struct mpr_log_peaks log;
    struct mpr_device_state state[MPF_GPUS];
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    f->log.device = &f->device;
    f->log.devices = 1;
    f->state[0].valid = true;
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_insights_free(&f->out);
    free(f);
    return 0;
}

static void look(struct fixture *f, const struct mpr_comm_row *comm, size_t comms)
{
    f->state[0].comm = comm;
    f->state[0].comms = comms;
    mpr_insights_device(&f->out, &(struct mpr_evidence){ .log = &f->log, .state = f->state });
}

static void communicators_without_a_collective_are_idle(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 200 * MIB },
        { .name = "0xa1", .first_use = "", .ranks = 2, .bytes = 100 * MIB },
        { .name = "0xa2", .first_use = "", .ranks = 2, .bytes = 0 },
    };
    look(f, comm, 4);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "idle_communicators");
    assert_string_equal(f->out.finding[0].where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 400 * MIB);
    assert_string_equal(f->out.finding[0].what, "2 communicators ran no collective and hold "
                                                "400.00 MiB, most of it NCCL 0x9f");
}

static void communicators_over_all_ranks_are_doubled(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllGather", .ranks = 8, .bytes = 200 * MIB },
        { .name = "0xa1", .first_use = "ncclAllGather", .ranks = 4, .bytes = 100 * MIB },
        { .name = "0xa2", .first_use = "ncclAllGather", .ranks = UINT64_MAX, .bytes = 90 * MIB },
    };
    look(f, comm, 4);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "doubled_communicators");
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
}

static void small_or_different_communicators_are_fine(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 63 * MIB },
        { .name = "0xa1", .first_use = "", .ranks = 4, .bytes = 63 * MIB },
    };
    look(f, comm, 3);
    assert_int_equal(f->out.findings, 0);
}

static void look_at_graphs(struct fixture *f, bool at_oom, uint64_t pool_free)
{
    const struct mpr_segments segments = { 0 };
    const struct mpr_graphs graphs = { 0 };
    f->state[0].torch_segments = 4096ull * MIB;
    f->state[0].pool_free = pool_free;
    mpr_insights_torch(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                        .state = f->state,
                                                        .segments = &segments,
                                                        .graphs = &graphs,
                                                        .at_oom = { at_oom } });
}

static void what_graphs_pools_keep_free_counts_when_memory_ran_out(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, true, 205 * MIB); /* more than a twentieth */
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "graph_pools_free");
    assert_int_equal(f->out.finding[0].bytes, 205 * MIB);
}

static void what_graphs_pools_keep_free_is_fine_otherwise(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, false, 2048ull * MIB);
    look_at_graphs(f, true, 204 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* Five instances of "step" on one heap, of which the third is the worst; each ends with so many
 * bytes more than the one before. */
static void look_at_steps(struct fixture *f, const char *heap, uint64_t worst, int64_t kept,
                          uint64_t rise)
{
    struct mpr_instance instance[5] = { { .name = "step:1" },
                                        { .name = "step:2" },
                                        { .name = "step:3", .number = 3 } };
    struct mpr_instance_heap of[5] = { [2] = { .peak_bytes = worst } };
    for (size_t i = 0; i < 5; i++) of[i].end_bytes = 100 * (uint64_t)MIB + i * rise;
    struct mpr_instances_heap whole = { .name = heap, .of = of, .peak_bytes = worst };
    struct mpr_steps_heap h = { .heap = &whole,
                                .median_peak = 1000 * (uint64_t)MIB,
                                .median_kept = kept,
                                .peaks_out = worst > 1000 * (uint64_t)MIB,
                                .worst_peak = 2 };
    struct mpr_steps steps = { .instances = { .range = "step",
                                              .instance = instance,
                                              .instances = 5,
                                              .count = 5,
                                              .heap = &whole,
                                              .heaps = 1 },
                               .heap = &h };
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
}

static void an_instance_that_stands_out_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "gpu0/torch", 1500 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "instance");
    assert_string_equal(f->out.finding[0].where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 500 * MIB);
    assert_string_equal(f->out.finding[0].what, "step:3 of 5 instances peaks at 1.46 GiB of "
                                                "gpu0/torch, 500.00 MiB above the median");
}

static void what_each_instance_keeps_is_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "growth");
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB); /* by 2 of 5 */
    assert_string_equal(f->out.finding[0].what,
                        "5 instances of step keep 50.00 MiB of host/heap each at the median, "
                        "100.00 MiB in the second half");
}

/* 64 MiB are worth a finding; two instances of five are the second half. */
static void what_is_given_back_between_instances_is_no_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 0);
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 31 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 32 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 64 * MIB);
}

static void steps_alike_and_segments_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "gpu0/torch", 1000 * (uint64_t)MIB, 10 * MIB, 10 * MIB);
    look_at_steps(f, "gpu0/torch", 1040 * (uint64_t)MIB, -10 * MIB, 0);
    look_at_steps(f, "gpu0/device", 1500 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(communicators_without_a_collective_are_idle, begin, end),
        cmocka_unit_test_setup_teardown(communicators_over_all_ranks_are_doubled, begin, end),
        cmocka_unit_test_setup_teardown(small_or_different_communicators_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(what_graphs_pools_keep_free_counts_when_memory_ran_out,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_graphs_pools_keep_free_is_fine_otherwise, begin, end),
        cmocka_unit_test_setup_teardown(an_instance_that_stands_out_is_named, begin, end),
        cmocka_unit_test_setup_teardown(what_each_instance_keeps_is_growth, begin, end),
        cmocka_unit_test_setup_teardown(what_is_given_back_between_instances_is_no_growth, begin,
                                        end),
        cmocka_unit_test_setup_teardown(steps_alike_and_segments_are_fine, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
