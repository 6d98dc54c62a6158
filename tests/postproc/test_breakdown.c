/* Blocks get the roles in training that the events of a log show. Block k has 2^k MiB, so the bytes
 * of a role identify its blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "breakdown.h"
#include "error.h"
#include "mpf/gpu.h"
#include "mpf/slot.h"
#include "testlog.h"

#define MIB      (UINT64_C(1) << 20)
#define T        ((uint8_t)mpf_heap_gpu(MPF_HEAP_TORCH, 0))
#define BLOCK(k) (UINT64_C(1) << (k))

enum { MAIN = 1, AUTOGRAD, TORCH = 7 };
enum { NODE = 11, STEP, GATHER, MINE }; /* names of ranges */
enum {
    NOBODY,
    MAKER,
    MODEL,
    CALL,
    CACHE,
    DDP,
    LAYER,
    KV,
    EMPTY,
    FILE_CACHE,
    CLASS_CACHE,
    NETWORK_CACHE,
    STACKS
}; /* Python stacks */

static struct testlog *out;
static char path[] = "/tmp/test_breakdown.XXXXXX";
static uint64_t now;
static struct mpr_breakdown result, without;

static void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(out, now += 1000000, thread, op, heap, addr, size);
}

static void name(unsigned op, uint64_t id, const char *text)
{
    testlog_data(out, now += 1000000, MAIN, op, id, text, strlen(text));
}

static void frame(uint64_t id, const char *function, const char *file)
{
    uint8_t bytes[128] = { 12 };
    const size_t at = 8 + strlen(function) + 1, end = at + strlen(file) + 1;
    strcpy((char *)bytes + 8, function);
    strcpy((char *)bytes + at, file);
    testlog_data(out, now += 1000000, MAIN, MPF_OP_FRAME, id, bytes, end);
}

/* Defines the stacks main > main and function, innermost first. */
static void stack(uint64_t id, const char *function, const char *file)
{
    const uint64_t frames[] = { id + 100, 100 };
    frame(id + 100, function, file);
    testlog_data(out, now += 1000000, MAIN, MPF_OP_PYTHON, id, frames, sizeof frames);
}

static void begin(void)
{
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    now = 0;
    out = testlog_open(path, NULL);
    name(MPF_OP_DOMAIN, TORCH, "torch");
    name(MPF_OP_NAME, NODE, "MmBackward0");
    name(MPF_OP_NAME, STEP, "Optimizer.step#SGD.step");
    name(MPF_OP_NAME, GATHER, "FSDP::all_gather (layers.0)");
    name(MPF_OP_NAME, MINE, "Backward0");
    frame(100, "main", "train.py");
    stack(MAKER, "load", "data.py");
    stack(MODEL, "Net.cuda", "/v/site-packages/torch/nn/modules/module.py");
    stack(CALL, "Module._call_impl", "/v/site-packages/torch/nn/modules/module.py");
    stack(CACHE, "DynamicCache.update", "cache_utils.py");
    stack(KV, "CacheEngine._allocate_kv_cache", "/v/site-packages/vllm/worker/cache_engine.py");
    stack(EMPTY, "empty_cache", "memory.py");
    stack(FILE_CACHE, "train_step", "empty_cache.py");
    stack(CLASS_CACHE, "PagedCache.__init__", "net.py");
    stack(NETWORK_CACHE, "CacheLayer.__init__", "net.py");
    stack(LAYER, "Linear.__init__", "/v/site-packages/torch/nn/modules/linear.py");
    stack(DDP, "DistributedDataParallel._pre_forward", "distributed.py");
}

/* Host blocks have no effect on a device's blocks. */
static void compare(void)
{
    assert_int_equal(without.heaps, result.heaps);
    for (size_t i = 0; i < result.heaps; i++)
        for (int k = 0; k < MPR_ROLES; k++) {
            assert_int_equal(without.heap[i].role[k].bytes, result.heap[i].role[k].bytes);
            assert_int_equal(without.heap[i].role[k].oldest, result.heap[i].role[k].oldest);
        }
    mpr_breakdown_free(&without);
}

