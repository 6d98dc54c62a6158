/* Roles of PyTorch's blocks that can need less memory: optimizer state, gradients, temporaries. */
#include "breakdown.h"

#include "amount.h"
#include "evidence.h"

/* ---- the optimizer's state */

/* The first step makes it: what fitted until then need not fit afterwards.  State that is smaller
 * than the parameters is in 8 bits, or in shards. */
static void optimizer_state(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *state = &h->role[MPR_ROLE_OPTIMIZER];
    const uint64_t parameters = h->role[MPR_ROLE_PARAMETERS].bytes;
    if (!h->steps || !mpr_worth(state->bytes, h->bytes) || state->bytes < parameters) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_OPTIMIZER_STATE, h->heap, state->oldest, state->bytes);
    f->what =
        mpr_arena_format(&out->arena,
                         "the optimizer made %s of state in its step at %s: steps after the "
                         "first need so much more",
                         mpr_finding_size(out, state->bytes), mpr_finding_time(out, state->oldest));
    f->change =
        h->role[MPR_ROLE_GATHERED].bytes
            ? "judge by the second step what fits; state in 8 bits (bitsandbytes, torchao)"
            : "judge by the second step what fits; state in 8 bits (bitsandbytes, torchao), "
              "or over several ranks (ZeroRedundancyOptimizer, FSDP)";
    f->look = "breakdown";
    mpr_finding_bytes(f, "state_bytes", state->bytes);
    mpr_finding_bytes(f, "parameter_bytes", parameters);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
    mpr_finding_count(f, "steps_before", h->steps);
}

/* ---- gradients beside their buckets */

static void bucket_copies(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const uint64_t beside = mpr_less(h->role[MPR_ROLE_GRADIENTS].bytes, h->bucket_bytes),
                   bytes = beside < h->bucket_bytes ? beside : h->bucket_bytes;
    if (!mpr_worth(bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRADIENT_COPIES, h->heap, h->time, bytes);
    f->what =
        mpr_arena_format(&out->arena,
                         "%s of gradients live beside DistributedDataParallel's buckets, %s, "
                         "which hold them again",
                         mpr_finding_size(out, beside), mpr_finding_size(out, h->bucket_bytes));
    f->change = "DistributedDataParallel(..., gradient_as_bucket_view=True)";
    f->look = "breakdown";
    mpr_finding_bytes(f, "gradient_bytes", beside);
    mpr_finding_bytes(f, "bucket_bytes", h->bucket_bytes);
}

/* ---- temporaries */

enum { ONE_PLACE = 10 }; /* the share of the heap from which on it is worth a change */

/* Returns NULL outside of a pass. */
static const char *pass_of(enum mpr_phase phase)
{
    switch (phase) {
    case MPR_PHASE_FORWARD: return "a forward pass";
    case MPR_PHASE_BACKWARD: return "a backward pass";
    case MPR_PHASE_OPTIMIZER: return "an optimizer's step";
    default: return NULL;
    }
}

/* Reports the largest place, because one place can be changed.  Without a backward pass or an
 * optimizer's step the end of a forward pass is unknown. */
static void temporaries(struct mpr_insights *out, const struct mpr_breakdown *b,
                        const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *share = &h->role[MPR_ROLE_TEMPORARIES];
    const struct mpr_row *row = share->rows ? &share->row[0] : NULL;
    const char *pass = b->passes || b->steps ? pass_of(h->phase) : "calls of modules";
    if (!b->ran || !pass || !row || !row->path.depth) return;
    if (row->bytes < MPR_WORTH_BYTES || row->bytes < h->bytes / ONE_PLACE) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_TEMPORARIES, h->heap, h->time, row->bytes);
    f->what = mpr_arena_format(
        &out->arena, "%s of %s's %s were made and gone within %s, %s of it in one place",
        mpr_finding_size(out, share->bytes), mpr_heap_name(h->heap),
        mpr_finding_size(out, h->bytes), pass, mpr_finding_size(out, row->bytes));
    f->path = row->path;
    f->change = "less at a time (a loss over pieces of the batch, a smaller one), in place or "
                "fused, or where less else lives";
    f->look = "breakdown";
    mpr_finding_bytes(f, "temporary_bytes", share->bytes);
    mpr_finding_count(f, "temporary_blocks", share->blocks);
    mpr_finding_bytes(f, "place_bytes", row->bytes);
    mpr_finding_count(f, "place_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_breakdown_heap *h = &e->breakdown->heap[i];
        optimizer_state(out, h);
        bucket_copies(out, h);
        temporaries(out, e->breakdown, h);
    }
}
