#include "gpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "backward.h"
#include "gpu_book.h"
#include "gpu_peaks.h"
#include "instants.h"
#include "mpf/header.h"
#include "mpf/sample.h"
#include "mpf/slot.h"
#include "picture.h"

void mpr_gpu_init(struct mpr_gpu *g)
{
    for (int i = 0; i < MPF_GPUS; i++)
        g->device[i].used = g->device[i].others = g->device[i].total = g->device[i].file_cache =
            MPF_UNKNOWN;
}

void mpr_gpu_free(struct mpr_gpu *g)
{
    mpr_gpu_blocks_free(&g->driver);
    mpr_gpu_blocks_free(&g->torch);
    mpr_comms_free(&g->comms);
    for (int i = 0; i < MPF_GPUS; i++) mpr_picture_free(&g->device[i].peak);
    for (uint32_t i = 0; i < g->ooms; i++) mpr_picture_free(&g->oom[i].picture);
    free(g->object);
    mpr_index_free(&g->handles);
    mpr_index_free(&g->owed);
    mpr_intervals_free(&g->maps);
    mpr_intervals_free(&g->unmapped);
    free(g->slept);
    mpr_index_free(&g->slept_at);
    mpr_pools_free(g);
    free(g->capture);
    mpr_index_free(&g->captured);
    free(g->shared);
    mpr_index_free(&g->shared_of);
    free(g->graph);
    mpr_index_free(&g->executable);
    free(g->guess);
    free(g->oom);
}

/* ---- blocks */

/* The driver gave `bytes` of the device to an allocation. */
static void make_room(struct mpr_replay *r, unsigned device, uint64_t bytes)
{
    const uint64_t total = r->gpu.device[device].total;
    if (total && total != MPF_UNKNOWN) mpr_pools_limit(r, device, mpr_less(total, bytes));
}

static void on_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool torch = mpr_gpu_of_torch(e);
    struct mpr_gpu_blocks *table = torch ? &r->gpu.torch : &r->gpu.driver;
    struct mpr_gpu_block b, old;
    if (!e->addr) return;
    if (torch && t->forward && t->at.python) mpr_forward_block(t);
    if (mpr_gpu_blocks_take(table, e->addr, &old)) { /* its free was not seen */
        mpr_gpu_gone(r, &old);
        mpr_gpu_books_remove(r, &old);
        r->books.heap[old.heap].missed++;
    }
    if (mpf_heap_code(e->heap) == MPF_HEAP_DEVICE) make_room(r, mpf_heap_device(e->heap), e->size);
    mpr_gpu_book(r, t, e, &b);
    if (mpf_heap_code(b.heap) == MPF_HEAP_POOL) t->gpu.pool_site = b.site;
    mpr_gpu_seen(r, &b, b.time);
    mpr_gpu_blocks_put(table, &b);
    mpr_gpu_guess(r, &b, 0);
    if (!torch && mpf_heap_code(b.heap) == MPF_HEAP_DEVICE)
        mpr_gpu_explain(r, mpf_heap_device(b.heap), mpr_amount(b.size));
    mpr_graph_count(&r->gpu, &b, torch);
    mpr_oom_got_over(r, t, &b, torch);
    if (mpf_heap_is_gpu(e->heap)) mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
}

static void freed(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    r->books.heap[b->heap].frees++;
    mpr_gpu_gone(r, b);
    mpr_gpu_books_remove(r, b);
    if (mpf_heap_code(b->heap) == MPF_HEAP_DEVICE)
        mpr_gpu_explain(r, mpf_heap_device(b->heap), -mpr_amount(b->size));
}

static void on_torch_free(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_gpu_block b;
    mpr_gpu_take_pictures(r);
    if (mpr_gpu_blocks_take(&r->gpu.torch, e->addr, &b)) freed(r, &b);
    else {
        r->books.heap[e->heap].used = true;
        r->books.heap[e->heap].frees++;
        r->books.heap[e->heap].unmatched++;
    }
}

static void on_free_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    t->gpu.freeing = true;
    if (!mpr_gpu_blocks_take(&r->gpu.driver, e->addr, &t->gpu.freed))
        t->gpu.freed = (struct mpr_gpu_block){ .heap = e->heap };
}

