/* Replay of device memory: blocks belong to the right library, Python stack or communicator. */
#include "gpu_test.h"

/* ---- owners */

static const char *library_of(uint64_t addr)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&gpu()->driver, addr);
    assert_non_null(b);
    return mpr_sites_library_name(&replay.sites, b->library);
}

static void the_owner_is_the_first_file_outside_cuda(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x51, 0);
    alloc(D, A, MIB);
    event(1, MPF_OP_AT, 0, 0x52, 0);
    alloc(D, B, MIB);
    assert_string_equal(library_of(A), "libc10_cuda.so");
    assert_string_equal(library_of(B), "libnccl.so.2");
    end_replay();
}

static void a_call_stack_applies_only_to_the_next_event(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x52, 0);
    event(1, MPF_OP_GPU_CONTEXT, 0, 0xc1, 0);
    alloc(D, A, MIB);
    alloc(D, B, MIB);
    assert_string_equal(library_of(A), "libnccl.so.2");
    assert_string_equal(library_of(B), "");
    end_replay();
}

static void a_call_stack_applies_only_to_its_thread(void **state)
{
    (void)state;
    begin();
    modules();
    event(1, MPF_OP_AT, 0, 0x52, 0);
    event(2, MPF_OP_ALLOC, D, A, MIB);
    event(1, MPF_OP_ALLOC, D, B, MIB);
    assert_string_equal(library_of(A), "");
    assert_string_equal(library_of(B), "libnccl.so.2");
    end_replay();
}

static uint32_t depth_of(uint64_t addr)
{
    uint32_t depth = 0;
    for (uint32_t node =
             mpr_sites_of(&replay.sites, mpr_gpu_blocks_find(&gpu()->driver, addr)->site).stack;
         node; depth++)
        node = replay.sites.stacks.node[node].parent;
    return depth;
}

static void frames_of_driver_callbacks_are_removed_from_a_stack(void **state)
{
    (void)state;
    begin();
    modules();
    module(0xb000, 0xc000, "/usr/local/cuda/lib64/libcupti.so.13");
    WORDS(1, MPF_OP_STACK, 0, 0x55, 0xb200, 0xb100, 0x1100, 0x9100, 0x3100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x56, 0xb200, 0x1100);
    const uint64_t listened = A, plain = B, nothing_else = B + MIB;
    event(1, MPF_OP_AT, 0, 0x55, 0);
    alloc(D, listened, MIB);
    event(1, MPF_OP_AT, 0, 0x51, 0);
    alloc(D, plain, MIB);
    event(1, MPF_OP_AT, 0, 0x56, 0);
    alloc(D, nothing_else, MIB);
    assert_int_equal(depth_of(listened), 2);
    assert_int_equal(depth_of(plain), 4);
    assert_int_equal(depth_of(nothing_else), 2);
    end_replay();
}

/* The address of an unloaded file is reused for another file. */
static void a_newer_file_replaces_an_unloaded_one(void **state)
{
    (void)state;
    begin();
    modules();
    module(0x5000, 0x6000, "/usr/lib/libcublasLt.so.13");
    WORDS(1, MPF_OP_STACK, 0, 0x54, 0x5100);
    event(1, MPF_OP_AT, 0, 0x54, 0);
    alloc(D, A, MIB);
    assert_string_equal(library_of(A), "libcublasLt.so.13");
    end_replay();
}

static void frame(uint64_t id, uint64_t line, const char *function, const char *file)
{
    uint8_t bytes[256];
    const size_t name = strlen(function) + 1;
    memcpy(bytes, &line, sizeof line);
    memcpy(bytes + 8, function, name);
    memcpy(bytes + 8 + name, file, strlen(file) + 1);
    data(1, MPF_OP_FRAME, 0, id, bytes, 8 + name + strlen(file) + 1);
}

static const char *name_of(uint32_t name)
{
    size_t bytes;
    return mpr_texts_get(&replay.ranges.names, name, &bytes);
}

static void python_stacks_apply_only_to_the_next_event(void **state)
{
    (void)state;
    begin();
    frame(0xf1, 41, "loss", "/app/cross_entropy.py");
    frame(0xf2, 212, "main", "/app/train.py");
    WORDS(1, MPF_OP_PYTHON, 0, 0x91, 0xf1, 0xf2);
    event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
    alloc(T, A, MIB);
    alloc(T, B, MIB);
    const uint32_t node = mpr_gpu_blocks_find(&gpu()->torch, A)->python;
    assert_int_equal(replay.ranges.node[node].depth, 2);
    const struct mpr_python_frame f =
        mpr_ranges_frame(&replay.ranges, replay.ranges.node[node].name);
    assert_string_equal(f.function, "loss");
    assert_string_equal(f.file, "/app/cross_entropy.py");
    assert_int_equal(f.line, 41);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->torch, B)->python, 0);
    end_replay();
}

