/* Findings about a job: memory of ranks on GPUs where they do not work, and ranks that hold more
 * than the others. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "evidence.h"
#include "ranks.h"

/* Moves the newest finding before findings about one log that save at most a quarter more,
 * because it explains them. */
static void move_up(struct mpr_insights *in)
{
    const struct mpr_finding newest = in->finding[in->findings - 1];
    const uint64_t most = newest.bytes + newest.bytes / 4;
    size_t at = 0;
    for (; at + 1 < in->findings; at++) {
        const struct mpr_finding *f = &in->finding[at];
        const bool of_job =
            f->kind == MPR_FINDING_FOREIGN_GPU || f->kind == MPR_FINDING_UNEVEN_RANKS;
        if (f->bytes <= (of_job ? newest.bytes : most)) break;
    }
    memmove(&in->finding[at + 1], &in->finding[at], (in->findings - 1 - at) * sizeof *in->finding);
    in->finding[at] = newest;
}

/* ---- GPUs where a rank does not work */

/* The memory that a rank holds on a GPU at its peaks. */
struct use {
    size_t rank;
    const struct mpr_digest_device *device;
    uint64_t blocks, contexts; /* bytes */
    bool works;                /* the rank works there: it holds more than on its other GPUs */
};

static uint64_t contexts_of(const struct mpr_digest *d, uint64_t device)
{
    static const char *const part[] = { "context", "modules", "streams", "local_memory",
                                        "pool_overhead" };
    int64_t sum = 0;
    for (size_t i = 0; i < d->parts; i++)
        for (size_t k = 0; d->part[i].device == device && k < sizeof part / sizeof *part; k++)
            if (strcmp(d->part[i].part, part[k]) == 0) sum = mpr_signed_add(sum, d->part[i].bytes);
    return sum > 0 ? (uint64_t)sum : 0;
}

/* Fills the GPUs of all ranks.  Returns their number. */
static size_t find_uses(const struct mpr_ranks *r, struct use *use)
{
    size_t uses = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        const size_t first = uses;
        size_t most = first;
        uint64_t most_bytes = 0;
        for (size_t k = 0; k < d->devices; k++) {
            const uint64_t device = d->device[k].device;
            const struct use u = { .rank = i,
                                   .device = &d->device[k],
                                   .blocks = mpr_ranks_peak_on(d, MPF_HEAP_DEVICE, device),
                                   .contexts = contexts_of(d, device) };
            const uint64_t bytes = u.blocks + u.contexts;
            if (!bytes || !*u.device->uuid) continue;
            if (uses == first || bytes > most_bytes) {
                most = uses;
                most_bytes = bytes;
            }
            use[uses++] = u;
        }
        if (uses > first) use[most].works = true;
    }
    return uses;
}

MPR_COMPARE(by_gpu, struct use,
            strcmp(a->device->uuid, b->device->uuid) ?: mpr_compare(a->rank, b->rank))

/* The ranks that hold memory on a GPU where they do not work. */
struct foreign {
    size_t *rank, ranks;
    uint64_t blocks, contexts;
    const struct use *largest; /* by blocks */
    bool used_by_others;       /* another rank works there, or several ranks hold memory there */
};

/* @use: of one GPU. */
static struct foreign foreign_of(struct mpr_arena *arena, const struct use *use, size_t uses)
{
    struct foreign f = { .rank = mpr_arena_alloc(arena, uses * sizeof *f.rank) };
    for (size_t i = 0; i < uses; i++) {
        const struct use *u = &use[i];
        if (u->works) {
            f.used_by_others = true;
            continue;
        }
        f.rank[f.ranks++] = u->rank;
        f.blocks += u->blocks;
        f.contexts += u->contexts;
        if (!f.largest || u->blocks > f.largest->blocks) f.largest = u;
    }
    f.used_by_others |= f.ranks > 1;
    return f;
}

/* Returns the line of the digest that holds most on the GPU, or NULL. */
static const struct mpr_digest_line *largest_line(const struct mpr_digest *d, uint64_t device)
{
    static const unsigned kind[] = { MPF_HEAP_TORCH, MPF_HEAP_DEVICE };
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
        for (size_t i = 0; i < d->lines; i++) /* largest first */
            if (d->line[i].heap == mpf_heap_gpu(kind[k], (unsigned)device) && *d->line[i].alike)
                return &d->line[i];
    return NULL;
}

/* Adds the finding. Returns the line that holds most, with its caller, or NULL. */
static const char *add_foreign(struct mpr_insights *in, const struct mpr_ranks *r,
                               const struct foreign *f, size_t gpus)
{
    const struct use *largest = f->largest;
    const struct mpr_digest *d = r->rank[largest->rank].digest;
    const unsigned device = (unsigned)largest->device->device;
    const struct mpr_digest_line *line = largest_line(d, device);
    const bool blocks = line && f->blocks >= MPR_WORTH_BYTES;
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_DEVICE, device);
    struct mpr_finding *out = mpr_finding_add(in, MPR_FINDING_FOREIGN_GPU, heap,
                                              largest->device->peak_ns, f->blocks + f->contexts);
    out->variant = blocks ? MPR_VARIANT_BLOCKS : MPR_VARIANT_CONTEXTS;
    mpr_finding_count(out, "ranks", f->ranks);
    mpr_finding_bytes(out, "block_bytes", f->blocks);
    mpr_finding_bytes(out, "context_bytes", f->contexts);
    if (gpus > 1) mpr_finding_count(out, "more_gpus", gpus - 1);
    mpr_finding_detail_text(out, "who",
                            mpr_arena_format(&in->arena, "%s%s", f->ranks > 1 ? "ranks " : "",
                                             mpr_ranks_set(r, &in->arena, f->rank, f->ranks)));
    mpr_finding_detail_text(out, "gpu", mpr_arena_format(&in->arena, "gpu%u", device));
    const char *place = blocks ? mpr_frame_with_caller(&in->arena, line->path, line->caller) : NULL;
    if (place) mpr_finding_detail_text(out, "place", place);
    move_up(in);
    return place;
}