/* Ends the log and reads it. */
static void end_with(struct mpr_instant at, const char *reason)
{
    struct mpr_error error;
    const struct mpr_progress progress = { 0 };
    testlog_close(out, reason);
    assert_int_equal(mpr_breakdown_read(&without, path, at, true, &progress, &error), 0);
    assert_int_equal(mpr_breakdown_read(&result, path, at, false, &progress, &error), 0);
    compare();
    unlink(path);
    strcpy(path + strlen(path) - 6, "XXXXXX");
    assert_int_equal(result.heaps, 1);
    uint64_t bytes = 0;
    for (int i = 0; i < MPR_ROLES; i++) bytes += result.heap[0].role[i].bytes;
    assert_int_equal(bytes, result.heap[0].bytes);
}

static void end_at(struct mpr_instant at) { end_with(at, "exit"); }
static void end(void) { end_at(MPR_INSTANT_PEAK); }

static uint64_t blocks_of(enum mpr_role role) { return result.heap[0].role[role].bytes / MIB; }

static void make(uint32_t thread, unsigned stack, unsigned k)
{
    if (stack) event(thread, MPF_OP_AT_PYTHON, 0, stack, 0);
    event(thread, MPF_OP_ALLOC, T, (k + 1) * (UINT64_C(1) << 40), BLOCK(k) * MIB);
}

static void drop(uint32_t thread, unsigned k)
{
    event(thread, MPF_OP_FREE, T, (k + 1) * (UINT64_C(1) << 40), 0);
}

static void push(uint32_t thread, uint64_t range)
{
    event(thread, MPF_OP_PUSH, 0, (uint64_t)TORCH << 32 | range, 0);
}
static void pop(uint32_t thread) { event(thread, MPF_OP_POP, 0, (uint64_t)TORCH << 32, 0); }

/* Sets the number that the next node gets. */
static void next(uint64_t number) { event(MAIN, MPF_OP_TORCH_NEXT, 0, number, MAIN); }

static void run(uint32_t thread, uint64_t number)
{
    push(thread, NODE);
    event(thread, MPF_OP_TORCH_NODE, 0, number, MAIN);
}

/* ---- tests */

enum { WEIGHT, STATE, GRADIENT, SAVED, LOGITS, BATCH, WORKSPACE, TEMPORARY, TOP };

/* One step. @number: of its only node. */
static void train(uint64_t number, bool first)
{
    if (!first) drop(MAIN, BATCH);
    make(MAIN, MAKER, BATCH);
    if (!first) drop(MAIN, LOGITS);
    make(MAIN, CALL, SAVED);
    if (first) make(MAIN, CALL, WORKSPACE);
    make(MAIN, CALL, TEMPORARY);
    drop(MAIN, TEMPORARY);
    make(MAIN, CALL, LOGITS);
    next(number + 1);
    run(AUTOGRAD, number);
    make(AUTOGRAD, NOBODY, GRADIENT);
    pop(AUTOGRAD);
    drop(AUTOGRAD, SAVED);
    push(MAIN, STEP);
    if (first) make(MAIN, NOBODY, STATE);
    pop(MAIN);
    drop(MAIN, GRADIENT);
}

static void each_role_is_known_at_the_peak(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) train(i, i == 0);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    assert_int_equal(blocks_of(MPR_ROLE_OPTIMIZER), BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_ACTIVATIONS), BLOCK(SAVED));
    assert_int_equal(blocks_of(MPR_ROLE_WORKSPACES), BLOCK(WORKSPACE));
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(BATCH));
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TEMPORARY));
    assert_int_equal(blocks_of(MPR_ROLE_OUTPUTS), 0);
    assert_int_equal(result.heap[0].phase, MPR_PHASE_FORWARD);
    assert_int_equal(result.heap[0].steps, 1);
    assert_int_equal(result.steps, 3);
    assert_int_equal(result.passes, 3);
    mpr_breakdown_free(&result);
}

static void each_step_of_training_has_its_peak(void **state)
{
    const uint64_t first =
        BLOCK(WEIGHT) + BLOCK(BATCH) + BLOCK(SAVED) + BLOCK(WORKSPACE) + BLOCK(TEMPORARY);
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) train(i, i == 0);
    end();
    const struct mpr_breakdown_heap *h = &result.heap[0];
    assert_int_equal(h->step_peaks, 3);
    assert_int_equal(h->step_peak[0] / MIB, first);
    assert_int_equal(h->step_peak[1] / MIB, first + BLOCK(STATE));
    assert_int_equal(h->step_peak[2], h->step_peak[1]);
    mpr_breakdown_free(&result);
}