static void on_free_end(struct mpr_replay *r, struct mpr_thread *t)
{
    if (!t->gpu.freeing) return;
    mpr_gpu_take_pictures(r);
    t->gpu.freeing = false;
    if (t->gpu.freed.addr) {
        freed(r, &t->gpu.freed);
        mpr_oom_freed(r, t, t->gpu.freed.size);
    } else r->books.heap[t->gpu.freed.heap].unmatched++;
}

/* The driver did not free it. */
static void on_free_failed(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_gpu_block handed_out;
    if (t->gpu.freeing && t->gpu.freed.addr) {
        mpr_gpu_blocks_take(&r->gpu.driver, t->gpu.freed.addr, &handed_out); /* what nobody can have
                                                                                been given */
        mpr_gpu_blocks_put(&r->gpu.driver, &t->gpu.freed);
    }
    t->gpu.freeing = false;
}

/* ---- contexts */

static int by_address(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Takes the context's blocks out of the table; *out gets them.  From the end on: what fills a gap
 * comes from behind it. */
static size_t take_of_context(struct mpr_gpu_blocks *table, uint64_t context,
                              struct mpr_gpu_block *out)
{
    size_t count = 0;
    for (size_t i = table->live; i-- > 0;)
        if (table->at[i].context == context)
            mpr_gpu_blocks_take(table, table->at[i].addr, &out[count++]);
    return count;
}

static bool is_inside(const struct mpr_gpu_block *segment, size_t count, uint64_t addr)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (segment[middle].addr <= addr) low = middle + 1;
        else count = middle;
    }
    return low && addr - segment[low - 1].addr < segment[low - 1].size;
}

/* PyTorch's blocks inside go with their segments. */
static size_t take_inside(struct mpr_gpu_blocks *torch, const struct mpr_gpu_block *segment,
                          size_t segments, struct mpr_gpu_block *out)
{
    size_t count = 0;
    for (size_t i = torch->live; i-- > 0;)
        if (is_inside(segment, segments, torch->at[i].addr))
            mpr_gpu_blocks_take(torch, torch->at[i].addr, &out[count++]);
    return count;
}

static void free_all(struct mpr_replay *r, const struct mpr_gpu_block *block, size_t count)
{
    for (size_t i = 0; i < count; i++) freed(r, &block[i]);
}

static void free_context(struct mpr_replay *r, uint64_t context)
{
    struct mpr_gpu_block *gone = mpr_alloc(r->gpu.driver.live + r->gpu.torch.live, sizeof *gone);
    const size_t count = take_of_context(&r->gpu.driver, context, gone);
    qsort(gone, count, sizeof *gone, by_address);
    const size_t inside = take_inside(&r->gpu.torch, gone, count, gone + count);
    qsort(gone + count, inside, sizeof *gone, by_address);
    free_all(r, gone, count + inside);
    r->gpu.context_blocks += count;
    free(gone);
}

/* ---- descriptions */

static void on_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t context = mpr_gpu_word(e, MPF_RETURN_A);
    mpr_gpu_take_pictures(r);
    if (mpr_gpu_word(e, MPF_RETURN_CALL) == MPF_CALL_CONTEXT_GONE && context)
        free_context(r, context);
    mpr_hidden_return(r, t, e);
}

static void copy(char *out, size_t cap, const char *value)
{
    strncpy(out, value, cap - 1);
    out[cap - 1] = 0;
}

static void on_device(struct mpr_replay *r, const struct mpf_event *e)
{
    const char *at = (const char *)e->data, *end = at + e->size, *key, *value;
    if (e->addr >= MPF_GPUS) return;
    struct mpr_gpu_device *d = &r->gpu.device[e->addr];
    d->seen = true;
    while (mpf_pairs_next(&at, end, &key, &value) == 1) {
        if (!strcmp(key, "uuid")) copy(d->uuid, sizeof d->uuid, value);
        else if (!strcmp(key, "name")) copy(d->name, sizeof d->name, value);
        else if (!strcmp(key, "cupti.off")) copy(d->off, sizeof d->off, value);
        else if (!strcmp(key, "used.off")) copy(d->used_off, sizeof d->used_off, value);
        else if (!strcmp(key, "by_name")) copy(d->by_name, sizeof d->by_name, value);
        else if (!strcmp(key, "shared")) d->shared = true;
        else if (!strcmp(key, "total")) d->total = strtoull(value, NULL, 10);
    }
}

