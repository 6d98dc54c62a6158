/* Rules about device memory outside of PyTorch and about memory pools of graphs report the right
 * findings. */
#include "insights_test.h"

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
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_IDLE_COMMUNICATORS);
    assert_string_equal(text(f, 0).where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 400 * MIB);
    assert_string_equal(text(f, 0).what, "2 communicators ran no NCCL operation and hold "
                                         "400.00 MiB; the largest is NCCL 0x9f");
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
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_DOUBLED_COMMUNICATORS);
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
}

/* Rank 1 of a mesh of 2 x 2 is rank 1 of its row and rank 0 of its column. */
static void communicators_of_a_mesh_are_not_doubled(void **state)
{
    struct fixture *f = *state;
    struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "AllReduce", .ranks = 2, .rank = 0, .bytes = 200 * MIB },
    };
    look(f, comm, 2);
    comm[1].rank = UINT64_MAX;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 0);
    comm[1].rank = 1;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(text(f, 0).what,
                        "2 communicators of 2 ranks hold 500.00 MiB together, the largest "
                        "300.00 MiB");
}

/* Rank 3 is rank 1 of both, as the logs of the other ranks show. */
static void communicators_of_a_part_of_the_ranks_are_not_doubled(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 200 * MIB },
    };
    struct mpr_process other = { .summary.process.rank = "2" };
    struct mpr_processes run = { .at = &other, .count = 1 };
    f->log.summary.process.rank = "3";
    look(f, comm, 2);
    f->log.summary.process.rank = "1";
    f->out.family = &run;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 0);
    other.summary.process.rank = "0";
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 1);
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
    f->state[0].torch_segments = 4096ull * MIB;
    f->state[0].pool_free = pool_free;
    mpr_insights_torch(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                        .state = f->state,
                                                        .segments = &segments,
                                                        .at_oom = { at_oom } });
}

static void free_memory_of_graph_pools_counts_when_memory_ran_out(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, true, 205 * MIB); /* more than a twentieth */
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GRAPH_POOLS_FREE);
    assert_int_equal(f->out.finding[0].bytes, 205 * MIB);
}

static void free_memory_of_graph_pools_is_fine_otherwise(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, false, 2048ull * MIB);
    look_at_graphs(f, true, 204 * MIB);
    assert_int_equal(f->out.findings, 0);
}

static void graph_pools_that_exist_together_are_separate(void **state)
{
    struct fixture *f = *state;
    struct mpr_segment_pool pool[] = {
        { .pool = { 0, 1 }, .bytes = 200 * MIB, .graph = true },
        { .pool = { 0, 2 }, .bytes = 150 * MIB, .graph = true },
        /* Its graphs were destroyed, so it is a default pool now. */
        { .pool = { 0, 3 }, .bytes = 100 * MIB },
        { .bytes = 100 * MIB, .graph = true }, /* with an unknown number */
    };
    struct mpr_segments_device device = { .pool = pool, .pools = 4 };
    const struct mpr_segments segments = { .device = &device, .devices = 1 };
    const struct mpr_evidence e = { .log = &f->log, .state = f->state, .segments = &segments };
    mpr_insights_torch(&f->out, &e);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GRAPH_POOLS);
    assert_int_equal(f->out.finding[0].bytes, 150 * MIB);
    assert_string_equal(
        text(f, 0).what,
        "CUDA graphs hold 2 memory pools with 350.00 MiB; the largest has 200.00 MiB");
    pool[1].graph = false;
    mpr_insights_torch(&f->out, &e);
    assert_int_equal(f->out.findings, 1);
}

static void graph_pools_that_were_made_after_the_peak_are_counted(void **state)
{
    struct fixture *f = *state;
    struct mpr_segment_pool pool[] = {
        { .pool = { 0, 1 }, .bytes = 200 * MIB, .graph = true },
        { .pool = { 0, 2 }, .bytes = 150 * MIB, .graph = true },
    };
    struct mpr_segments_device device = { .time = 5, .pool = pool, .pools = 2 };
    const struct mpr_segments segments = { .device = &device, .devices = 1 };
    struct mpr_device_evidence evidence = {
        .graph_pools = { .time = 5, .count = 3, .bytes = 600 * MIB, .path = { NULL, 0 } }
    };
    const struct mpr_evidence e = {
        .log = &f->log, .state = f->state, .segments = &segments, .device = &evidence
    };
    mpr_insights_torch(&f->out, &e);
    assert_string_equal(
        text(f, 0).what,
        "CUDA graphs hold 2 memory pools with 350.00 MiB; the largest has 200.00 MiB; "
        "after the peak 3 pools hold 600.00 MiB");
    evidence.graph_pools.time = 4;
    mpr_insights_torch(&f->out, &e);
    assert_string_equal(
        text(f, 1).what,
        "CUDA graphs hold 2 memory pools with 350.00 MiB; the largest has 200.00 MiB");
}