/* Returns the node of a block with the stack layer < forward < main, in PyTorch's range of that
 * name and, with `inner`, in another one. */
static const struct mpr_node *node_in_wrapper(enum mpr_group by, const char *domain,
                                              const char *name, bool inner)
{
    enum { DOMAIN = 7, WRAPPER = 1, INNER };
    begin_with((struct mpr_replay_options){ .by = by, .at = MPR_INSTANT_PEAK });
    data(1, MPF_OP_DOMAIN, 0, DOMAIN, domain, strlen(domain));
    data(1, MPF_OP_NAME, 0, WRAPPER, name, strlen(name));
    data(1, MPF_OP_NAME, 0, INNER, "inner", 5);
    frame(0xf1, 8, "Linear.forward [module.head]", "/app/linear.py");
    frame(0xf2, 41, "Wrapper.forward [x]", "/torch/wrapper.py");
    frame(0xf3, 212, "main", "/app/train.py");
    WORDS(1, MPF_OP_PYTHON, 0, 0x91, 0xf1, 0xf2, 0xf3);
    push(1, DOMAIN, WRAPPER);
    if (inner) push(1, DOMAIN, INNER);
    for (uint64_t i = 0; i < 2; i++) {
        event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
        alloc(T, A + i * MIB, MIB);
    }
    event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
    event(1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x5000, MIB);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->torch, A)->node,
                     mpr_gpu_blocks_find(&gpu()->torch, A + MIB)->node);
    end();
    return &replay.ranges.node[mpr_gpu_blocks_find(&gpu()->torch, A)->node];
}

static uint64_t host_bytes_of(const struct mpr_node *node)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        if (replay.accounts.cell[i].heap == MPF_HEAP_HOST &&
            replay.accounts.cell[i].key == (uint64_t)(node - replay.ranges.node))
            bytes += replay.accounts.cell[i].bytes;
    return bytes;
}

static void the_range_of_a_wrapper_is_extended_by_the_frames_inside_it(void **state)
{
    (void)state;
    const struct mpr_node *n = node_in_wrapper(MPR_GROUP_AUTO, "torch", "Wrapper.forward", false);
    assert_int_equal(n->depth, 2);
    assert_string_equal(name_of(n->name), "Linear.forward [module.head]");
    assert_string_equal(name_of(replay.ranges.node[n->parent].name), "Wrapper.forward");
    assert_int_equal(host_bytes_of(n), MIB);
    end_replay();
}

static void other_ranges_are_not_extended(void **state)
{
    (void)state;
    static const struct {
        enum mpr_group by;
        const char *domain, *name;
        bool inner;
        const char *innermost;
    } other[] = {
        { MPR_GROUP_RANGE, "torch", "Wrapper.forward", false, "Wrapper.forward" },
        { MPR_GROUP_AUTO, "mine", "Wrapper.forward", false, "Wrapper.forward" },
        { MPR_GROUP_AUTO, "torch", "Wrapper.forw", false, "Wrapper.forw" },
        { MPR_GROUP_AUTO, "torch", "Wrapper.forward", true, "inner" },
        /* The innermost frame. */
        { MPR_GROUP_AUTO, "torch", "Linear.forward", false, "Linear.forward" },
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const struct mpr_node *n =
            node_in_wrapper(other[i].by, other[i].domain, other[i].name, other[i].inner);
        assert_string_equal(name_of(n->name), other[i].innermost);
        assert_int_equal(n->depth, other[i].inner ? 2 : 1);
        end_replay();
    }
}