static void a_chosen_instant_has_its_live_blocks(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    train(0, true);
    push(MAIN, MINE);
    pop(MAIN);
    run(AUTOGRAD, 0); /* the same pass continues, because nothing was allocated in between */
    make(AUTOGRAD, NOBODY, TOP);
    const uint64_t time = now;
    drop(AUTOGRAD, TOP);
    pop(AUTOGRAD);
    train(1, false);
    train(2, false);
    end_at((struct mpr_instant){ time, time });
    assert_int_equal(result.heap[0].bytes / MIB, BLOCK(WEIGHT) + BLOCK(STATE) + BLOCK(LOGITS) +
                                                     BLOCK(BATCH) + BLOCK(WORKSPACE) + BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_OUTPUTS), BLOCK(LOGITS));
    assert_int_equal(result.heap[0].phase, MPR_PHASE_BACKWARD);
    mpr_breakdown_free(&result);
}

/* As with PyTorch Lightning. */
static void a_pass_may_be_inside_the_optimizer_s_step(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) {
        push(MAIN, STEP);
        if (i) drop(MAIN, GRADIENT);
        make(MAIN, CALL, SAVED);
        next(i + 1);
        if (i) drop(MAIN, LOGITS);
        make(MAIN, NOBODY, LOGITS);
        run(AUTOGRAD, i);
        make(AUTOGRAD, NOBODY, GRADIENT);
        drop(AUTOGRAD, SAVED);
        pop(AUTOGRAD);
        if (!i) make(MAIN, NOBODY, STATE);
        make(MAIN, NOBODY, TEMPORARY);
        drop(MAIN, TEMPORARY);
        pop(MAIN);
    }
    end();
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    assert_int_equal(blocks_of(MPR_ROLE_OPTIMIZER), BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_GRADIENTS), BLOCK(GRADIENT));
    assert_int_equal(blocks_of(MPR_ROLE_OUTPUTS), BLOCK(LOGITS));
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TEMPORARY));
    assert_int_equal(result.heap[0].phase, MPR_PHASE_OPTIMIZER);
    mpr_breakdown_free(&result);
}

/* A part of the graph runs on the program's own thread, which allocates in between. */
static void a_backward_pass_continues_after_allocations_of_another_thread(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 2; i++) {
        make(MAIN, CALL, SAVED);
        run(AUTOGRAD, 2 * i);
        make(AUTOGRAD, NOBODY, TOP);
        drop(AUTOGRAD, SAVED);
        pop(AUTOGRAD);
        make(MAIN, NOBODY, TEMPORARY);
        run(MAIN, 2 * i + 1);
        drop(MAIN, TOP);
        pop(MAIN);
        drop(MAIN, TEMPORARY);
    }
    end();
    assert_int_equal(result.passes, 2);
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TOP) + BLOCK(TEMPORARY));
    mpr_breakdown_free(&result);
}

/* Like parameters, it is allocated before the first forward pass, and it has no stack. */
static void the_first_batch_is_an_input(void **state)
{
    (void)state;
    begin();
    make(MAIN, NOBODY, WEIGHT);
    make(MAIN, NOBODY, BATCH);
    for (uint64_t i = 0; i < 3; i++) {
        make(MAIN, CALL, i ? SAVED : TOP);
        run(AUTOGRAD, i);
        drop(AUTOGRAD, i ? SAVED : TOP);
        pop(AUTOGRAD);
        drop(MAIN, BATCH);
        make(MAIN, NOBODY, BATCH);
    }
    end();
    assert_int_equal(blocks_of(MPR_ROLE_ACTIVATIONS), BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(BATCH));
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    mpr_breakdown_free(&result);
}

