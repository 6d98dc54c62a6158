/* What lies on a device beside PyTorch: stacks of kernels, communicators. */
#include <string.h>

#include "amount.h"
#include "evidence.h"

static int64_t part(const struct mpr_device_state *s, const char *key)
{
    for (size_t i = 0; i < s->parts; i++)
        if (strcmp(s->part[i].key, key) == 0) return s->part[i].bytes;
    return 0;
}

/* The driver reserves the limit for each thread that the device can run at a time. */
static void stack_limit(struct mpr_insights *out, const struct mpr_device_state *s, const char *gpu)
{
    const int64_t bytes = part(s, "stack");
    if (bytes < MPR_WORTH_BYTES) return;
    struct mpr_finding *f = mpr_finding_add(out, "stack_limit", gpu, (uint64_t)bytes);
    f->what = mpr_arena_format(&out->arena, "kernels' stacks took %s when their limit was raised",
                               mpr_finding_size(out, (uint64_t)bytes));
    f->change = "a smaller cudaLimitStackSize: the driver keeps it for every thread that fits on "
                "the device";
    f->look = "peaks";
    mpr_finding_bytes(f, "stack_bytes", (uint64_t)bytes);
}

/* Buffers come with the communicator; without a collective they were for nothing. */
static void idle(struct mpr_insights *out, const struct mpr_device_state *s, const char *gpu)
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
    struct mpr_finding *f = mpr_finding_add(out, "idle_communicators", gpu, bytes);
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

static bool is_world(const struct mpr_comm_row *c, uint64_t ranks)
{
    return c->ranks == ranks && c->bytes && *c->first_use;
}

/* Communicators of as many ranks as the largest one have the same members. */
static void doubled(struct mpr_insights *out, const struct mpr_device_state *s, const char *gpu)
{
    uint64_t ranks = 0, bytes = 0, most = 0, count = 0;
    for (size_t i = 0; i < s->comms; i++)
        if (s->comm[i].ranks != UINT64_MAX && s->comm[i].ranks > ranks) ranks = s->comm[i].ranks;
    for (size_t i = 0; i < s->comms; i++) {
        if (!is_world(&s->comm[i], ranks)) continue;
        if (s->comm[i].bytes > most) most = s->comm[i].bytes;
        bytes += s->comm[i].bytes;
        count++;
    }
    if (count < 2 || ranks < 2 || bytes - most < MPR_WORTH_BYTES) return;
    struct mpr_finding *f = mpr_finding_add(out, "doubled_communicators", gpu, bytes - most);
    f->what = mpr_arena_format(&out->arena,
                               "%s communicators over the same %s ranks hold %s, the largest %s",
                               mpr_finding_number(out, count), mpr_finding_number(out, ranks),
                               mpr_finding_size(out, bytes), mpr_finding_size(out, most));
    f->change = "one process group for both, or fewer channels for the second (NCCL_MAX_CTAS, or "
                "its config's max_ctas)";
    f->look = "peaks --by comm";
    mpr_finding_count(f, "communicators", count);
    mpr_finding_count(f, "ranks", ranks);
    mpr_finding_bytes(f, "communicator_bytes", bytes);
    mpr_finding_bytes(f, "largest_communicator_bytes", most);
}

void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->log->devices; i++) {
        const unsigned device = e->log->device[i].index;
        const struct mpr_device_state *s = &e->state[device];
        const char *gpu = mpr_finding_gpu(out, device);
        if (!s->valid) continue;
        stack_limit(out, s, gpu);
        idle(out, s, gpu);
        doubled(out, s, gpu);
    }
}