static void look_at_cache(struct fixture *f, uint64_t used, bool at_oom)
{
    const struct mpr_segments none = { .devices = 0 };
    f->state[0].torch_segments = 4000 * (uint64_t)MIB;
    f->state[0].releasable = 200 * MIB;
    f->state[0].used = used;
    f->state[0].total = 8000 * (uint64_t)MIB;
    mpr_insights_torch(
        &f->out, &(struct mpr_evidence){
                     .log = &f->log, .state = f->state, .segments = &none, .at_oom = { at_oom } });
}

static void segments_without_blocks_count_on_a_full_device(void **state)
{
    struct fixture *f = *state;
    look_at_cache(f, 7000 * (uint64_t)MIB, false);
    look_at_cache(f, 1000 * (uint64_t)MIB, true);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_CACHE);
    assert_true(f->out.finding[0].weak); /* it is never the first one */
    assert_string_equal(text(f, 1).what, "PyTorch kept 200.00 MiB in segments without a live block "
                                         "when memory ran out");
}

static void segments_without_blocks_are_fine_on_a_device_with_room(void **state)
{
    struct fixture *f = *state;
    look_at_cache(f, 6999 * (uint64_t)MIB, false);
    assert_int_equal(f->out.findings, 0);
}

/* ---- origins of a device's blocks */

static void look_at_device(struct fixture *f, const struct mpr_device_evidence *device, bool at_oom)
{
    static struct mpr_heap_peak heap[] = {
        { .heap = MPF_HEAP_TORCH, .peak_bytes = 1000 * MIB },
        { .heap = MPF_HEAP_DEVICE, .peak_bytes = 1200 * MIB },
    };
    static struct mpr_device_part part[] = { { .use = MPR_USE_STREAMS, .bytes = MIB },
                                             { .use = MPR_USE_POOLS, .bytes = 500 * MIB } };
    const struct mpr_segments none = { .devices = 0 };
    f->log.heap = heap;
    f->log.heaps = 2;
    f->state[0].part = part;
    f->state[0].parts = 2;
    f->state[0].used = 1500 * (uint64_t)MIB;
    f->state[0].total = 2000 * (uint64_t)MIB;
    f->state[0].torch_live = 1000 * MIB;
    f->state[0].tracked = 700 * MIB;
    const struct mpr_evidence e = {
        .log = &f->log, .state = f->state, .segments = &none, .device = device, .at_oom = { at_oom }
    };
    mpr_insights_torch(&f->out, &e);
    mpr_insights_device(&f->out, &e);
}

static void a_pool_that_keeps_freed_memory_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_device(f, &(struct mpr_device_evidence){ .pool_live = 125 * MIB }, false);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_POOL_KEPT);
    assert_int_equal(f->out.finding[0].bytes, 375 * MIB);
}

static void a_pool_in_use_is_fine(void **state)
{
    struct fixture *f = *state;
    look_at_device(f, &(struct mpr_device_evidence){ .pool_live = 126 * MIB }, false);
    assert_int_equal(f->out.findings, 0);
}

static void workspaces_of_many_streams_are_named(void **state)
{
    struct fixture *f = *state;
    look_at_device(
        f,
        &(struct mpr_device_evidence){
            .pool_live = 500 * MIB,
            .workspaces = { .bytes = 128 * MIB, .count = 4, .threads = 4, .largest = 32 * MIB } },
        false);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_WORKSPACES);
    assert_string_equal(text(f, 0).what,
                        "4 blocks of 32.00 MiB, the size of a cuBLAS workspace, hold 128.00 MiB of "
                        "gpu0/torch's 1000.00 MiB: PyTorch keeps one for each thread and stream "
                        "that run a matmul");
}

static void workspaces_of_a_few_streams_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_device(
        f,
        &(struct mpr_device_evidence){
            .pool_live = 500 * MIB,
            .workspaces = { .bytes = 96 * MIB, .count = 3, .threads = 3, .largest = 32 * MIB } },
        false);
    assert_int_equal(f->out.findings, 0);
}

