/* Blocks of a snapshot are grouped by the call stack that made them. */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "labels.h"
#include "ranges.h"
#include "reader.h"

/* ---- grouping */

/* Returns a number of the block's Python stack, or of its ranges if it has none. */
static uint32_t origin(const struct mpr_gpu_block *b) { return b->python ? b->python : b->node; }

static int by_origin(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = *(const struct mpr_gpu_block *const *)left,
                               *b = *(const struct mpr_gpu_block *const *)right;
    const int order = mpr_compare(origin(a), origin(b));
    return order ? order : mpr_compare(a->capture, b->capture);
}

/* Returns the blocks that @wanted accepts, by origin; the caller frees them. */
static const struct mpr_gpu_block **sorted(const struct mpr_gpu_block *block, size_t blocks,
                                           bool (*wanted)(const struct mpr_gpu_block *),
                                           size_t *count)
{
    const struct mpr_gpu_block **out = mpr_alloc(blocks, sizeof *out);
    *count = 0;
    for (size_t i = 0; i < blocks; i++)
        if (!wanted || wanted(&block[i])) out[(*count)++] = &block[i];
    if (*count) qsort(out, *count, sizeof *out, by_origin);
    return out;
}

/* ---- workspaces */

/* Returns true if the block is as large as the workspace that PyTorch gives to cuBLAS for each
 * handle and stream (aten/src/ATen/cuda/CublasHandlePool.cpp): 8 MiB and a bit, or 32 MiB on
 * Hopper. */
static bool is_workspace(const struct mpr_gpu_block *b)
{
    return b->size == 8519680 || b->size == UINT64_C(32) << 20;
}

static void find_workspaces(struct mpr_block_group *out, struct mpr_arena *arena,
                            const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    enum { LOOKED_AT = 64 }; /* PyTorch has at most this many streams and threads with workspaces */
    size_t count;
    const struct mpr_gpu_block **b = sorted(p->torch, p->torches, is_workspace, &count),
                               *owner = NULL;
    for (size_t i = 0, to; i < count; i = to) {
        struct mpr_block_group group = { .largest = b[i]->size };
        for (to = i; to < count && origin(b[to]) == origin(b[i]); to++) {
            bool is_new_thread = to - i < LOOKED_AT;
            for (size_t k = i; is_new_thread && k < to; k++)
                is_new_thread = b[k]->thread != b[to]->thread;
            group.bytes += b[to]->size;
            group.count++;
            group.threads += is_new_thread;
        }
        if (group.bytes <= out->bytes) continue;
        *out = group;
        owner = b[i];
    }
    if (owner) out->path = mpr_label_node(arena, reader, origin(owner));
    free(b);
}

/* ---- graphs that torch.compile captures */

static bool is_captured_segment(const struct mpr_gpu_block *b)
{
    return b->capture && b->python && mpf_heap_code(b->heap) == MPF_HEAP_DEVICE;
}

/* Returns the function that torch.compile runs in a graph: the call inside of its manager of
 * graphs.  Its function is NULL if the stack has none. */
static struct mpr_python_frame captured_function(const struct mpr_ranges *ranges, uint32_t python)
{
    static const char manager[] = "torch/_inductor/cudagraph_trees.py";
    struct mpr_python_frame inner = { .function = NULL };
    for (uint32_t at = python; at; at = ranges->node[at].parent) {
        const struct mpr_python_frame frame = mpr_ranges_frame(ranges, ranges->node[at].name);
        if (frame.function && strcmp(mpr_python_file(frame.file), manager) == 0) return inner;
        inner = frame;
    }
    return (struct mpr_python_frame){ .function = NULL };
}

/* A segment that was captured in a graph of the function. */
struct captured {
    struct mpr_python_frame function;
    const struct mpr_gpu_block *block;
};

static int compare_functions(const struct captured *a, const struct captured *b)
{
    const int order = strcmp(a->function.function, b->function.function);
    return order ? order : strcmp(a->function.file, b->function.file);
}

MPR_COMPARE(by_function, struct captured,
            compare_functions(a, b) ?: mpr_compare(a->block->capture, b->block->capture))

