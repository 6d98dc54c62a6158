/* Blocks of device memory, of the driver and of PyTorch, and stream-ordered pools: their tables and
 * their bytes in the accounts; and which of NCCL's communicators a block belongs to. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "backward.h"
#include "bisect.h"
#include "block_observers.h"
#include "gpu.h"
#include "mpf/slot.h"

/* ---- the table */

struct mpr_gpu_block *mpr_gpu_blocks_find(const struct mpr_gpu_blocks *b, uint64_t addr)
{
    const uint32_t number = mpr_index_get(&b->number, addr);
    return number ? &b->at[number - 1] : NULL;
}

static void put(struct mpr_gpu_blocks *b, const struct mpr_gpu_block *block)
{
    *MPR_ADD(b->at, b->live, b->cap) = *block;
    mpr_index_set(&b->number, block->addr, b->live);
}

/* Moves the block at `addr` into *out. Returns false if the table has none. */
static bool take(struct mpr_gpu_blocks *b, uint64_t addr, struct mpr_gpu_block *out)
{
    struct mpr_gpu_block *at = mpr_gpu_blocks_find(b, addr);
    if (!at) return false;
    *out = *at;
    *at = b->at[--b->live];
    mpr_index_set(&b->number, at->addr, (uint32_t)(at - b->at) + 1);
    mpr_index_set(&b->number, addr, 0);
    return true;
}

int mpr_gpu_block_by_address(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    return a->birth < b->birth ? -1 : a->birth > b->birth;
}

/* ---- accounts */

/* By PLACE a cell always has the site of the forward operator.  A projection to a grouping that
 * needs the block's own site replaces it. */
static struct mpr_alloc_context context_of(const struct mpr_replay *r,
                                           const struct mpr_gpu_block *b)
{
    const uint32_t site = r->options.by == MPR_GROUP_PLACE ? b->backward_site : b->site;
    return (struct mpr_alloc_context){ b->size, b->node, b->thread, site, b->comm, b->capture };
}

uint64_t mpr_gpu_key(const struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    const struct mpr_alloc_context context = context_of(r, b);
    return mpr_alloc_context_key(r, &context);
}

/* Sets b->cell. */
static void add_to_cell(struct mpr_replay *r, struct mpr_gpu_block *b)
{
    const struct mpr_alloc_context context = context_of(r, b);
    b->cell = mpr_alloc_context_cell(r, &context, b->heap);
    if (b->weighed) mpr_estimates_change(&r->estimates, &r->accounts, b->cell, b->size, 1);
    mpr_accounts_add(&r->accounts, b->cell, b->size, r->now);
    mpr_observe_counted(r, b->heap, b->birth, b->size, b->cell);
    if (b->inherited) r->accounts.cell[b->cell].inherited += b->size;
}

void mpr_gpu_accounts_remove(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    if (b->addr) mpr_observe_free(r, mpr_block_key(b->addr, b->heap), b->size);
    if (b->weighed) mpr_estimates_change(&r->estimates, &r->accounts, b->cell, b->size, -1);
    mpr_accounts_remove(&r->accounts, b->cell, b->size);
    mpr_observe_uncounted(r, b->heap, b->birth);
    if (b->inherited) r->accounts.cell[b->cell].inherited -= b->size;
}

void mpr_gpu_observe_mapped(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from)
{
    const struct mpr_large_block block = { .addr = b->addr,
                                           .size = b->size,
                                           .from = from,
                                           .to = UINT64_MAX,
                                           .cell = b->cell,
                                           .capture = b->capture,
                                           .segment = b->segment,
                                           .mapped = b->handle };
    mpr_observe_alloc(r, b->heap, &block);
}

/* Returns the number of a new communicator. */
static uint32_t add_comm(struct mpr_comms *c, struct mpr_comm comm)
{
    comm.ranks = comm.rank = UINT64_MAX;
    *MPR_ADD(c->comm, c->count, c->cap) = comm;
    return c->count;
}

