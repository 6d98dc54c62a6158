/* Replay of device memory: captures and graphs. */
#include "gpu.h"
#include "gpu_test.h"

/* ---- captures and graphs */

static void a_capture_counts_blocks_allocated_during_it(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x61, 0, 0);
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    alloc(D, B, 40 * MIB);
    alloc(T, B, 3 * MIB);
    event(2, MPF_OP_ALLOC, T, A, MIB); /* of another thread */
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x61, 0, 9);
    alloc(T, A + 8 * MIB, MIB);
    assert_int_equal(gpu()->captures, 1);
    assert_int_equal(gpu()->capture[0].segment_bytes, 40 * MIB);
    assert_int_equal(gpu()->capture[0].block_bytes, 3 * MIB);
    assert_int_equal(gpu()->capture[0].graph, 0x61);
    assert_int_equal(gpu()->capture[0].pool[1], 9);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->capture, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->torch, A)->capture, 0);
    end_replay();
}

/* torch.compile runs once in the private pool before it captures. */
static void a_segment_that_holds_a_block_of_a_capture_belongs_to_its_pool(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    alloc(D, B, 40 * MIB);
    event(1, MPF_OP_HANDLE_NEW, D, 0x70, 2 * MIB);
    WORDS(1, MPF_OP_HANDLE_MAP, 0, 0x70, 2 * B, 2 * MIB, 0);
    alloc(T, A, MIB);
    WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x61, 0, 0);
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    alloc(T, B + 8 * MIB, 3 * MIB);
    alloc(T, B + 16 * MIB, 3 * MIB);
    alloc(T, 2 * B, MIB);
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x61, 0, 9);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A)->capture, 0);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->capture, 1);
    assert_int_equal(gpu()->object[0].block.capture, 1);
    assert_int_equal(gpu()->capture[0].segment_bytes, 42 * MIB);
    assert_int_equal(gpu()->capture[0].block_bytes, 7 * MIB);
    end_replay();
}

/* PyTorch allocates the tensors of its random numbers before its allocator uses the graph's
 * pool. */
static void blocks_before_the_driver_begins_the_capture_do_not_belong_to_the_graph(void **state)
{
    (void)state;
    begin();
    alloc(D, A, 20 * MIB);
    for (uint64_t i = 1; i <= 2; i++) {
        WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x60 + i, 0, 0);
        alloc(D, i * B, 2 * MIB);
        alloc(T, i * B, MIB);
        event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
        alloc(T, 16 * B + i * MIB, MIB / 2); /* in the private pool */
        event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
        WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x60 + i, 0, i);
        assert_int_equal(gpu()->capture[i - 1].segment_bytes, 0);
        assert_int_equal(gpu()->capture[i - 1].block_bytes, MIB / 2);
    }
    end_replay();
}

/* Another tool used CUPTI. */
static void a_capture_without_the_drivers_calls_begins_with_pytorchs(void **state)
{
    (void)state;
    begin();
    WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x61, 0, 0);
    alloc(T, B, MIB);
    WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x61, 0, 9);
    assert_int_equal(gpu()->capture[0].block_bytes, MIB);
    end_replay();
}

static void captures_close_to_each_other_are_one_burst(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        if (i == 2) now += UINT64_C(5000000000);
        event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
        event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    }
    assert_int_equal(gpu()->captures, 3);
    assert_int_equal(gpu()->capture[0].burst, gpu()->capture[1].burst);
    assert_int_not_equal(gpu()->capture[1].burst, gpu()->capture[2].burst);
    end_replay();
}

static void an_executable_has_its_capture_and_its_bytes(void **state)
{
    (void)state;
    begin();
    push(1, 0, 3);
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 104 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 106 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH, 106 * MIB);
    leave(1, MPF_CALL_GRAPH, 107 * MIB, 0xe2);
    assert_int_equal(gpu()->graphs, 2);
    const struct mpr_graph *g = gpu()->graph;
    assert_int_equal(g[0].instantiated, 4 * MIB);
    assert_int_equal(g[0].launched, 2 * MIB);
    assert_int_equal(g[0].nodes, 7);
    assert_int_equal(g[0].capture, 1);
    assert_int_equal(path_of(g[0].node), 3);
    assert_int_equal(g[1].capture, 0);
    end_replay();
}

/* PyTorch instantiates before its capture_end returns. */
static void an_executable_may_be_created_while_the_capture_is_open(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 1; i <= 2; i++) {
        WORDS(1, MPF_OP_TORCH_CAPTURE, 0, 0x60 + i, 0, 0);
        event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
        event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
        enter(1, MPF_CALL_GRAPH, 100 * MIB);
        leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe0 + i);
        WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, 0x60 + i, 0, i);
    }
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe3);
    assert_int_equal(gpu()->graph[0].capture, 1);
    assert_int_equal(gpu()->graph[1].capture, 2);
    assert_int_equal(gpu()->graph[2].capture, 0);
    end_replay();
}