/* set_to_none=False. GRADIENT and WEIGHT differ by less than the allocator splits off. */
static void kept_gradients_are_found_by_the_size_of_parameters(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) {
        make(MAIN, CALL, SAVED);
        run(AUTOGRAD, i);
        if (!i) event(AUTOGRAD, MPF_OP_ALLOC, T, UINT64_C(1) << 30, MIB + 512);
        if (!i) make(AUTOGRAD, NOBODY, WORKSPACE);
        drop(AUTOGRAD, SAVED);
        pop(AUTOGRAD);
        push(MAIN, STEP);
        pop(MAIN);
    }
    end();
    assert_int_equal(result.heap[0].role[MPR_ROLE_GRADIENTS].bytes, MIB + 512);
    assert_int_equal(blocks_of(MPR_ROLE_WORKSPACES), BLOCK(WORKSPACE));
    assert_int_equal(blocks_of(MPR_ROLE_ACTIVATIONS), BLOCK(SAVED));
    mpr_breakdown_free(&result);
}

/* A sequence number after a backward pass that is no larger than the pass's nodes does not start a
 * forward pass: the next blocks are the next batch. */
static void an_old_sequence_number_starts_no_forward_pass(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) {
        make(MAIN, CALL, SAVED);
        run(AUTOGRAD, i);
        drop(AUTOGRAD, SAVED);
        pop(AUTOGRAD);
        make(MAIN, NOBODY, TEMPORARY);
        drop(MAIN, TEMPORARY);
        next(i + 1);
        if (i) drop(MAIN, BATCH);
        make(MAIN, NOBODY, BATCH);
    }
    make(MAIN, NOBODY, TOP);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(BATCH) + BLOCK(TOP));
    mpr_breakdown_free(&result);
}

static void memory_of_wrappers_has_separate_roles(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 3; i++) {
        if (!i) make(MAIN, DDP, GRADIENT);
        make(MAIN, CALL, SAVED);
        push(MAIN, GATHER);
        make(MAIN, NOBODY, TOP);
        pop(MAIN);
        if (!i) make(MAIN, CACHE, STATE);
        run(AUTOGRAD, i);
        pop(AUTOGRAD);
        drop(AUTOGRAD, SAVED);
        drop(MAIN, TOP);
    }
    end();
    assert_int_equal(blocks_of(MPR_ROLE_GRADIENTS), BLOCK(GRADIENT));
    assert_int_equal(blocks_of(MPR_ROLE_GATHERED), BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_CACHE), BLOCK(STATE));
    mpr_breakdown_free(&result);
}

static void only_calls_of_a_kv_cache_make_a_kv_cache(void **state)
{
    (void)state;
    begin();
    make(MAIN, KV, STATE);
    make(MAIN, EMPTY, SAVED);
    make(MAIN, FILE_CACHE, TOP);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_CACHE), BLOCK(STATE));
    mpr_breakdown_free(&result);
}

/* A block of another address than make() gives. */
static void make_equal(unsigned stack, unsigned k)
{
    event(MAIN, MPF_OP_AT_PYTHON, 0, stack, 0);
    event(MAIN, MPF_OP_ALLOC, T, (k + 1) * (UINT64_C(1) << 40) + BLOCK(k) * MIB, BLOCK(k) * MIB);
}

static void equal_blocks_of_a_class_named_cache_are_a_kv_cache(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    make(MAIN, CLASS_CACHE, STATE);
    make_equal(CLASS_CACHE, STATE);
    make(MAIN, CALL, SAVED);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_CACHE), 2 * BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    mpr_breakdown_free(&result);
}

static void one_block_of_a_class_named_cache_is_other_data(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    make(MAIN, CLASS_CACHE, STATE);
    make(MAIN, NETWORK_CACHE, BATCH);
    make_equal(NETWORK_CACHE, BATCH);
    make(MAIN, CALL, SAVED);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_CACHE), 0);
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT) + 2 * BLOCK(BATCH));
    mpr_breakdown_free(&result);
}

/* A range of the program is not a node, whatever its name is. */
static void without_passes_there_are_parameters_caches_and_temporaries(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    make(MAIN, MAKER, BATCH);
    make(MAIN, NOBODY, TOP);
    make(MAIN, CALL, SAVED);
    event(MAIN, MPF_OP_PUSH, 0, MINE, 0);
    make(MAIN, CACHE, STATE);
    event(MAIN, MPF_OP_POP, 0, 0, 0);
    make(MAIN, CALL, WORKSPACE);
    drop(MAIN, SAVED);
    drop(MAIN, BATCH);
    drop(MAIN, STATE);
    drop(MAIN, TOP);
    make(MAIN, CALL, LOGITS);
    end();
    assert_int_equal(result.passes, 0);
    assert_int_equal(blocks_of(MPR_ROLE_UNEXPLAINED), BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    assert_int_equal(blocks_of(MPR_ROLE_CACHE), BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(SAVED));
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(BATCH));
    assert_int_equal(blocks_of(MPR_ROLE_WORKSPACES), BLOCK(WORKSPACE));
    mpr_breakdown_free(&result);
}