static void the_range_of_a_wrapper_may_end_a_path(void **state)
{
    enum { TORCH = 7, WRAPPER = 1, OTHER, FRAMES = 60 };
    uint64_t stack[FRAMES + 1];
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    data(1, MPF_OP_DOMAIN, 0, TORCH, "torch", 5);
    data(1, MPF_OP_NAME, 0, WRAPPER, "Wrapper.forward", 15);
    for (uint64_t i = 0; i < FRAMES; i++) frame(stack[i] = 0x100 + i, i, "call", "/app/train.py");
    frame(stack[FRAMES] = 0xff, 41, "Wrapper.forward", "/torch/wrapper.py");
    data(1, MPF_OP_PYTHON, 0, 0x91, stack, sizeof stack);
    for (uint32_t i = 0; i < MPR_PATH_MAX - 10; i++) push(1, TORCH, OTHER);
    push(1, TORCH, WRAPPER);
    event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
    alloc(T, A, MIB);
    assert_int_equal(replay.ranges.node[mpr_gpu_blocks_find(&gpu()->torch, A)->node].depth,
                     MPR_PATH_MAX);
    end_replay();
}

/* Blocks of 64 KiB with a mean of 512 KiB have their stack once in 1 / (1 - exp(-1/8)) = 8.5104
 * times. */
static void sampled_blocks_of_pytorch_represent_other_blocks(void **state)
{
    enum { SMALL = 64 << 10, STANDS_FOR = 557738 };
    uint64_t more = 0;
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_PYTHON,
                                            .at = MPR_INSTANT_PEAK,
                                            .torch_sample_mean = 512 << 10,
                                            .sample_below = MIB });
    frame(0xf1, 41, "loss", "/app/cross_entropy.py");
    WORDS(1, MPF_OP_PYTHON, 0, 0x91, 0xf1);
    for (uint64_t i = 0; i < 3; i++) { /* all blocks of the third kind have their stack */
        event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
        alloc(T, A + i * MIB, i < 2 ? SMALL : MIB);
    }
    alloc(T, B, SMALL);
    event(1, MPF_OP_AT_PYTHON, 0, 0x91, 0);
    alloc(D, A, SMALL); /* all blocks of the driver have their stack */
    event(1, MPF_OP_FREE, T, A, 0);
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        more += (uint64_t)mpr_estimates_at_peak(&replay.estimates, &replay.accounts, i).bytes;
    assert_int_equal(more, 2 * (STANDS_FOR - SMALL));
    const uint32_t cell = mpr_gpu_blocks_find(&gpu()->torch, A + MIB)->cell;
    assert_int_equal(replay.estimates.cell[cell].now.bytes, STANDS_FOR - SMALL);
    event(1, MPF_OP_FREE, T, A + MIB, 0);
    assert_int_equal(replay.estimates.cell[cell].live, 0);
    end_replay();
}

/* ---- NCCL's communicators */

static size_t entry(uint8_t *at, uint64_t type, uint64_t offset, const char *name)
{
    memcpy(at, &type, 8);
    memcpy(at + 8, &offset, 8);
    memcpy(at + 16, name, strlen(name) + 1);
    return 16 + strlen(name) + 1;
}

enum { NCCL = 7, INIT = 3, REDUCE = 4 };

static void nccl(void)
{
    uint8_t bytes[256];
    data(1, MPF_OP_DOMAIN, 0, NCCL, "NCCL", 4);
    size_t n = entry(bytes, 18, 0, "NCCL communicator ID");
    n += entry(bytes + n, 5, 8, "No. of ranks");
    n += entry(bytes + n, 5, 12, "Rank");
    data(1, MPF_OP_SCHEMA, 0, 100, bytes, n);
    n = entry(bytes, 18, 0, "NCCL communicator ID");
    n += entry(bytes + n, 22, 8, "Message size [bytes]");
    data(1, MPF_OP_SCHEMA, 0, 101, bytes, n);
    modules();
}

static void init_payload(uint64_t id, uint32_t ranks, uint32_t rank)
{
    const struct {
        uint64_t id;
        uint32_t ranks, rank;
    } payload = { id, ranks, rank };
    data(1, MPF_OP_RANGE_DATA, 0, 100, &payload, sizeof payload);
}

static void nccl_alloc(uint32_t thread, uint64_t addr)
{
    event(thread, MPF_OP_AT, 0, 0x52, 0);
    event(thread, MPF_OP_ALLOC, D, addr, MIB);
}

static void nccls_memory_belongs_to_the_active_communicator(void **state)
{
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    init_payload(0x9f3c, 8, 5);
    nccl_alloc(1, A);
    nccl_alloc(2, A + MIB); /* by a helper thread without ranges */
    pop(1, NCCL);
    push(1, NCCL, REDUCE);
    WORDS(1, MPF_OP_RANGE_DATA, 0, 101, 0x9f3c, 1024);
    pop(1, NCCL);
    alloc(D, B, MIB); /* not by NCCL */
    assert_int_equal(gpu()->comms.count, 1);
    const struct mpr_comm *comm = gpu()->comms.comm;
    assert_int_equal(comm->id, 0x9f3c);
    assert_int_equal(comm->ranks, 8);
    assert_int_equal(comm->rank, 5);
    assert_int_equal(comm->first_use, REDUCE);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A + MIB)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->comm, 0);
    end_replay();
}