static void graphs_of_one_function_for_many_shapes_are_named(void **state)
{
    struct fixture *f = *state;
    struct mpr_device_evidence device = {
        .pool_live = 500 * MIB, .captures = { .bytes = 300 * MIB, .count = 3, .largest = 120 * MIB }
    };
    look_at_device(f, &device, false);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GRAPH_PER_SHAPE);
    assert_int_equal(f->out.finding[0].bytes, 180 * MIB);
    device.captures.count = 2;
    look_at_device(f, &device, false);
    assert_int_equal(f->out.findings, 1);
}

static void blocks_of_a_failed_attempt_are_named_when_memory_runs_out_again(void **state)
{
    struct fixture *f = *state;
    struct mpr_device_evidence device = { .pool_live = 500 * MIB,
                                          .attempt = { .bytes = 250 * MIB, .count = 3 } };
    look_at_device(f, &device, false);
    assert_int_equal(f->out.findings, 0);
    look_at_device(f, &device, true);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_FAILED_ATTEMPT);
    assert_non_null(strstr(text(f, 0).what, "blocks of an attempt that ran out of memory at"));
    device.attempt.groups = 2;
    look_at_device(f, &device, true);
    assert_non_null(strstr(text(f, 1).what, "blocks of 2 attempts that ran out of memory, the"));
    f->out.findings = 1;
    device.attempt.bytes = 249 * MIB;
    look_at_device(f, &device, true);
    assert_int_equal(f->out.findings, 1);
}

static void look_at_churn(struct fixture *f, uint64_t bytes, uint64_t refusals)
{
    const struct mpr_segment_churn churn = { .heap = MPF_HEAP_DEVICE, .bytes = bytes, .times = 20 };
    static struct mpr_heap_peak heap[] = {
        { .heap = MPF_HEAP_DEVICE, .peak_bytes = 1000 * MIB },
        { .heap = MPF_HEAP_TORCH, .peak_bytes = 900 * MIB },
    };
    const struct mpr_segments none = { .devices = 0 };
    f->log.heap = heap;
    f->log.heaps = 2;
    mpr_insights_torch(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                        .state = f->state,
                                                        .segments = &none,
                                                        .churn = &churn,
                                                        .churns = 1,
                                                        .refusals = { refusals } });
}

static void segments_that_come_and_go_are_named(void **state)
{
    struct fixture *f = *state;
    look_at_churn(f, 250 * MIB, 9);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_EMPTY_CACHE);
}

static void few_segments_and_those_that_the_driver_refused_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_churn(f, 249 * MIB, 0);
    look_at_churn(f, 500 * MIB, 10);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(communicators_without_a_collective_are_idle, begin, end),
        cmocka_unit_test_setup_teardown(communicators_over_all_ranks_are_doubled, begin, end),
        cmocka_unit_test_setup_teardown(communicators_of_a_mesh_are_not_doubled, begin, end),
        cmocka_unit_test_setup_teardown(communicators_of_a_part_of_the_ranks_are_not_doubled, begin,
                                        end),
        cmocka_unit_test_setup_teardown(small_or_different_communicators_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(free_memory_of_graph_pools_counts_when_memory_ran_out,
                                        begin, end),
        cmocka_unit_test_setup_teardown(free_memory_of_graph_pools_is_fine_otherwise, begin, end),
        cmocka_unit_test_setup_teardown(graph_pools_that_exist_together_are_separate, begin, end),
        cmocka_unit_test_setup_teardown(graph_pools_that_were_made_after_the_peak_are_counted,
                                        begin, end),
        cmocka_unit_test_setup_teardown(segments_without_blocks_count_on_a_full_device, begin, end),
        cmocka_unit_test_setup_teardown(segments_without_blocks_are_fine_on_a_device_with_room,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_pool_that_keeps_freed_memory_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_pool_in_use_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(workspaces_of_many_streams_are_named, begin, end),
        cmocka_unit_test_setup_teardown(workspaces_of_a_few_streams_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(graphs_of_one_function_for_many_shapes_are_named, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            blocks_of_a_failed_attempt_are_named_when_memory_runs_out_again, begin, end),
        cmocka_unit_test_setup_teardown(segments_that_come_and_go_are_named, begin, end),
        cmocka_unit_test_setup_teardown(few_segments_and_those_that_the_driver_refused_are_fine,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