/* No pass ends, and no block is allocated after these were freed: the end of the interpreter freed
 * them. */
static void blocks_freed_at_the_end_of_the_program_are_not_temporary(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    make(MAIN, CALL, SAVED);
    make(MAIN, MAKER, TOP); /* by the program, outside of modules */
    make(MAIN, MAKER, STATE);
    make(MAIN, CALL, TEMPORARY);
    drop(MAIN, TEMPORARY);
    drop(MAIN, STATE);
    make(MAIN, CALL, GRADIENT);
    drop(MAIN, TOP);
    drop(MAIN, SAVED);
    drop(MAIN, WEIGHT);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TEMPORARY));
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_UNEXPLAINED), BLOCK(STATE));
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    mpr_breakdown_free(&result);
}

/* Validation after training, without torch.no_grad(), until the interpreter frees the kept
 * blocks. */
static void blocks_freed_at_the_end_of_training_are_not_temporary(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    train(0, true);
    train(1, false);
    make(MAIN, CALL, SAVED);
    make(MAIN, CALL, TEMPORARY);
    drop(MAIN, TEMPORARY);
    make(MAIN, CALL, TOP);
    drop(MAIN, TOP);
    drop(MAIN, SAVED);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), 0);
    assert_int_equal(blocks_of(MPR_ROLE_UNEXPLAINED), BLOCK(SAVED) + BLOCK(TOP));
    mpr_breakdown_free(&result);
}

/* Validation without torch.no_grad() keeps the graph of each batch. */
static void kept_blocks_are_not_workspaces(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    train(0, true);
    train(1, false);
    for (uint64_t i = 0; i < 3; i++) {
        event(MAIN, MPF_OP_AT_PYTHON, 0, CALL, 0);
        event(MAIN, MPF_OP_ALLOC, T, (i + 1) << 30, 1024 * MIB);
    }
    make(MAIN, CALL, TOP);
    train(2, false);
    train(3, false);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_UNEXPLAINED), 3 * 1024 + BLOCK(TOP));
    assert_int_equal(blocks_of(MPR_ROLE_WORKSPACES), BLOCK(WORKSPACE));
    mpr_breakdown_free(&result);
}

/* The address of a live block is allocated again, because its free was lost. */
static void a_block_whose_free_was_lost_is_gone(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    make(MAIN, CALL, SAVED);
    event(MAIN, MPF_OP_ALLOC, T, (SAVED + 1) * (UINT64_C(1) << 40), BLOCK(TOP) * MIB);
    end();
    assert_int_equal(result.heap[0].bytes / MIB, BLOCK(WEIGHT) + BLOCK(TOP));
    mpr_breakdown_free(&result);
}

/* If there is only one pass, a block that outlives it may be an output, a gradient or a workspace.
 * A module's weight is recognised by its stack, its gradient by its size. */
static void a_single_pass_shows_no_workspaces(void **state)
{
    (void)state;
    begin();
    make(MAIN, LAYER, WEIGHT);
    make(MAIN, NOBODY, STATE);
    make(MAIN, MAKER, BATCH);
    make(MAIN, CALL, WORKSPACE);
    make(MAIN, CALL, LOGITS);
    next(1);
    run(AUTOGRAD, 0);
    event(AUTOGRAD, MPF_OP_ALLOC, T, UINT64_C(1) << 30, MIB); /* as large as WEIGHT */
    make(AUTOGRAD, NOBODY, TOP);
    pop(AUTOGRAD);
    drop(MAIN, LOGITS);
    event(MAIN, MPF_OP_FREE, T, UINT64_C(1) << 30, 0);
    drop(MAIN, STATE);
    drop(MAIN, BATCH);
    drop(MAIN, WEIGHT);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_PARAMETERS), BLOCK(WEIGHT));
    assert_int_equal(blocks_of(MPR_ROLE_GRADIENTS), 1);
    assert_int_equal(blocks_of(MPR_ROLE_OUTPUTS), BLOCK(LOGITS));
    assert_int_equal(blocks_of(MPR_ROLE_INPUTS), BLOCK(BATCH));
    assert_int_equal(blocks_of(MPR_ROLE_UNEXPLAINED), BLOCK(WORKSPACE) + BLOCK(STATE) + BLOCK(TOP));
    mpr_breakdown_free(&result);
}

