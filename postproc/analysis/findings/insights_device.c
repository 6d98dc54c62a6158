/* Device memory outside of PyTorch: stacks of kernels, communicators. */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "evidence.h"

/* For each thread that the device can hold, the driver keeps the bytes that the most demanding
 * kernel needs, or cudaLimitStackSize. */
static void local_memory(struct mpr_insights *out, const struct mpr_device_state *s,
                         unsigned device)
{
    const int64_t bytes = mpr_device_bytes(s, MPR_USE_LOCAL_MEMORY);
    if (bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_LOCAL_MEMORY, mpf_heap_gpu(MPF_HEAP_DEVICE, device),
                        s->time, (uint64_t)bytes);
    f->what = mpr_arena_format(&out->arena,
                               "local memory of kernels (stacks, spills, local arrays) is %s",
                               mpr_finding_size(out, (uint64_t)bytes));
    f->change = "find the kernel with the largest stack frame (nvcc -Xptxas -v), or lower "
                "cudaLimitStackSize: the driver keeps that much for every thread that fits on the "
                "device";
    f->look = "peaks";
    mpr_finding_bytes(f, "local_memory_bytes", (uint64_t)bytes);
}

/* A communicator allocates its buffers when it is made; without a collective they are never used.
 */
static void idle(struct mpr_insights *out, const struct mpr_device_state *s, unsigned device)
{
    uint64_t bytes = 0, count = 0;
    const struct mpr_comm_row *largest = NULL;
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        if (*c->first_use || !c->bytes) continue;
        if (!largest) largest = c; /* they come largest first */
        bytes += c->bytes;
        count++;
    }
    if (bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_IDLE_COMMUNICATORS,
                                            mpf_heap_gpu(MPF_HEAP_DEVICE, device), s->time, bytes);
    f->what = mpr_arena_format(&out->arena,
                               "%s communicator%s ran no collective and hold%s %s, most of it NCCL "
                               "%s",
                               mpr_finding_number(out, count), mpr_finding_plural(count),
                               count == 1 ? "s" : "", mpr_finding_size(out, bytes), largest->name);
    f->change = "do not make this process group, or make it where it is used first";
    f->look = "peaks --by comm";
    mpr_finding_count(f, "communicators", count);
    mpr_finding_bytes(f, "communicator_bytes", bytes);
}

static uint64_t ranks_told(const struct mpr_process_info *p)
{
    return *p->rank ? strtoull(p->rank, NULL, 10) + 1 : 0;
}

/* Returns a lower bound of the run's ranks, from its communicators and the given logs. */
static uint64_t ranks_known(const struct mpr_insights *out, const struct mpr_evidence *e,
                            const struct mpr_device_state *s)
{
    uint64_t most = ranks_told(&e->log->summary.process);
    for (size_t i = 0; out->family && i < out->family->count; i++) {
        const uint64_t ranks = ranks_told(&out->family->at[i].summary.process);
        if (ranks > most) most = ranks;
    }
    for (size_t i = 0; i < s->comms; i++)
        if (s->comm[i].ranks != UINT64_MAX && s->comm[i].ranks > most) most = s->comm[i].ranks;
    return most;
}

static bool is_world(const struct mpr_comm_row *c, uint64_t ranks)
{
    return c->ranks == ranks && c->rank != UINT64_MAX && c->bytes && *c->first_use;
}

/* Communicators of all known ranks are likely to have the same members if the process has the same
 * rank in each.  In the groups of a mesh its ranks differ. */
static void doubled(struct mpr_insights *out, const struct mpr_evidence *e,
                    const struct mpr_device_state *s, unsigned device)
{
    const uint64_t ranks = ranks_known(out, e, s);
    const struct mpr_comm_row *largest = NULL;
    uint64_t bytes = 0, count = 0;
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        if (!is_world(c, ranks)) continue;
        if (!largest) largest = c; /* they come largest first */
        if (c->rank != largest->rank) continue;
        bytes += c->bytes;
        count++;
    }
    if (!largest || ranks < 2) return;
    const uint64_t more = bytes - largest->bytes;
    if (more < MPR_WORTH_BYTES) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_DOUBLED_COMMUNICATORS,
                                            mpf_heap_gpu(MPF_HEAP_DEVICE, device), s->time, more);
    f->what = mpr_arena_format(&out->arena,
                               "%s communicators of %s ranks hold %s together, the largest %s",
                               mpr_finding_number(out, count), mpr_finding_number(out, ranks),
                               mpr_finding_size(out, bytes), mpr_finding_size(out, largest->bytes));
    f->change = "one process group for both if their ranks are the same, or fewer channels for the "
                "second (NCCL_MAX_CTAS, or its config's max_ctas)";
    f->look = "peaks --by comm";
    mpr_finding_count(f, "communicators", count);
    mpr_finding_count(f, "ranks", ranks);
    mpr_finding_bytes(f, "communicator_bytes", bytes);
    mpr_finding_bytes(f, "largest_communicator_bytes", largest->bytes);
}

void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        const struct mpr_device_state *s = &e->state[device];
        if (!s->valid) continue;
        local_memory(out, s, device);
        idle(out, s, device);
        doubled(out, e, s, device);
    }
}
