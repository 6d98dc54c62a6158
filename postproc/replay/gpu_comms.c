/* NCCL's communicators, and which of them each block of NCCL belongs to: NCCL's NVTX ranges name
 * the communicator at work. */
#include <string.h>

#include "alloc.h"
#include "backward.h"
#include "gpu.h"
#include "mpf/slot.h"

/* ---- communicators */

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
    MPR_GROW(c->schema, c->schemas, c->schema_cap);
    c->schema[c->schemas++] = schema;
    mpr_index_set(&c->newest, schema.id, c->schemas);
}

static uint64_t field(const struct mpf_event *e, int offset, size_t bytes)
{
    uint64_t v = 0;
    if (offset < 0 || (size_t)offset + bytes > e->size) return UINT64_MAX;
    memcpy(&v, e->data + offset, bytes);
    return v;
}

/* Returns the number of the communicator that a RANGE_DATA names, 0 if it names none. @name: of its
 * range. */
static uint32_t comm_of_payload(struct mpr_comms *c, const struct mpf_event *e, uint32_t name)
{
    const uint32_t schema = mpr_index_get(&c->newest, e->addr);
    const struct mpr_schema *s = schema ? &c->schema[schema - 1] : NULL;
    const uint64_t id = s ? field(e, s->comm, sizeof id) : UINT64_MAX;
    if (id == UINT64_MAX) return 0;
    uint32_t number = mpr_index_get(&c->number, id);
    if (!number) {
        MPR_GROW(c->comm, c->count, c->cap);
        c->comm[c->count] =
            (struct mpr_comm){ .id = id, .ranks = UINT64_MAX, .rank = UINT64_MAX, .time = e->time };
        mpr_index_set(&c->number, id, number = ++c->count);
    }
    struct mpr_comm *comm = &c->comm[number - 1];
    if (s->ranks >= 0) {
        comm->ranks = field(e, s->ranks, 4);
        comm->rank = field(e, s->rank, 4);
    } else if (!comm->first_use) comm->first_use = name;
    return number;
}

/* ---- blocks */

void mpr_gpu_suppose(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm)
{
    if (!b->comm_guessed || b->comm == comm) return;
    if (r->options.by == MPR_GROUP_COMM) mpr_gpu_accounts_remove(r, b);
    b->comm = comm;
    if (r->options.by == MPR_GROUP_COMM) mpr_gpu_accounts_add(r, b);
}

void mpr_gpu_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object)
{
    struct mpr_gpu *g = &r->gpu;
    if (!b->comm_guessed) return;
    MPR_GROW(g->guess, g->guesses, g->guess_cap);
    g->guess[g->guesses++] = (struct mpr_guess){ b->addr, b->time, object };
}

/* The pop of a communicator's init names the communicator: everything that NCCL allocated since its
 * push belongs to it. */
static void claim(struct mpr_replay *r, uint32_t comm, uint64_t since)
{
    struct mpr_gpu *g = &r->gpu;
    g->comm = comm;
    for (; g->guesses && g->guess[g->guesses - 1].time >= since; g->guesses--) {
        const struct mpr_guess *guess = &g->guess[g->guesses - 1];
        struct mpr_gpu_block *b = guess->object ? &g->object[guess->object - 1].block
                                                : mpr_gpu_blocks_find(&g->driver, guess->addr);
        const bool live = b && (!guess->object || g->object[guess->object - 1].live);
        if (!live || b->time != guess->time) continue;
        mpr_gpu_suppose(r, b, comm);
        b->comm_guessed = false;
    }
}

/* ---- ranges */

static void payload(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint32_t name = !t->gpu.popped && t->depth ? t->stack[t->depth - 1].name : 0;
    const uint32_t comm = comm_of_payload(&r->gpu.comms, e, name);
    if (!comm) return;
    if (t->gpu.popped) claim(r, comm, t->gpu.nccl_since);
    else if (t->depth) t->gpu.comm = r->gpu.comm = comm;
}

void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint32_t domain = (uint32_t)(e->addr >> 32);
    if (e->op == MPF_OP_RANGE_DATA) {
        payload(r, t, e);
        return;
    }
    if (e->op > MPF_OP_MARK) return;
    t->gpu.popped = e->op == MPF_OP_POP;
    if (e->op == MPF_OP_PUSH && !domain) mpr_threads_carry(&r->threads, t);
    else if (!strncmp(mpr_ranges_domain(&r->ranges, domain), "NCCL", 4)) {
        if (e->op == MPF_OP_PUSH && !t->gpu.nccl_open++) t->gpu.nccl_since = e->time;
        if (e->op == MPF_OP_POP) {
            t->gpu.comm = 0;
            t->gpu.nccl_open -= t->gpu.nccl_open > 0;
        }
    }
    if (t->forward && e->op <= MPF_OP_POP) mpr_forward_range(r, t);
}