/* The process is killed in its first backward pass, before activations of the forward pass are
 * freed. */
static void an_unfinished_pass_has_its_activations(void **state)
{
    (void)state;
    begin();
    make(MAIN, LAYER, WEIGHT);
    make(MAIN, CALL, SAVED);
    next(1);
    run(AUTOGRAD, 0);
    make(AUTOGRAD, NOBODY, TEMPORARY);
    drop(AUTOGRAD, TEMPORARY);
    end_with(MPR_INSTANT_PEAK, "SIGTERM");
    assert_int_equal(blocks_of(MPR_ROLE_ACTIVATIONS), BLOCK(SAVED));
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TEMPORARY));
    mpr_breakdown_free(&result);
}

static void blocks_that_outlive_a_capture_belong_to_the_graph(void **state)
{
    (void)state;
    begin();
    make(MAIN, MODEL, WEIGHT);
    for (uint64_t i = 0; i < 2; i++) train(i, i == 0);
    make(MAIN, CALL, GRADIENT);
    event(MAIN, MPF_OP_CAPTURE_BEGIN, 0, 5, 0);
    event(MAIN, MPF_OP_ALLOC, T, UINT64_C(1) << 30, 1024 * MIB);
    make(MAIN, CALL, SAVED);
    drop(MAIN, SAVED);
    event(MAIN, MPF_OP_ALLOC, T, UINT64_C(1) << 31, 512 * MIB);
    event(MAIN, MPF_OP_CAPTURE_END, 0, 5, 0);
    make(MAIN, CALL, TEMPORARY);
    event(MAIN, MPF_OP_FREE, T, UINT64_C(1) << 30, 0);
    drop(MAIN, TEMPORARY);
    event(MAIN, MPF_OP_ALLOC, T, UINT64_C(1) << 32, 1);
    end();
    assert_int_equal(blocks_of(MPR_ROLE_GRAPHS), 1024 + 512);
    assert_int_equal(blocks_of(MPR_ROLE_TEMPORARIES), BLOCK(TEMPORARY));
    assert_int_equal(blocks_of(MPR_ROLE_ACTIVATIONS), BLOCK(GRADIENT));
    mpr_breakdown_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_is_known_at_the_peak),
        cmocka_unit_test(each_step_of_training_has_its_peak),
        cmocka_unit_test(a_chosen_instant_has_its_live_blocks),
        cmocka_unit_test(a_pass_may_be_inside_the_optimizer_s_step),
        cmocka_unit_test(a_backward_pass_continues_after_allocations_of_another_thread),
        cmocka_unit_test(the_first_batch_is_an_input),
        cmocka_unit_test(kept_gradients_are_found_by_the_size_of_parameters),
        cmocka_unit_test(an_old_sequence_number_starts_no_forward_pass),
        cmocka_unit_test(memory_of_wrappers_has_separate_roles),
        cmocka_unit_test(without_passes_there_are_parameters_caches_and_temporaries),
        cmocka_unit_test(only_calls_of_a_kv_cache_make_a_kv_cache),
        cmocka_unit_test(equal_blocks_of_a_class_named_cache_are_a_kv_cache),
        cmocka_unit_test(one_block_of_a_class_named_cache_is_other_data),
        cmocka_unit_test(blocks_freed_at_the_end_of_the_program_are_not_temporary),
        cmocka_unit_test(blocks_freed_at_the_end_of_training_are_not_temporary),
        cmocka_unit_test(kept_blocks_are_not_workspaces),
        cmocka_unit_test(a_block_whose_free_was_lost_is_gone),
        cmocka_unit_test(a_single_pass_shows_no_workspaces),
        cmocka_unit_test(an_unfinished_pass_has_its_activations),
        cmocka_unit_test(blocks_that_outlive_a_capture_belong_to_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