/* Reports the GPU with most memory of ranks that do not work there. A GPU that only one rank
 * uses belongs to it, for example if a model is split among GPUs. Returns the place of its
 * largest line, or NULL. */
static const char *foreign_gpus(struct mpr_insights *in, const struct mpr_ranks *r)
{
    size_t devices = 0, gpus = 0;
    for (size_t i = 0; i < r->ranks; i++) devices += r->rank[i].digest->devices;
    struct use *use = mpr_alloc(devices, sizeof *use);
    const size_t uses = find_uses(r, use);
    struct foreign most = { .ranks = 0 };
    if (uses) qsort(use, uses, sizeof *use, by_gpu);
    for (size_t i = 0, to; i < uses; i = to) {
        for (to = i + 1; to < uses && !strcmp(use[to].device->uuid, use[i].device->uuid);) to++;
        const struct foreign f = foreign_of(&in->arena, &use[i], to - i);
        if (!f.ranks || !f.used_by_others || f.blocks + f.contexts < MPR_WORTH_BYTES) continue;
        gpus++;
        if (f.blocks + f.contexts > most.blocks + most.contexts) most = f;
    }
    const char *place = gpus ? add_foreign(in, r, &most, gpus) : NULL;
    free(use);
    return place;
}

/* ---- ranks that hold more */

/* Returns true if a finding about growth already explains the difference. */
static bool grows(const struct mpr_digest *d, uint64_t bytes)
{
    for (size_t i = 0; i < d->findings; i++)
        if (strcmp(d->finding[i].finding, mpr_finding_keys[MPR_FINDING_GROWTH]) == 0 &&
            d->finding[i].saves_at_most_bytes >= bytes - bytes / 5)
            return true;
    return false;
}

/* Reports one difference: between two ranks, or of the largest outlier that holds more than its
 * reference. @foreign: place of memory on a GPU where a rank does not work, or NULL. A rank with
 * the same place differs only because it holds that memory on its own GPU. */
static void uneven_ranks(struct mpr_insights *in, const struct mpr_ranks *r, const char *foreign)
{
    const struct mpr_ranks_outlier *o = r->pair;
    for (size_t i = 0; !o && i < r->outliers; i++)
        if (r->outlier[i].change > 0) o = &r->outlier[i];
    if (!o) return;
    const struct mpr_rank *a = &r->rank[o->rank], *b = &r->rank[o->reference];
    if (!a->start_ns || !b->start_ns ||
        a->start_ns >= b->start_ns + b->digest->process->duration_ns ||
        b->start_ns >= a->start_ns + a->digest->process->duration_ns)
        return; /* not two jobs that ran one after the other */
    const struct mpr_ranks_measure *m = &r->measure[o->cause_measure];
    const struct mpr_digest *d = a->digest;
    const struct mpr_digest_heap *heap = mpr_ranks_heap(d, m->kind);
    const uint64_t peak = m->value[o->rank], usual = m->value[o->reference],
                   more = mpr_saturating_sub(peak, usual);
    const char *place =
        o->causes && o->cause[0].change > 0
            ? mpr_frame_with_caller(&in->arena, o->cause[0].path, o->cause[0].caller)
            : NULL;
    if (!heap || !mpr_worth(more, peak) || grows(d, more) ||
        (place && foreign && strcmp(place, foreign) == 0))
        return;
    struct mpr_finding *f =
        mpr_finding_add(in, MPR_FINDING_UNEVEN_RANKS, heap->heap, heap->peak_ns, more);
    f->estimated = m->estimated;
    mpr_finding_estimate(f, "peak_bytes", peak, m->estimated);
    mpr_finding_estimate(f, "usual_bytes", usual, m->estimated);
    mpr_finding_detail_text(f, "rank", a->name);
    mpr_finding_detail_text(
        f, "usual", mpr_arena_format(&in->arena, "%s%s", r->pair ? "" : "the median, ", b->name));
    if (place) {
        const struct mpr_ranks_cause *c = &o->cause[0];
        mpr_finding_estimate(f, "place_bytes", (uint64_t)c->change, c->estimated);
        mpr_finding_detail_text(f, "place", place);
    }
    move_up(in);
}

void mpr_ranks_findings(const struct mpr_ranks *r, struct mpr_insights *in)
{
    if (!r->numbered || r->ranks < 2) return;
    uneven_ranks(in, r, foreign_gpus(in, r));
}