static void on_torch_level(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_gpu_device *d = &r->gpu.device[mpf_heap_device(e->heap)];
    d->torch_reserved = e->addr;
    if (e->addr > d->torch_reserved_peak) d->torch_reserved_peak = e->addr;
}

static void apply_to_handle(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_HANDLE_NEW:
        if (!mpr_handle_new(r, t, e)) break;
        mpr_gpu_explain(r, mpf_heap_device(e->heap), mpr_amount(e->size));
        mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
        break;
    case MPF_OP_HANDLE_IMPORT: mpr_handle_import(r, e); break;
    case MPF_OP_HANDLE_RETAIN: mpr_handle_retain(r, e->addr, mpr_gpu_word(e, 0)); break;
    case MPF_OP_HANDLE_DROP:
        mpr_gpu_take_pictures(r);
        mpr_handle_drop(r, e->addr);
        break;
    case MPF_OP_HANDLE_MAP:
        mpr_handle_map(r, e->addr, mpr_gpu_word(e, 0), mpr_gpu_word(e, 1));
        break;
    case MPF_OP_HANDLE_UNMAP:
        mpr_gpu_take_pictures(r);
        mpr_handle_unmap(r, e->addr, e->size);
        break;
    default: break;
    }
}

static void apply(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_ALLOC: on_alloc(r, t, e); break;
    case MPF_OP_FREE: on_torch_free(r, e); break;
    case MPF_OP_MOVE_BEGIN: on_free_begin(r, t, e); break;
    case MPF_OP_MOVE_END: on_free_end(r, t); break;
    case MPF_OP_FAIL: on_free_failed(r, t); break;
    case MPF_OP_GPU_DEVICE: on_device(r, e); break;
    case MPF_OP_GPU_CONTEXT: t->gpu.context = e->addr; break;
    case MPF_OP_GPU_ENTER: mpr_hidden_enter(r, t, e); break;
    case MPF_OP_GPU_RETURN: on_return(r, t, e); break;
    case MPF_OP_GPU_FAIL: mpr_oom_driver(r, t, e); break;
    case MPF_OP_GPU_LEVEL: mpr_pool_level(r, t, e); break;
    case MPF_OP_SAMPLE_GPU: mpr_hidden_sample(r, e); break;
    case MPF_OP_HANDLE_NEW:
    case MPF_OP_HANDLE_IMPORT:
    case MPF_OP_HANDLE_RETAIN:
    case MPF_OP_HANDLE_DROP:
    case MPF_OP_HANDLE_MAP:
    case MPF_OP_HANDLE_UNMAP: apply_to_handle(r, t, e); break;
    case MPF_OP_TORCH_LEVEL: on_torch_level(r, e); break;
    case MPF_OP_TORCH_OOM: mpr_oom_torch(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE:
    case MPF_OP_CAPTURE_BEGIN: mpr_graph_capture(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE_END:
    case MPF_OP_CAPTURE_END: mpr_graph_capture_end(r, t, e); break;
    case MPF_OP_TORCH_GRAPH_RESET: mpr_graph_reset(&r->gpu, e->addr, e->time); break;
    case MPF_OP_TORCH_NEXT:
        if (r->options.backward_of) mpr_forward_next(r, t, e);
        break;
    case MPF_OP_TORCH_NODE:
        if (r->options.backward_of) mpr_backward_node(r, t, e);
        break;
    case MPF_OP_SCHEMA: mpr_comms_schema(&r->gpu.comms, e); break;
    case MPF_OP_MODULE:
    case MPF_OP_STACK_CUT:
    case MPF_OP_STACK:
    case MPF_OP_FRAME:
    case MPF_OP_PYTHON: mpr_sites_event(&r->sites, &r->ranges, e); break;
    default: break;
    }
}

/* From MODULE on are what recorded stacks are made of: they do not use up the place of the thread's
 * next event. */
static_assert(MPF_OP_CAPTURE_END < MPF_OP_MODULE, "what happens to memory comes first");
void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (r->gpu.windows) mpr_gpu_close_windows(r);
    if (r->gpu.instants && e->op < MPF_OP_MODULE) mpr_instants_turn(r->gpu.instants, r);
    apply(r, t, e);
    if (e->op < MPF_OP_MODULE && e->op != MPF_OP_GPU_CONTEXT) t->at = (struct mpr_site){ 0, 0 };
}