static void the_handle_of_a_destroyed_executable_may_be_reused(void **state)
{
    (void)state;
    begin();
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 104 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_GONE, 104 * MIB);
    leave(1, MPF_CALL_GRAPH_GONE, 100 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 100 * MIB); /* an executable whose instantiation was not seen */
    leave(1, MPF_CALL_GRAPH_LAUNCH, 103 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_GONE, 103 * MIB);
    leave(1, MPF_CALL_GRAPH_GONE, 100 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH, 100 * MIB);
    leave(1, MPF_CALL_GRAPH, 101 * MIB, 0xe1);
    enter(1, MPF_CALL_GRAPH_LAUNCH, 101 * MIB);
    leave(1, MPF_CALL_GRAPH_LAUNCH, 109 * MIB, 0xe1);
    assert_true(gpu()->graph[0].gone);
    assert_int_equal(gpu()->graph[0].launched, 0);
    assert_int_equal(gpu()->graph[1].launched, 8 * MIB);
    assert_int_equal(device()->part[MPR_PART_GRAPHS], 9 * MIB);
    end_replay();
}

/* One of PyTorch's captures of the graph object in the pool 0:pool. */
static void capture(uint64_t graph, uint64_t pool)
{
    WORDS(1, MPF_OP_TORCH_CAPTURE, 0, graph, 0, 0);
    WORDS(1, MPF_OP_TORCH_CAPTURE_END, 0, graph, 0, pool);
}

static void a_pool_is_held_until_its_last_graph_is_reset(void **state)
{
    (void)state;
    begin();
    capture(0x61, 9);
    capture(0x62, 9);
    capture(0x63, 8);
    event(1, MPF_OP_TORCH_GRAPH_RESET, 0, 0x61, 0);
    assert_true(mpr_graph_holds(gpu(), 1, now));
    assert_true(mpr_graph_holds(gpu(), 2, now));
    const uint64_t before = now;
    event(1, MPF_OP_TORCH_GRAPH_RESET, 0, 0x62, 0);
    assert_true(mpr_graph_holds(gpu(), 1, before)); /* at that time */
    assert_false(mpr_graph_holds(gpu(), 1, now));
    assert_false(mpr_graph_holds(gpu(), 2, now));
    assert_true(mpr_graph_holds(gpu(), 3, now));
    assert_false(mpr_graph_holds(gpu(), 0, now));
    end_replay();
}

static void graphs_of_unknown_pools_have_separate_pools(void **state)
{
    (void)state;
    begin();
    capture(0x61, 0);
    capture(0x62, 0);
    event(1, MPF_OP_TORCH_GRAPH_RESET, 0, 0x61, 0);
    assert_false(mpr_graph_holds(gpu(), 1, now));
    assert_true(mpr_graph_holds(gpu(), 2, now));
    end_replay();
}

static void a_second_capture_makes_another_graph(void **state)
{
    (void)state;
    begin();
    capture(0x61, 9);
    capture(0x61, 8);
    assert_false(mpr_graph_holds(gpu(), 1, now));
    assert_true(mpr_graph_holds(gpu(), 2, now));
    end_replay();
}

static void a_capture_without_pytorch_is_never_reset(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    event(1, MPF_OP_TORCH_GRAPH_RESET, 0, 0, 0);
    assert_true(mpr_graph_holds(gpu(), 1, now));
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_counts_blocks_allocated_during_it),
        cmocka_unit_test(a_segment_that_holds_a_block_of_a_capture_belongs_to_its_pool),
        cmocka_unit_test(blocks_before_the_driver_begins_the_capture_do_not_belong_to_the_graph),
        cmocka_unit_test(a_capture_without_the_drivers_calls_begins_with_pytorchs),
        cmocka_unit_test(captures_close_to_each_other_are_one_burst),
        cmocka_unit_test(an_executable_has_its_capture_and_its_bytes),
        cmocka_unit_test(an_executable_may_be_created_while_the_capture_is_open),
        cmocka_unit_test(the_handle_of_a_destroyed_executable_may_be_reused),
        cmocka_unit_test(a_pool_is_held_until_its_last_graph_is_reset),
        cmocka_unit_test(graphs_of_unknown_pools_have_separate_pools),
        cmocka_unit_test(a_second_capture_makes_another_graph),
        cmocka_unit_test(a_capture_without_pytorch_is_never_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
