/* Replay of device memory: backward passes are attributed to their forward operator. */
#include "backward.h"
#include "gpu_test.h"

enum { TORCH = 7, STEP = 1, FORWARD, LAYER, OTHER, NODE = 9, STACK = 0x91, STACK_2 };
enum { MAIN = 1, AUTOGRAD }; /* memprof's thread numbers; PyTorch's are larger by 10 */

static void begin_backward(enum mpr_group by)
{
    begin_with(
        (struct mpr_replay_options){ .by = by, .at = MPR_INSTANT_PEAK, .backward_of = true });
    data(MAIN, MPF_OP_DOMAIN, 0, TORCH, "torch", 5);
}

static void next(uint32_t thread, uint64_t number)
{
    event(thread, MPF_OP_TORCH_NEXT, 0, number, thread + 10);
}

/* A node runs on the thread and allocates the block. Its range stays open. */
static void run(uint32_t thread, uint64_t number, uint32_t maker_thread, uint64_t block)
{
    push(thread, TORCH, NODE);
    event(thread, MPF_OP_TORCH_NODE, 0, number, maker_thread + 10);
    event(thread, MPF_OP_ALLOC, T, block, MIB);
}

static void run_and_end(uint32_t thread, uint64_t number, uint32_t maker_thread, uint64_t block)
{
    run(thread, number, maker_thread, block);
    pop(thread, TORCH);
}

/* Returns the names of the node, outermost first, as digits: b is "backward of", f a Python
 * frame. */
static uint64_t digits(uint64_t node)
{
    uint64_t path = 0;
    for (unsigned shift = 0; node; node = replay.ranges.node[node].parent, shift += 4) {
        const uint32_t name = replay.ranges.node[node].name;
        path |= (uint64_t)(name == MPR_BACKWARD_NAME ? 0xb
                           : name >= MPR_FRAME_NAME  ? 0xf
                                                     : name)
                << shift;
    }
    return path;
}

static uint64_t path_of_block(uint64_t addr)
{
    return digits(mpr_gpu_blocks_find(&gpu()->torch, addr)->node);
}
static uint64_t python_of_block(uint64_t addr)
{
    return digits(mpr_gpu_blocks_find(&gpu()->torch, addr)->python);
}

static void frame(uint64_t id, const char *function)
{
    uint8_t bytes[64] = { 0 };
    strcpy((char *)bytes + 8, function);
    data(MAIN, MPF_OP_FRAME, 0, id, bytes, 8 + strlen(function) + 1 + sizeof "a.py");
}

/* One with one frame and one with two. */
static void python_stacks(void)
{
    frame(0xf1, "main");
    frame(0xf2, "layer");
    WORDS(MAIN, MPF_OP_PYTHON, 0, STACK, 0xf1);
    WORDS(MAIN, MPF_OP_PYTHON, 0, STACK_2, 0xf2, 0xf1);
}

static void block_at(uint64_t stack, uint64_t addr)
{
    event(MAIN, MPF_OP_AT_PYTHON, 0, stack, 0);
    alloc(T, addr, MIB);
}

static void a_node_belongs_to_the_ranges_open_at_its_creation(void **state)
{
    (void)state;
    begin_backward(MPR_GROUP_RANGE);
    next(MAIN, 0);
    push(MAIN, 0, STEP);
    push(MAIN, 0, FORWARD); /* makes 0 and 1 */
    next(MAIN, 2);
    push(MAIN, 0, LAYER); /* makes 2 */
    next(MAIN, 3);
    pop(MAIN, 0);
    push(MAIN, 0, OTHER); /* makes none */
    pop(MAIN, 0);         /* forward makes 3 */
    next(MAIN, 4);
    pop(MAIN, 0); /* step makes 4 */
    for (uint64_t number = 0; number < 5; number++)
        run_and_end(AUTOGRAD, number, MAIN, A + number * MIB);
    assert_int_equal(path_of_block(A), 0xb129);
    assert_int_equal(path_of_block(A + 1 * MIB), 0xb129);
    assert_int_equal(path_of_block(A + 2 * MIB), 0xb1239);
    assert_int_equal(path_of_block(A + 3 * MIB), 0xb129);
    assert_int_equal(path_of_block(A + 4 * MIB), 0xb19);
    assert_false(mpr_gpu_blocks_find(&gpu()->torch, A)->inherited);
    end_replay();
}

static void without_the_option_nothing_changes(void **state)
{
    (void)state;
    begin();
    data(MAIN, MPF_OP_DOMAIN, 0, TORCH, "torch", 5);
    next(MAIN, 0);
    push(MAIN, 0, STEP);
    run_and_end(AUTOGRAD, 0, MAIN, A);
    assert_int_equal(path_of_block(A), 0x19);
    end_replay();
}