/* Returns the block that the thread allocates with this event. */
static struct mpr_gpu_block describe(struct mpr_replay *r, struct mpr_thread *t,
                                     const struct mpf_event *e)
{
    struct mpr_gpu_block b = { .addr = e->addr,
                               .size = e->size,
                               .time = e->time,
                               .birth = ++r->gpu.births,
                               .context = t->gpu.context,
                               .thread = t->number,
                               .heap = e->heap,
                               .capture = t->gpu.torch_began_capture ? 0 : t->gpu.capture };
    const uint32_t backward = mpr_backward_path(r, t),
                   python = t->at.python ? t->at.python : mpr_backward_python(r, t);
    const bool instead = r->options.backward_of;
    const struct mpr_site at = { t->at.stack, instead ? python : t->at.python };
    b.node = instead && backward ? backward : mpr_thread_inherited_path(r, t, &b.inherited);
    b.node = mpr_alloc_context_path(r, b.node, t->at.python);
    b.site = mpr_sites_site(&r->sites, at);
    b.backward_node = backward ? backward : b.node;
    b.backward_site = python == at.python
                          ? b.site
                          : mpr_sites_site(&r->sites, (struct mpr_site){ at.stack, python });
    b.library = mpr_sites_library(&r->sites, at.stack);
    b.python = at.python;
    b.segment = mpr_sites_for_torch(&r->sites, at.stack);
    b.weighed = (r->options.by == MPR_GROUP_PYTHON || r->options.by == MPR_GROUP_PLACE ||
                 r->options.by == MPR_GROUP_ALL) &&
                r->options.torch_sample_mean != 0 && t->at.python && mpr_gpu_of_torch(e);
    if (!strncmp(mpr_sites_library_name(&r->sites, b.library), "libnccl", 7)) {
        if (t->gpu.splits && !t->gpu.comm)
            t->gpu.comm = r->gpu.comm =
                add_comm(&r->gpu.comms, (struct mpr_comm){ .time = e->time, .split = true });
        b.comm_guessed = !t->gpu.comm;
        b.comm = t->gpu.comm ? t->gpu.comm : r->gpu.comm;
    }
    return b;
}

void mpr_gpu_account(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                     struct mpr_gpu_block *out)
{
    *out = describe(r, t, e);
    add_to_cell(r, out);
    r->accounts.heap[e->heap].allocations++;
    r->accounts.cell[out->cell].allocations++;
}

/* ---- allocations */

void mpr_gpu_alloc(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool torch = mpr_gpu_of_torch(e), device = mpf_heap_code(e->heap) == MPF_HEAP_DEVICE;
    struct mpr_gpu_blocks *table = torch ? &r->gpu.torch : &r->gpu.driver;
    struct mpr_gpu_block b, old;
    if (!e->addr) return;
    if (torch && t->forward && t->at.python) mpr_forward_block(t);
    if (take(table, e->addr, &old)) { /* its free was not recorded */
        mpr_gpu_removed(r, &old);
        mpr_gpu_accounts_remove(r, &old);
        r->accounts.heap[old.heap].missed++;
    }
    const uint64_t total = device ? r->gpu.device[mpf_heap_device(e->heap)].total : 0;
    if (total && total != MPF_UNKNOWN)
        mpr_pools_limit(r, mpf_heap_device(e->heap), mpr_saturating_sub(total, e->size));
    mpr_gpu_account(r, t, e, &b);
    if (mpf_heap_code(b.heap) == MPF_HEAP_POOL) t->gpu.pool_site = b.site;
    mpr_gpu_observe_mapped(r, &b, b.time);
    put(table, &b);
    mpr_gpu_list_guess(r, &b, 0);
    if (device) mpr_gpu_match_change(r, mpf_heap_device(b.heap), mpr_saturating_signed(b.size));
    mpr_graph_add_block(&r->gpu, &b, torch);
    mpr_oom_recover(r, t, &b, torch);
    if (mpf_heap_is_gpu(e->heap)) mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
}

/* ---- frees */

/* @b: taken out of its table. */
static void free_block(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    r->accounts.heap[b->heap].frees++;
    mpr_gpu_removed(r, b);
    mpr_gpu_accounts_remove(r, b);
    if (mpf_heap_code(b->heap) == MPF_HEAP_DEVICE)
        mpr_gpu_match_change(r, mpf_heap_device(b->heap), -mpr_saturating_signed(b->size));
}

void mpr_gpu_torch_free(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_gpu_block b;
    mpr_gpu_take_snapshots(r);
    if (take(&r->gpu.torch, e->addr, &b)) {
        free_block(r, &b);
        return;
    }
    r->accounts.heap[e->heap].used = true;
    r->accounts.heap[e->heap].frees++;
    r->accounts.heap[e->heap].unmatched++;
}

/* The block leaves the table, because another thread may get its address before the driver returns.
 * Its bytes count until then. */
