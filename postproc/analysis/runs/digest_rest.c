/* Roles, instances and findings, of a digest. */
#include "digest_parts.h"

/* ---- roles */

static void fill_roles(struct mpr_digest *d, const struct mpr_breakdown *b)
{
    d->role = mpr_arena_alloc(&d->arena, b->heaps * MPR_ROLES * sizeof *d->role);
    for (size_t i = 0; i < b->heaps; i++) {
        const struct mpr_breakdown_heap *h = &b->heap[i];
        for (int k = 0; k < MPR_ROLES; k++) {
            const struct mpr_role_share *r = &h->role[k];
            if (r->blocks)
                d->role[d->roles++] = (struct mpr_digest_role){ h->heap, mpr_role_key(r->role),
                                                                h->time, r->bytes, r->blocks };
        }
    }
}

/* ---- instances */

static struct mpr_digest_instance instance_of(struct mpr_digest *d, uint8_t heap,
                                              const struct mpr_instances *all, size_t at,
                                              const struct mpr_instance_heap *held)
{
    const struct mpr_instance *i = &all->instance[at];
    return (struct mpr_digest_instance){ .heap = heap,
                                         .range = mpr_digest_text(d, all->range),
                                         .name = mpr_digest_text(d, i->name),
                                         .number = i->number,
                                         .count = i->count,
                                         .begin_ns = i->begin_ns,
                                         .end_ns = i->end_ns,
                                         .ended = !i->unended,
                                         .peak_bytes = held->peak_bytes,
                                         .begin_bytes = held->begin_bytes,
                                         .end_bytes = held->end_bytes };
}

static void add_instance(struct mpr_digest_instance *to, const struct mpr_instance *i,
                         const struct mpr_instance_heap *held)
{
    to->count += i->count;
    if (i->end_ns > to->end_ns) to->end_ns = i->end_ns;
    to->ended = !i->unended;
    if (held->peak_bytes > to->peak_bytes) to->peak_bytes = held->peak_bytes;
    to->end_bytes = held->end_bytes;
}

static void fill_instances(struct mpr_digest *d, const struct mpr_instances *all)
{
    const size_t joined = (all->instances + MPR_DIGEST_INSTANCES - 1) / MPR_DIGEST_INSTANCES,
                 heaps = all->heaps < MPR_DIGEST_INSTANCE_HEAPS ? all->heaps
                                                                : MPR_DIGEST_INSTANCE_HEAPS;
    d->instance = mpr_arena_alloc(&d->arena, heaps * MPR_DIGEST_INSTANCES * sizeof *d->instance);
    for (size_t h = 0; h < heaps; h++) {
        const struct mpr_instances_heap *heap = &all->heap[h];
        for (size_t i = 0; i < all->instances; i++) {
            if (i % joined == 0)
                d->instance[d->instances++] = instance_of(d, heap->heap, all, i, &heap->of[i]);
            else add_instance(&d->instance[d->instances - 1], &all->instance[i], &heap->of[i]);
        }
    }
}

/* ---- findings */

static void fill_findings(struct mpr_digest *d, const struct mpr_insights *in)
{
    d->finding = mpr_arena_alloc(&d->arena, MPR_DIGEST_FINDINGS * sizeof *d->finding);
    for (size_t i = 0; i < in->findings && i < MPR_DIGEST_FINDINGS; i++) {
        const struct mpr_finding *f = &in->finding[i];
        d->finding[d->findings++] = (struct mpr_digest_finding){
            .finding = mpr_digest_text(d, mpr_finding_keys[f->kind]),
            .where = mpr_digest_text(d, f->where),
            .what = mpr_digest_text(d, f->what),
            .path = f->path.frame ? mpr_digest_path(d, MPR_GROUP_RANGE, f->path) : "",
            .change = mpr_digest_text(d, f->change),
            .report = mpr_digest_text(d, f->look),
            .saves_at_most_bytes = f->bytes,
            .estimated = f->about,
        };
    }
}

void mpr_digest_fill_rest(struct mpr_digest *d, const struct mpr_insights *in)
{
    if (in->has_breakdown) fill_roles(d, &in->breakdown);
    if (in->has_steps) fill_instances(d, &in->steps.instances);
    fill_findings(d, in);
}