/* Blocks of an unknown thread, from before the first number, and outside of nodes. */
static void unknown_nodes_are_unchanged(void **state)
{
    (void)state;
    begin_backward(MPR_GROUP_RANGE);
    push(MAIN, 0, STEP);
    next(MAIN, 5);
    run_and_end(AUTOGRAD, 7, 77, A);
    run_and_end(AUTOGRAD, 4, MAIN, B);
    push(AUTOGRAD, TORCH, NODE);
    event(AUTOGRAD, MPF_OP_ALLOC, T, B + MIB, MIB);
    pop(AUTOGRAD, TORCH);
    assert_int_equal(path_of_block(A), 0x19);
    assert_int_equal(path_of_block(B), 0x19);
    assert_int_equal(path_of_block(B + MIB), 0x19);
    event(AUTOGRAD, MPF_OP_TORCH_NODE, 0, 5, MAIN + 10); /* no range is open */
    event(AUTOGRAD, MPF_OP_ALLOC, T, B + 2 * MIB, MIB);
    assert_int_equal(path_of_block(B + 2 * MIB), 0x1);
    end_replay();
}

static void each_thread_has_separate_numbers(void **state)
{
    enum { SECOND = 3 };
    (void)state;
    begin_backward(MPR_GROUP_RANGE);
    next(MAIN, 0);
    next(SECOND, 0);
    push(MAIN, 0, STEP);
    push(SECOND, 0, OTHER);
    next(MAIN, 1);
    next(SECOND, 1);
    run_and_end(AUTOGRAD, 0, MAIN, A);
    run_and_end(AUTOGRAD, 0, SECOND, B);
    assert_int_equal(path_of_block(A), 0xb19);
    assert_int_equal(path_of_block(B), 0xb49);
    end_replay();
}

/* A checkpoint's backward runs its forward again, and then the backward of that, on its own
 * thread. */
static void a_recomputed_forward_belongs_to_the_first_forward(void **state)
{
    (void)state;
    begin_backward(MPR_GROUP_RANGE);
    next(MAIN, 0);
    push(MAIN, 0, LAYER);
    next(MAIN, 1);
    pop(MAIN, 0);
    next(AUTOGRAD, 0);
    run(AUTOGRAD, 0, MAIN, A);
    next(AUTOGRAD, 1);        /* number 0 of this thread */
    push(AUTOGRAD, 0, OTHER); /* by the user's function: number 1 */
    event(AUTOGRAD, MPF_OP_ALLOC, T, A + MIB, MIB);
    next(AUTOGRAD, 2);
    pop(AUTOGRAD, 0);
    run_and_end(AUTOGRAD, 1, AUTOGRAD, B);
    run_and_end(AUTOGRAD, 0, AUTOGRAD, B + 3 * MIB);
    event(AUTOGRAD, MPF_OP_ALLOC, T, B + MIB, MIB);
    pop(AUTOGRAD, TORCH);
    assert_int_equal(path_of_block(A), 0xb39);
    assert_int_equal(path_of_block(A + MIB), 0xb394);
    assert_int_equal(path_of_block(B), 0xb3949);
    assert_int_equal(path_of_block(B + 3 * MIB), 0xb399);
    assert_int_equal(path_of_block(B + MIB), 0xb39);
    event(AUTOGRAD, MPF_OP_ALLOC, T, B + 2 * MIB, MIB);
    assert_int_equal(path_of_block(B + 2 * MIB), 0);
    end_replay();
}

/* An operator creates its node, and then its result. */
static void an_operator_has_the_python_stack_of_its_result(void **state)
{
    (void)state;
    begin_backward(MPR_GROUP_PYTHON);
    python_stacks();
    next(MAIN, 1); /* makes 0 */
    block_at(STACK, A);
    block_at(STACK_2, A + MIB); /* not the result of a node */
    next(MAIN, 3);              /* makes 1, which has no block, and 2 */
    block_at(STACK_2, A + 2 * MIB);
    for (uint64_t number = 0; number < 3; number++)
        run_and_end(AUTOGRAD, number, MAIN, B + number * MIB);
    assert_int_equal(python_of_block(B), 0xbf);
    assert_int_equal(python_of_block(B + MIB), 0);
    assert_int_equal(python_of_block(B + 2 * MIB), 0xbff);
    assert_int_equal(path_of_block(B + 2 * MIB), 0xbff9); /* outside of ranges */
    end_replay();
}

/* There are more marks than are kept. */
static void the_newest_nodes_are_known(void **state)
{
    (void)state;
    begin_backward(MPR_GROUP_RANGE);
    for (uint64_t number = 0; number < MPR_FORWARD_MARKS + 10; number++) {
        next(MAIN, number);
        push(MAIN, 0, number % 2 ? LAYER : OTHER);
        next(MAIN, number + 1);
        pop(MAIN, 0);
    }
    run_and_end(AUTOGRAD, 10, MAIN, A);
    run_and_end(AUTOGRAD, 11, MAIN, A + MIB);
    run_and_end(AUTOGRAD, MPR_FORWARD_MARKS + 9, MAIN, B);
    assert_int_equal(path_of_block(A), 9);
    assert_int_equal(path_of_block(A + MIB), 0xb39);
    assert_int_equal(path_of_block(B), 0xb39);
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_belongs_to_the_ranges_open_at_its_creation),
        cmocka_unit_test(without_the_option_nothing_changes),
        cmocka_unit_test(unknown_nodes_are_unchanged),
        cmocka_unit_test(each_thread_has_separate_numbers),
        cmocka_unit_test(a_recomputed_forward_belongs_to_the_first_forward),
        cmocka_unit_test(an_operator_has_the_python_stack_of_its_result),
        cmocka_unit_test(the_newest_nodes_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