void mpr_gpu_free_begin(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    t->gpu.freeing = true;
    if (!take(&r->gpu.driver, e->addr, &t->gpu.freed))
        t->gpu.freed = (struct mpr_gpu_block){ .heap = e->heap };
}

void mpr_gpu_free_end(struct mpr_replay *r, struct mpr_thread *t)
{
    if (!t->gpu.freeing) return;
    mpr_gpu_take_snapshots(r);
    t->gpu.freeing = false;
    if (t->gpu.freed.addr) {
        free_block(r, &t->gpu.freed);
        /* After a refusal PyTorch empties its cache. */
        if (t->gpu.oom && !t->gpu.oom_is_old)
            r->gpu.oom[t->gpu.oom - 1].flushed += t->gpu.freed.size;
    } else r->accounts.heap[t->gpu.freed.heap].unmatched++;
}

void mpr_gpu_free_failed(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_gpu_block ignored; /* in a valid log the address was not reused meanwhile */
    if (t->gpu.freeing && t->gpu.freed.addr) {
        take(&r->gpu.driver, t->gpu.freed.addr, &ignored);
        put(&r->gpu.driver, &t->gpu.freed);
    }
    t->gpu.freeing = false;
}

/* ---- the end of a context */

/* PyTorch's blocks are freed together with the segments that they are in. The loops run backwards,
 * because the last block of a table moves to the place of a removed one. */
void mpr_gpu_free_context(struct mpr_replay *r, uint64_t context)
{
    struct mpr_gpu_blocks *driver = &r->gpu.driver, *torch = &r->gpu.torch;
    struct mpr_gpu_block *freed = mpr_alloc(driver->live + torch->live, sizeof *freed);
    size_t count = 0;
    for (size_t i = driver->live; i-- > 0;)
        if (driver->at[i].context == context) take(driver, driver->at[i].addr, &freed[count++]);
    qsort(freed, count, sizeof *freed, mpr_gpu_block_by_address);
    const size_t segments = count;
    for (size_t i = torch->live; i-- > 0;) {
        const uint64_t addr = torch->at[i].addr;
        const size_t low = MPR_COUNT_FIRST(k, segments, freed[k].addr <= addr);
        if (low && addr - freed[low - 1].addr < freed[low - 1].size)
            take(torch, addr, &freed[count++]);
    }
    qsort(freed + segments, count - segments, sizeof *freed, mpr_gpu_block_by_address);
    for (size_t i = 0; i < count; i++) free_block(r, &freed[i]);
    r->gpu.context_blocks += segments;
    free(freed);
}

/* ---- stream-ordered pools, and the memory nodes of graphs */

/* Returns the pool that the event names, made when new. */
static struct mpr_pool *pool_of(struct mpr_gpu *g, const struct mpf_event *e)
{
    const uint64_t hash = mpr_hash(e->addr) + e->heap;
    MPR_INDEX_EACH(number, &g->pool_of, hash)
        if (g->pool[number - 1].id == e->addr && g->pool[number - 1].heap == e->heap)
            return &g->pool[number - 1];
    *MPR_ADD(g->pool, g->pools, g->pool_cap) = (struct mpr_pool){ .id = e->addr, .heap = e->heap };
    mpr_index_add(&g->pool_of, hash, g->pools);
    return &g->pool[g->pools - 1];
}

/* @change: of the pool's bytes, may be negative modulo 2^64 */
static void change_bytes(struct mpr_gpu *g, struct mpr_pool *p, uint64_t change)
{
    const unsigned device = mpf_heap_device(p->heap);
    p->bytes += change;
    *(p->id ? &g->pool_bytes[device] : &g->graph_bytes[device]) += change;
}

/* Each part is one block of the accounts: consecutive growth at one place, so that the number of
 * blocks does not depend on the grouping. */
static void grow(struct mpr_replay *r, struct mpr_pool *p, const struct mpr_gpu_block *b)
{
    const struct mpr_alloc_context context = context_of(r, b);
    const uint32_t cell = mpr_alloc_context_cell(r, &context, b->heap), site = b->backward_site;
    struct mpr_pool_part *newest = p->parts ? &p->part[p->parts - 1] : NULL;
    if (r->alloc_free) mpr_alloc_free_matrix_drop_heap(r->alloc_free, p->heap);
    if (!newest || newest->cell != cell || newest->node != b->node || newest->site != site) {
        newest = MPR_ADD(p->part, p->parts, p->part_cap);
        *newest = (struct mpr_pool_part){ .cell = cell, .node = b->node, .site = site };
    } else mpr_accounts_remove(&r->accounts, cell, newest->bytes);
    newest->bytes += b->size;
    change_bytes(&r->gpu, p, b->size);
    mpr_accounts_add(&r->accounts, cell, newest->bytes, r->now);
}

