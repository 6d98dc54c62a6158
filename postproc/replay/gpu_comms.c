#include "gpu.h"

#include <string.h>

#include "alloc.h"
#include "backward.h"
#include "gpu_book.h"

static bool is_nccl(const struct mpr_replay *r, uint32_t domain)
{
    return strncmp(mpr_ranges_domain(&r->ranges, domain), "NCCL", 4) == 0;
}

void mpr_gpu_suppose(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm)
{
    if (!b->comm_guessed || b->comm == comm) return;
    if (r->options.by == MPR_GROUP_COMM) mpr_gpu_books_remove(r, b);
    b->comm = comm;
    if (r->options.by == MPR_GROUP_COMM) mpr_gpu_books_add(r, b);
}

static void claim_block(struct mpr_replay *r, struct mpr_gpu_block *b, uint32_t comm)
{
    mpr_gpu_suppose(r, b, comm);
    b->comm_guessed = false;
}

/* A communicator's init says whose it is with its pop: what NCCL allocated meanwhile belongs to it.
 */
static void claim(struct mpr_replay *r, uint32_t comm, uint64_t since)
{
    struct mpr_gpu *g = &r->gpu;
    g->comm = comm;
    for (; g->guesses && g->guess[g->guesses - 1].time >= since; g->guesses--) {
        const struct mpr_guess *guess = &g->guess[g->guesses - 1];
        struct mpr_gpu_block *b = guess->object ? &g->object[guess->object - 1].block
                                                : mpr_gpu_blocks_find(&g->driver, guess->addr);
        const bool live = b && (!guess->object || g->object[guess->object - 1].live);
        if (live && b->time == guess->time) claim_block(r, b, comm);
    }
}

void mpr_gpu_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object)
{
    struct mpr_gpu *g = &r->gpu;
    if (!b->comm_guessed) return;
    MPR_GROW(g->guess, g->guesses, g->guess_cap);
    g->guess[g->guesses++] = (struct mpr_guess){ b->addr, b->time, object };
}

static void nccl_range(struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_PUSH && !t->gpu.nccl_open++) t->gpu.nccl_since = e->time;
    if (e->op != MPF_OP_POP) return;
    t->gpu.comm = 0;
    t->gpu.nccl_open -= t->gpu.nccl_open > 0;
}

static void payload(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint32_t name = !t->gpu.popped && t->depth ? t->stack[t->depth - 1].name : 0;
    const uint32_t comm = mpr_comms_payload(&r->gpu.comms, e, name);
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
    if (e->op == MPF_OP_PUSH && !domain) {
        mpr_threads_carry(&r->threads, t);
    } else if (is_nccl(r, domain)) nccl_range(t, e);
    if (t->forward && e->op <= MPF_OP_POP) mpr_forward_range(r, t);
}