/* NCCL does not name the communicator that a split makes. Later payloads name it: the first of its
 * collective, or that of its end. An init names its own. */
static void memory_of_a_split_belongs_to_the_next_unknown_communicator(void **state)
{
    enum { SPLIT = 9, NAMED_INIT = 10, DESTROY = 11 };
    (void)state;
    begin();
    nccl();
    data(1, MPF_OP_NAME, 0, SPLIT, "ncclCommSplit", 13);
    data(1, MPF_OP_NAME, 0, NAMED_INIT, "ncclCommInitRank", 16);
    push(1, NCCL, NAMED_INIT);
    nccl_alloc(1, A);
    pop(1, NCCL);
    init_payload(0x9f3c, 8, 5);
    push(1, NCCL, SPLIT); /* without a communicator for this rank */
    pop(1, NCCL);
    for (int i = 0; i < 2; i++) {
        push(1, NCCL, SPLIT);
        nccl_alloc(1, B + (uint64_t)i * MIB);
        pop(1, NCCL);
    }
    push(1, NCCL, NAMED_INIT);
    pop(1, NCCL);
    init_payload(0x77aa, 2, 0);
    push(1, NCCL, REDUCE);
    WORDS(1, MPF_OP_RANGE_DATA, 0, 101, 0x11b0, 1024);
    nccl_alloc(1, B + 2 * MIB);
    pop(1, NCCL);
    push(1, NCCL, DESTROY);
    pop(1, NCCL);
    init_payload(0x22c1, 8, 5);
    const struct mpr_comm *comm = gpu()->comms.comm;
    assert_int_equal(gpu()->comms.count, 4);
    assert_int_equal(comm[0].id, 0x9f3c);
    assert_int_equal(comm[1].id, 0x11b0);
    assert_int_equal(comm[1].first_use, REDUCE);
    assert_int_equal(comm[2].id, 0x22c1);
    assert_int_equal(comm[2].first_use, 0);
    assert_int_equal(comm[3].id, 0x77aa);
    assert_false(comm[0].split || comm[3].split);
    const uint64_t at[] = { A, B, B + MIB, B + 2 * MIB };
    const uint32_t owner[] = { 1, 2, 3, 2 };
    for (int i = 0; i < 4; i++)
        assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, at[i])->comm, owner[i]);
    end_replay();
}

static void communicators_are_distinguished(void **state)
{
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    init_payload(0x9f3c, 8, 5);
    nccl_alloc(1, A);
    pop(1, NCCL);
    push(1, NCCL, INIT);
    init_payload(0x11b0, 2, 1);
    nccl_alloc(1, B);
    pop(1, NCCL);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, A)->comm, 1);
    assert_int_equal(mpr_gpu_blocks_find(&gpu()->driver, B)->comm, 2);
    assert_int_equal(gpu()->comms.comm[1].ranks, 2);
    end_replay();
}

static uint32_t comm_of(uint64_t addr) { return mpr_gpu_blocks_find(&gpu()->driver, addr)->comm; }

/* NCCL's init knows its communicator only at its end, and reports it with the pop. */
static void what_an_init_allocated_belongs_to_the_communicator_of_its_pop(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_COMM, .at = MPR_INSTANT_PEAK });
    modules();
    nccl();
    push(1, NCCL, INIT);
    nccl_alloc(1, A);
    pop(1, NCCL);
    init_payload(0x9f3c, 8, 5);
    push(1, NCCL, INIT);
    push(1, NCCL, REDUCE);
    pop(1, NCCL);
    nccl_alloc(2, B); /* by a helper thread without ranges */
    event(2, MPF_OP_AT, 0, 0x52, 0);
    event(2, MPF_OP_HANDLE_NEW, D, 0x70, MIB);
    assert_int_equal(comm_of(B), 1);
    pop(1, NCCL);
    init_payload(0x11b0, 2, 1);
    assert_int_equal(comm_of(A), 1);
    assert_int_equal(comm_of(B), 2);
    assert_int_equal(gpu()->object[0].block.comm, 2);
    assert_int_equal(gpu()->comms.comm[0].ranks, 8);
    assert_int_equal(gpu()->comms.comm[1].rank, 1);
    assert_int_equal(gpu()->comms.comm[1].first_use, 0);
    uint64_t second = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++)
        second += replay.accounts.cell[i].key == 2 ? replay.accounts.cell[i].bytes : 0;
    assert_int_equal(second, 2 * MIB);
    assert_int_equal(heap(D)->bytes, 3 * MIB);
    end_replay();
}