static void shrink(struct mpr_replay *r, struct mpr_pool *p, uint64_t bytes)
{
    while (bytes && p->parts) {
        struct mpr_pool_part *newest = &p->part[p->parts - 1];
        const uint64_t removed = newest->bytes < bytes ? newest->bytes : bytes;
        mpr_accounts_remove(&r->accounts, newest->cell, newest->bytes);
        newest->bytes -= removed;
        change_bytes(&r->gpu, p, -removed);
        bytes -= removed;
        if (newest->bytes) mpr_accounts_add(&r->accounts, newest->cell, newest->bytes, r->now);
        else p->parts--;
    }
}

void mpr_pools_limit(struct mpr_replay *r, unsigned device, uint64_t limit)
{
    uint64_t excess = mpr_saturating_sub(mpr_gpu_tracked(r, device), limit);
    if (r->options.pools_exact || !excess) return;
    mpr_gpu_take_snapshots(r);
    for (uint32_t i = 0; i < r->gpu.pools && excess; i++) {
        struct mpr_pool *p = &r->gpu.pool[i];
        if (!p->id || mpf_heap_device(p->heap) != device) continue;
        const uint64_t removed = p->bytes < excess ? p->bytes : excess;
        shrink(r, p, removed);
        excess -= removed;
    }
}

void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_pool *p = pool_of(&r->gpu, e);
    const int64_t change = mpr_signed_difference(p->bytes, e->size);
    if (e->size > p->bytes) {
        struct mpr_gpu_block b = describe(r, t, e);
        b.site = b.backward_site = t->gpu.pool_site;
        b.size = e->size - p->bytes;
        if (!p->library)
            p->library = mpr_sites_library(&r->sites, mpr_sites_of(&r->sites, b.site).stack);
        grow(r, p, &b);
    } else if (e->size < p->bytes) {
        mpr_gpu_take_snapshots(r);
        shrink(r, p, p->bytes - e->size);
    }
    r->accounts.heap[e->heap].used = true;
    mpr_gpu_match_change(r, mpf_heap_device(e->heap), change);
    mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
}

/* ---- NCCL's communicators: NCCL's NVTX ranges name the one at work */

/* The payloads' types that are used here have 4 bytes for int and unsigned, 8 for u64 (NVTX's
 * numbers 5, 6 and 18). */
void mpr_comms_schema(struct mpr_comms *c, const struct mpf_event *e)
{
    struct mpr_schema schema = { e->addr, -1, -1, -1 };
    const uint8_t *p = e->data, *end = e->data + e->size;
    uint64_t place[2]; /* the second one is the offset */
    while ((size_t)(end - p) > sizeof place) {
        memcpy(place, p, sizeof place);
        p += sizeof place;
        const uint8_t *zero = memchr(p, 0, (size_t)(end - p));
        if (!zero) break;
        const char *name = (const char *)p;
        p = zero + 1;
        if (place[1] >= MPF_DATA_MAX) continue;
        if (!strcmp(name, "NCCL communicator ID")) schema.comm = (int)place[1];
        else if (!strcmp(name, "No. of ranks")) schema.ranks = (int)place[1];
        else if (!strcmp(name, "Rank")) schema.rank = (int)place[1];
    }
    if (schema.comm < 0) return;
    *MPR_ADD(c->schema, c->schemas, c->schema_cap) = schema;
    mpr_index_set(&c->newest, schema.id, c->schemas);
}

static uint64_t field(const struct mpf_event *e, int offset, size_t bytes)
{
    uint64_t v = 0;
    if (offset < 0 || (size_t)offset + bytes > e->size) return UINT64_MAX;
    memcpy(&v, e->data + offset, bytes);
    return v;
}