/* Finds the function whose captures have most bytes.  The owner is its largest segment. */
static void find_captures(struct mpr_block_group *out, struct mpr_arena *arena,
                          const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    struct captured *captured = mpr_alloc(p->drivers, sizeof *captured);
    uint32_t owner = 0;
    size_t count = 0;
    for (size_t i = 0; i < p->drivers; i++) {
        const struct mpr_gpu_block *b = &p->driver[i];
        if (!is_captured_segment(b)) continue;
        captured[count].block = b;
        captured[count].function = captured_function(&reader->replay.ranges, b->python);
        count += captured[count].function.function != NULL;
    }
    if (count) qsort(captured, count, sizeof *captured, by_function);
    for (size_t i = 0, to; i < count; i = to) {
        struct mpr_block_group group = { .bytes = 0 };
        const struct mpr_gpu_block *largest = captured[i].block;
        uint64_t capture_bytes = 0;
        for (to = i; to < count && compare_functions(&captured[to], &captured[i]) == 0; to++) {
            const struct mpr_gpu_block *b = captured[to].block;
            const bool is_next = to == i || b->capture != captured[to - 1].block->capture;
            capture_bytes = (is_next ? 0 : capture_bytes) + b->size;
            group.count += is_next;
            group.bytes += b->size;
            if (capture_bytes > group.largest) group.largest = capture_bytes;
            if (b->size > largest->size ||
                (b->size == largest->size && b->python < largest->python))
                largest = b;
        }
        if (group.bytes <= out->bytes) continue;
        *out = group;
        owner = largest->python;
    }
    if (owner) out->path = mpr_label_node(arena, reader, owner);
    free(captured);
}

/* ---- pools of graphs */

/* Returns the innermost call that both stacks have, or 0.  A node has a larger number than its
 * parent. */
static uint32_t common_call(const struct mpr_ranges *ranges, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a > b) a = ranges->node[a].parent;
        else b = ranges->node[b].parent;
    }
    return a;
}

/* Returns the calls of the segments of graphs.  Small segments do not count: entering a capture
 * allocates as well. */
static struct mpr_path calls_of_graphs(struct mpr_arena *arena, const struct mpr_reader *reader,
                                       const struct mpr_device_snapshot *p)
{
    enum { SMALL_SHARE = 64 };
    const struct mpr_ranges *ranges = &reader->replay.ranges;
    uint64_t all = 0, most = 0;
    uint32_t call = 0, largest = 0;
    for (size_t i = 0; i < p->drivers; i++)
        if (is_captured_segment(&p->driver[i])) all += p->driver[i].size;
    for (size_t i = 0; i < p->drivers; i++) {
        const struct mpr_gpu_block *b = &p->driver[i];
        if (!is_captured_segment(b) || b->size < all / SMALL_SHARE) continue;
        call = most ? common_call(ranges, call, b->python) : b->python;
        if (b->size <= most) continue;
        most = b->size;
        largest = b->python;
    }
    return mpr_label_node(arena, reader, call ? call : largest);
}

/* Finds the capture at whose begin pools had most bytes, and adds up the pools that existed then,
 * with the capture itself. */
static void find_graph_pools(struct mpr_block_group *out, struct mpr_arena *arena,
                             const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    enum { CAPTURES = 1024 }; /* more are left out: their number is squared */
    const struct mpr_gpu *g = &reader->replay.gpu;
    uint64_t *pool_bytes = mpr_alloc(g->shareds + 1, sizeof *pool_bytes);
    for (uint32_t last = 0; last < g->captures && last < CAPTURES; last++) {
        struct mpr_block_group all = { .time = g->capture[last].time };
        if (g->capture[last].device != p->device) continue;
        memset(pool_bytes, 0, (g->shareds + 1) * sizeof *pool_bytes);
        for (uint32_t i = 0; i <= last; i++) {
            const struct mpr_capture *c = &g->capture[i];
            if (!c->shared || c->device != p->device || !c->segment_bytes ||
                !mpr_graph_holds(g, i + 1, all.time))
                continue;
            uint64_t *pool = &pool_bytes[c->shared];
            all.count += !*pool;
            all.bytes += c->segment_bytes;
            *pool += c->segment_bytes;
            if (*pool > all.largest) all.largest = *pool;
        }
        if (all.bytes > out->bytes) *out = all;
    }
    free(pool_bytes);
    if (out->bytes) out->path = calls_of_graphs(arena, reader, p);
}

/* ---- attempts that failed */

/* A failure after which the program tried again. */
struct failure {
    uint64_t time, next; /* ns: of this failure and of the next one on the device */
    uint64_t began;      /* ns: of the attempt; UINT64_MAX: it left nothing */
};

/* Returns the failures on the device before this one, after which the program did not get the
 * memory.  The caller frees them. */
static struct failure *earlier_failures(const struct mpr_gpu *g, const struct mpr_oom *oom,
                                        size_t *count)
{
    struct failure *earlier = mpr_alloc(g->ooms, sizeof *earlier);
    *count = 0;
    for (uint32_t i = 0; i < g->ooms && &g->oom[i] != oom; i++) {
        if (!g->oom[i].hard || mpf_heap_device(g->oom[i].heap) != mpf_heap_device(oom->heap))
            continue;
        if (*count) earlier[*count - 1].next = g->oom[i].time;
        earlier[(*count)++] = (struct failure){ g->oom[i].time, oom->time, UINT64_MAX };
    }
    return earlier;
}

/* Blocks of one call stack. */
struct calls {
    const struct mpr_gpu_block *const *block;
    size_t count;
    uint32_t origin;
};