/* ncclCommSuspend releases memory and keeps the addresses. ncclCommResume does not report whose
 * memory it maps. */
static void memory_of_a_resumed_communicator_belongs_to_it(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_COMM, .at = MPR_INSTANT_PEAK });
    nccl();
    for (uint64_t i = 0; i < 2; i++) {
        push(1, NCCL, INIT);
        event(1, MPF_OP_AT, 0, 0x52, 0);
        event(1, MPF_OP_HANDLE_NEW, D, 0x70 + i, MIB);
        WORDS(1, MPF_OP_HANDLE_MAP, 0, 0x70 + i, A + i * MIB, MIB, 0);
        pop(1, NCCL);
        init_payload(0x9f3c + i, 8, 5);
    }
    event(1, MPF_OP_HANDLE_UNMAP, 0, A, MIB);
    event(1, MPF_OP_HANDLE_DROP, 0, 0x70, 0);
    assert_int_equal(heap(D)->bytes, MIB);
    event(1, MPF_OP_AT, 0, 0x52, 0);
    event(1, MPF_OP_HANDLE_NEW, D, 0x72, MIB);
    assert_int_equal(gpu()->object[0].block.comm, 2); /* guessed: the newest one */
    WORDS(1, MPF_OP_HANDLE_MAP, 0, 0x72, A, MIB, 0);
    assert_int_equal(gpu()->object[0].block.comm, 1);
    end_replay();
}

/* The payload of a pop does not open a communicator. */
static void after_an_init_a_range_names_its_own_communicator(void **state)
{
    (void)state;
    begin();
    modules();
    nccl();
    push(1, NCCL, INIT);
    pop(1, NCCL);
    init_payload(0x9f3c, 8, 5);
    push(1, NCCL, REDUCE);
    WORDS(1, MPF_OP_RANGE_DATA, 0, 101, 0x11b0, 1024);
    nccl_alloc(1, A);
    pop(1, NCCL);
    init_payload(0x9f3c, 8, 5);
    assert_int_equal(comm_of(A), 2);
    assert_int_equal(gpu()->comms.comm[1].first_use, REDUCE);
    end_replay();
}

static void a_payload_that_is_too_short_is_ignored(void **state)
{
    const uint32_t half = 5;
    (void)state;
    begin();
    nccl();
    push(1, NCCL, INIT);
    data(1, MPF_OP_RANGE_DATA, 0, 100, &half, sizeof half);
    data(1, MPF_OP_RANGE_DATA, 0, 999, &half, sizeof half);
    assert_int_equal(gpu()->comms.count, 0);
    end_replay();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_is_the_first_file_outside_cuda),
        cmocka_unit_test(frames_of_driver_callbacks_are_removed_from_a_stack),
        cmocka_unit_test(a_call_stack_applies_only_to_the_next_event),
        cmocka_unit_test(a_call_stack_applies_only_to_its_thread),
        cmocka_unit_test(a_newer_file_replaces_an_unloaded_one),
        cmocka_unit_test(python_stacks_apply_only_to_the_next_event),
        cmocka_unit_test(the_range_of_a_wrapper_is_extended_by_the_frames_inside_it),
        cmocka_unit_test(other_ranges_are_not_extended),
        cmocka_unit_test(the_range_of_a_wrapper_may_end_a_path),
        cmocka_unit_test(sampled_blocks_of_pytorch_represent_other_blocks),
        cmocka_unit_test(nccls_memory_belongs_to_the_active_communicator),
        cmocka_unit_test(memory_of_a_split_belongs_to_the_next_unknown_communicator),
        cmocka_unit_test(communicators_are_distinguished),
        cmocka_unit_test(what_an_init_allocated_belongs_to_the_communicator_of_its_pop),
        cmocka_unit_test(memory_of_a_resumed_communicator_belongs_to_it),
        cmocka_unit_test(after_an_init_a_range_names_its_own_communicator),
        cmocka_unit_test(a_payload_that_is_too_short_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
