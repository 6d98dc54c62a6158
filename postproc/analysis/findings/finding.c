/* The list of findings: the rules add to it, then those that another finding explains are dropped,
 * and the most useful come first. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "evidence.h"
#include "heap_names.h"

/* ---- adding */

const char *const mpr_finding_keys[MPR_FINDING_KINDS] = {
#define X(name, key) key,
    MPR_FINDINGS(X)
#undef X
};

struct mpr_finding *mpr_finding_add(struct mpr_insights *out, enum mpr_finding_kind kind,
                                    uint8_t heap, uint64_t time, uint64_t bytes)
{
    MPR_GROW(out->finding, out->findings, out->cap);
    struct mpr_finding *f = &out->finding[out->findings++];
    *f = (struct mpr_finding){ .kind = kind, .heap = heap, .bytes = bytes, .time = time };
    return f;
}

void mpr_finding_fact(struct mpr_finding *f, struct mpr_fact fact)
{
    assert(f->facts < MPR_FACTS_MAX);
    f->fact[f->facts++] = fact;
}

void mpr_finding_bytes(struct mpr_finding *f, const char *key, uint64_t value)
{
    mpr_finding_estimate(f, key, value, false);
}

void mpr_finding_estimate(struct mpr_finding *f, const char *key, uint64_t value, bool estimated)
{
    mpr_finding_fact(f, (struct mpr_fact){ key, MPR_FACT_BYTES, estimated, value });
}

void mpr_finding_count(struct mpr_finding *f, const char *key, uint64_t value)
{
    mpr_finding_fact(f, (struct mpr_fact){ .key = key, .type = MPR_FACT_COUNT, .value = value });
}

void mpr_finding_detail(struct mpr_finding *f, struct mpr_fact detail)
{
    assert(f->details < MPR_DETAILS_MAX);
    f->detail[f->details++] = detail;
}

void mpr_finding_detail_text(struct mpr_finding *f, const char *key, const char *text)
{
    mpr_finding_detail(f, (struct mpr_fact){ .key = key, .type = MPR_FACT_TEXT, .text = text });
}

/* ---- looking up */

const struct mpr_finding *mpr_finding_of(const struct mpr_insights *in, enum mpr_finding_kind kind,
                                         uint8_t heap)
{
    for (size_t i = 0; i < in->findings; i++)
        if (in->finding[i].kind == kind && in->finding[i].heap == heap) return &in->finding[i];
    return NULL;
}

static const struct mpr_fact *with_key(const struct mpr_fact *fact, size_t facts, const char *key,
                                       size_t length)
{
    for (size_t i = 0; i < facts; i++)
        if (strncmp(fact[i].key, key, length) == 0 && !fact[i].key[length]) return &fact[i];
    return NULL;
}

const struct mpr_fact *mpr_finding_value(const struct mpr_finding *f, const char *key,
                                         size_t length)
{
    const struct mpr_fact *fact = with_key(f->fact, f->facts, key, length);
    return fact ? fact : with_key(f->detail, f->details, key, length);
}

/* ---- competition */

/* A finding that another one of its heap explains. */
struct covered {
    enum mpr_finding_kind by, kind;
    unsigned times; /* the largest ratio of its bytes to those of the other, or 0 for any ratio */
    enum mpr_finding_variant variant; /* required variant of the other, or 0 for any */
};
static const struct covered covered[] = {
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_GROWTH, 0 },
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_ACTIVATIONS, 0 },
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_HOLDER, 0 },
    /* blocks of several forward passes, which one backward pass would free */
    { MPR_FINDING_ACTIVATIONS, MPR_FINDING_GROWTH, 2, MPR_VARIANT_WITHOUT_BACKWARD },
    { MPR_FINDING_WORKSPACES, MPR_FINDING_GROWTH, 2 },
    /* blocks that a captured graph keeps or uses again */
    { MPR_FINDING_GRAPH_POOLS, MPR_FINDING_GROWTH, 1 },
    { MPR_FINDING_GRAPH_POOLS, MPR_FINDING_TEMPORARIES, 1 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_GRAPH_POOLS, 0 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_GROWTH, 1 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_TEMPORARIES, 1 },
    /* a part of what makes the instance large; others do not need as much */
    { MPR_FINDING_INSTANCE, MPR_FINDING_TEMPORARIES, 2 },
    { MPR_FINDING_INSTANCE, MPR_FINDING_ACTIVATIONS, 0 },
};

static bool is_covered(const struct mpr_insights *in, const struct mpr_finding *f)
{
    for (size_t i = 0; i < sizeof covered / sizeof *covered; i++)
        for (size_t k = 0; k < in->findings; k++) {
            const struct mpr_finding *other = &in->finding[k];
            if (f->kind == covered[i].kind && other->kind == covered[i].by && !other->weak &&
                other->heap == f->heap &&
                (!covered[i].variant || other->variant == covered[i].variant) &&
                (!covered[i].times || f->bytes / covered[i].times <= other->bytes))
                return true;
        }
    return false;
}

/* Leaves one finding for each cause. */
static void drop_covered(struct mpr_insights *in)
{
    bool *drop = mpr_alloc(in->findings, sizeof *drop);
    size_t kept = 0;
    for (size_t i = 0; i < in->findings; i++) drop[i] = is_covered(in, &in->finding[i]);
    for (size_t i = 0; i < in->findings; i++)
        if (!drop[i]) in->finding[kept++] = in->finding[i];
    in->findings = kept;
    free(drop);
}

uint64_t mpr_insights_missing(const struct mpr_insights *in)
{
    const struct mpr_insights_oom *o = &in->oom;
    return o->free == MPF_UNKNOWN ? o->asked : mpr_saturating_sub(o->asked, o->free);
}

/* A finding and its place in the order: those that would have made room for the request that
 * failed, those that the program can do without, and those that it may need. */
enum rank { MAKES_ROOM, SAVES, MAY_SAVE };
struct ranked {
    struct mpr_finding finding;
    enum rank rank;
};

static enum rank rank_of(const struct mpr_insights *in, const struct mpr_finding *f)
{
    if (f->weak) return MAY_SAVE;
    return in->oom.told && mpf_heap_is_gpu(f->heap) && mpf_heap_device(f->heap) == in->oom.device &&
                   f->bytes >= mpr_insights_missing(in)
               ? MAKES_ROOM
               : SAVES;
}

static int by_use(const void *left, const void *right)
{
    const struct ranked *x = left, *y = right;
    const struct mpr_finding *a = &x->finding, *b = &y->finding;
    if (x->rank != y->rank) return mpr_compare(x->rank, y->rank);
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

static void sort(struct mpr_insights *in)
{
    struct ranked *ranked = mpr_alloc(in->findings, sizeof *ranked);
    for (size_t i = 0; i < in->findings; i++) {
        ranked[i].finding = in->finding[i];
        ranked[i].rank = rank_of(in, &in->finding[i]);
    }
    if (in->findings) qsort(ranked, in->findings, sizeof *ranked, by_use);
    for (size_t i = 0; i < in->findings; i++) in->finding[i] = ranked[i].finding;
    free(ranked);
}

void mpr_findings_settle(struct mpr_insights *in)
{
    drop_covered(in);
    sort(in);
}