/* Returns true if the calls were made again after the failure.  @failed: the stack of the newest
 * failure, or 0 if it is not known. */
static bool is_again(const struct calls *c, uint64_t failure, uint32_t failed)
{
    bool again = c->origin == failed;
    for (size_t i = 0; !again && i < c->count; i++) again = c->block[i]->time > failure;
    return again && c->origin;
}

/* Returns true if the block is of one of these attempts. */
static bool is_of_attempt(const struct failure *f, size_t failures, const struct mpr_gpu_block *b)
{
    for (size_t i = 0; i < failures; i++)
        if (b->time >= f[i].began && b->time <= f[i].time) return true;
    return false;
}

/* Adds up the blocks of the attempt that ended with the last of the failures.  It began with a call
 * that was made again afterwards, shortly before the failure, compared with the time until the next
 * one.  A cache that grows also has blocks of earlier calls, but of many. */
static struct mpr_block_group attempt_until(const struct calls *calls, size_t count,
                                            struct failure *failure, size_t failures,
                                            uint32_t failed, uint32_t *owner)
{
    enum { TIMES = 4, MOMENT_NS = 200000000 };
    const struct failure f = failure[failures - 1];
    const uint64_t span = TIMES * (f.next - f.time) + MOMENT_NS,
                   shortly = mpr_saturating_sub(f.time, span),
                   previous = failures > 1 ? failure[failures - 2].time : 0,
                   earliest = shortly > previous ? shortly : previous + 1;
    struct mpr_block_group attempt = { .time = f.time };
    uint64_t older = 0, began = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!is_again(&calls[i], f.time, failed)) continue;
        for (size_t k = 0; k < calls[i].count; k++) {
            const struct mpr_gpu_block *b = calls[i].block[k];
            if (b->time < earliest) older += is_of_attempt(failure, failures - 1, b) ? 0 : b->size;
            else if (b->time < began && b->time <= f.time) began = b->time;
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        for (size_t k = 0; k < calls[i].count; k++) {
            const struct mpr_gpu_block *b = calls[i].block[k];
            if (b->time < began || b->time > f.time) continue;
            bytes += b->size;
            attempt.count++;
        }
        attempt.bytes += bytes;
        if (bytes <= attempt.largest) continue;
        attempt.largest = bytes;
        *owner = calls[i].origin;
    }
    if (older >= attempt.bytes / 4) return (struct mpr_block_group){ .bytes = 0 };
    failure[failures - 1].began = began;
    return attempt;
}

/* Adds up the earlier attempts.  The attempt that left most has the owner and the time. */
static void find_attempt(struct mpr_block_group *out, struct mpr_arena *arena,
                         const struct mpr_reader *reader, const struct mpr_device_snapshot *p,
                         const struct mpr_oom *oom)
{
    enum { FAILURES = 64 }; /* the newest ones: each looks at all blocks */
    const uint32_t failed = oom->python ? oom->python : oom->node;
    size_t failures, blocks, count = 0;
    struct failure *earlier = earlier_failures(&reader->replay.gpu, oom, &failures);
    const struct mpr_gpu_block **b = sorted(p->torch, p->torches, NULL, &blocks);
    struct calls *calls = mpr_alloc(blocks, sizeof *calls);
    uint64_t largest = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < blocks; i++) {
        if (!i || origin(b[i]) != origin(b[i - 1]))
            calls[count++] = (struct calls){ &b[i], 0, origin(b[i]) };
        calls[count - 1].count++;
    }
    for (size_t i = failures > FAILURES ? failures - FAILURES : 0; i < failures; i++) {
        uint32_t owner = 0;
        const struct mpr_block_group attempt =
            attempt_until(calls, count, earlier, i + 1, failed, &owner);
        out->bytes += attempt.bytes;
        out->count += attempt.count;
        out->groups += attempt.bytes > 0;
        if (attempt.bytes <= largest) continue;
        largest = attempt.bytes;
        out->time = attempt.time;
        most = owner;
    }
    if (most) out->path = mpr_label_node(arena, reader, most);
    free(calls);
    free(b);
    free(earlier);
}

void mpr_device_evidence_fill(struct mpr_device_evidence *out, struct mpr_arena *arena,
                              const struct mpr_reader *reader, const struct mpr_device_snapshot *p,
                              const struct mpr_oom *oom)
{
    *out = (struct mpr_device_evidence){ .pool_live = 0 };
    if (!p->valid) return;
    for (size_t i = 0; i < p->drivers; i++)
        if (mpf_heap_code(p->driver[i].heap) == MPF_HEAP_POOL) out->pool_live += p->driver[i].size;
    find_workspaces(&out->workspaces, arena, reader, p);
    find_captures(&out->captures, arena, reader, p);
    find_graph_pools(&out->graph_pools, arena, reader, p);
    if (oom) find_attempt(&out->attempt, arena, reader, p, oom);
}