static bool begins(const struct mpr_replay *r, uint32_t name, const char *with)
{
    size_t bytes;
    const char *text = mpr_texts_get(&r->ranges.names, name, &bytes);
    return text && bytes >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Returns the number of the communicator with this id.  NCCL does not name the communicator that
 * ncclCommSplit makes: its id is new in the payload of its first collective, or of its end.  So an
 * unknown id, except in the payload of an init, is that of the oldest communicator without one. */
static uint32_t comm_of_id(struct mpr_replay *r, const struct mpr_thread *t, uint64_t id,
                           uint64_t time)
{
    struct mpr_comms *c = &r->gpu.comms;
    uint32_t number = mpr_index_get(&c->number, id);
    if (number) return number;
    const bool is_init = begins(r, t->gpu.nccl_name, "ncclCommInit");
    while (!is_init && !number && c->first_unnamed < c->count) {
        const struct mpr_comm *comm = &c->comm[c->first_unnamed++];
        if (comm->split && !comm->id) number = c->first_unnamed;
    }
    if (!number) number = add_comm(c, (struct mpr_comm){ .time = time });
    c->comm[number - 1].id = id;
    mpr_index_set(&c->number, id, number);
    return number;
}

/* Returns the number of the communicator that a RANGE_DATA names, 0 if it names none. */
static uint32_t comm_of_payload(struct mpr_replay *r, const struct mpr_thread *t,
                                const struct mpf_event *e)
{
    struct mpr_comms *c = &r->gpu.comms;
    const uint32_t schema = mpr_index_get(&c->newest, e->addr);
    const struct mpr_schema s = schema ? c->schema[schema - 1] : (struct mpr_schema){ .comm = -1 };
    const uint64_t id = field(e, s.comm, sizeof id);
    if (id == UINT64_MAX) return 0;
    const uint32_t number = comm_of_id(r, t, id, e->time);
    struct mpr_comm *comm = &c->comm[number - 1];
    if (s.ranks >= 0) {
        comm->ranks = field(e, s.ranks, 4);
        comm->rank = field(e, s.rank, 4);
    } else if (!comm->first_use && !t->gpu.popped && t->depth)
        comm->first_use = t->stack[t->depth - 1].name;
    return number;
}

void mpr_gpu_guess_comm(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm)
{
    if (!b->comm_guessed || b->comm == comm) return;
    if (r->options.by == MPR_GROUP_COMM) mpr_gpu_accounts_remove(r, b);
    b->comm = comm;
    if (r->options.by == MPR_GROUP_COMM) add_to_cell(r, b);
}

void mpr_gpu_list_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object)
{
    struct mpr_gpu *g = &r->gpu;
    if (!b->comm_guessed) return;
    *MPR_ADD(g->guess, g->guesses, g->guess_cap) = (struct mpr_guess){ b->addr, b->time, object };
}

/* The payload of a POP ends the init of a communicator and names it.  All memory that NCCL
 * allocated since the PUSH belongs to it. */
static void on_payload(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    const uint32_t comm = comm_of_payload(r, t, e);
    if (!comm || (!t->gpu.popped && !t->depth)) return;
    g->comm = comm;
    if (!t->gpu.popped) {
        t->gpu.comm = comm;
        return;
    }
    for (; g->guesses && g->guess[g->guesses - 1].time >= t->gpu.nccl_since; g->guesses--) {
        const struct mpr_guess *guess = &g->guess[g->guesses - 1];
        struct mpr_gpu_block *b = guess->object ? &g->object[guess->object - 1].block
                                                : mpr_gpu_blocks_find(&g->driver, guess->addr);
        const bool live = b && (!guess->object || g->object[guess->object - 1].live);
        if (!live || b->time != guess->time) continue;
        mpr_gpu_guess_comm(r, b, comm);
        b->comm_guessed = false;
    }
}

void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint32_t domain = (uint32_t)(e->addr >> 32), name = (uint32_t)e->addr;
    if (e->op == MPF_OP_RANGE_DATA) on_payload(r, t, e);
    if (e->op > MPF_OP_MARK) return;
    t->gpu.popped = e->op == MPF_OP_POP;
    if (e->op == MPF_OP_PUSH && !domain) mpr_threads_set_newest(&r->threads, t);
    else if (!strncmp(mpr_ranges_domain(&r->ranges, domain), "NCCL", 4)) {
        if (e->op == MPF_OP_PUSH) {
            if (!t->gpu.nccl_open++) {
                t->gpu.nccl_name = name;
                t->gpu.nccl_since = e->time;
            }
            t->gpu.splits = begins(r, name, "ncclCommSplit") || begins(r, name, "ncclCommShrink");
        } else if (e->op == MPF_OP_POP) {
            t->gpu.comm = 0;
            t->gpu.splits = false;
            t->gpu.nccl_open -= t->gpu.nccl_open > 0;
        }
    }
    if (t->forward && e->op <= MPF_OP_POP) mpr_forward_range(r, t);
}
