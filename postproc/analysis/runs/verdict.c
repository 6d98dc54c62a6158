/* Each rule compares one kind of memory of the two runs that represent the sides, and adds a change
 * if the difference counts. */
#include "verdict.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "error.h"
#include "step_noise.h"
#include "verdict_parts.h"

/* A device's memory is compared first, unless it changed by less than this share of its peak. */
enum { MAIN_SHARE = 10 };

/* ---- sides */

int64_t mpr_sides_change(struct mpr_sides s) { return mpr_signed_difference(s.base, s.now); }

struct mpr_sides mpr_account_sides(const struct mpr_diff_account *a)
{
    return (struct mpr_sides){ mpr_positive(a->base.is), mpr_positive(a->now.is) };
}

bool mpr_change_counts(const struct mpr_comparison *c, struct mpr_sides bytes,
                       struct mpr_sides peak)
{
    const uint64_t change = mpr_sides_distance(bytes);
    return change >= MPR_CHANGE_SMALL_BYTES && change >= mpr_sides_larger(peak) / 100 &&
           (change >= MPR_CHANGE_BYTES || change >= c->largest_peak / MPR_CHANGE_SHARE);
}

struct mpr_change *mpr_change_add(struct mpr_comparison *c, enum mpr_change_kind kind,
                                  const char *key, uint8_t heap, struct mpr_sides bytes,
                                  struct mpr_sides peak)
{
    struct mpr_verdict *v = c->out;
    MPR_GROW(v->change, v->changes, v->cap);
    struct mpr_change *change = &v->change[v->changes++];
    *change = (struct mpr_change){
        .kind = kind, .key = key, .heap = heap, .bytes = bytes, .peak = peak, .caller = ""
    };
    return change;
}

/* ---- owners */

/* Sets the owner to the row with the largest change in the direction of the change.  @row: by kind,
 * the largest first. */
static void name_by(struct mpr_change *change, const struct mpr_diff_row *row, size_t rows)
{
    const enum mpr_diff_kind kind =
        change->bytes.now > change->bytes.base ? MPR_DIFF_GREW : MPR_DIFF_SHRANK;
    for (const struct mpr_diff_row *r = row; r < row + rows; r++) {
        if (r->kind != kind) continue;
        change->path = r->path;
        change->caller = r->caller;
        change->shortened = true;
        change->place = (struct mpr_sides){ mpr_positive(r->base.is), mpr_positive(r->now.is) };
        change->estimated |= r->estimated;
        return;
    }
}

static void name_by_row(struct mpr_comparison *c, struct mpr_change *change,
                        const struct mpr_diff_account *a)
{
    size_t rows;
    const struct mpr_diff_row *row = mpr_diff_rows(&c->out->arena, c->diff, a, c->naming, &rows);
    name_by(change, row, rows);
}

void mpr_change_name_by_role(struct mpr_comparison *c, struct mpr_change *change,
                             const struct mpr_role_share *const *share)
{
    struct mpr_diff_side side[2] = { { NULL, 0 }, { NULL, 0 } };
    size_t rows;
    for (size_t i = 0; i < 2; i++)
        if (share[i]) side[i] = (struct mpr_diff_side){ share[i]->row, share[i]->rows };
    const struct mpr_diff_row *row =
        mpr_diff_compare_rows(&c->out->arena, c->diff, c->naming, &side[0], &side[1], &rows);
    name_by(change, row, rows);
}

/* ---- growth */

/* Returns the largest growth of the heap, or NULL.  @heap: as the base numbers devices. */
static const struct mpr_finding *growth_of(const struct mpr_comparison *c, size_t side,
                                           uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    const uint8_t own = mpr_diff_own_heap(c->diff, c->run[side], heap);
    return in ? mpr_finding_of(in, MPR_FINDING_GROWTH, own) : NULL;
}

/* Sets the bytes of the growing call site to those of the account's row that ends with it. */
static void place_growth(struct mpr_change *change, const struct mpr_diff_account *a)
{
    const struct mpr_path path = change->path;
    for (size_t i = 0; path.depth && i < a->rows; i++) {
        const struct mpr_diff_row *r = &a->row[i];
        if (!r->path.depth ||
            mpr_frame_compare(path.frame[path.depth - 1], r->path.frame[r->path.depth - 1]) != 0)
            continue;
        change->place = (struct mpr_sides){ mpr_positive(r->base.is), mpr_positive(r->now.is) };
        return;
    }
}

/* Compares the growth of a heap on both sides, and returns its bytes if the difference counts. */
static struct mpr_sides compare_growth(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                       struct mpr_sides peak)
{
    const uint8_t heap = a->which;
    const struct mpr_finding *f[2] = { growth_of(c, 0, heap), growth_of(c, 1, heap) };
    const struct mpr_sides bytes = { f[0] ? f[0]->bytes : 0, f[1] ? f[1]->bytes : 0 };
    if (!mpr_change_counts(c, bytes, peak) || !mpr_sides_agree(bytes, peak))
        return (struct mpr_sides){ 0, 0 };
    const struct mpr_finding *more = f[bytes.now > bytes.base];
    struct mpr_change *change = mpr_change_add(c, MPR_CHANGE_GROWTH, "growth", heap, bytes, peak);
    change->path = more->path;
    change->estimated = more->estimated;
    place_growth(change, a);
    return bytes;
}

/* ---- PyTorch's blocks by role */

const struct mpr_breakdown_heap *mpr_comparison_roles(const struct mpr_comparison *c, size_t side,
                                                      uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    const uint8_t own = mpr_diff_own_heap(c->diff, c->run[side], heap);
    for (size_t i = 0; in && in->has_breakdown && i < in->breakdown.heaps; i++)
        if (in->breakdown.heap[i].heap == own) return &in->breakdown.heap[i];
    return NULL;
}

static struct mpr_sides bytes_of(const struct mpr_role_share *const *share)
{
    return (struct mpr_sides){ share[0] ? share[0]->bytes : 0, share[1] ? share[1]->bytes : 0 };
}

static struct mpr_sides blocks_of(const struct mpr_role_share *const *share)
{
    return (struct mpr_sides){ share[0] ? share[0]->blocks : 0, share[1] ? share[1]->blocks : 0 };
}

/* Returns true if the bytes of one side are 2, 4 or 8 times those of the other, within 1 %. */
static bool is_other_element_size(struct mpr_sides bytes)
{
    const uint64_t most = mpr_sides_larger(bytes), least = mpr_sides_smaller(bytes);
    for (uint64_t times = 2; times <= 8; times *= 2)
        if (mpr_sides_distance((struct mpr_sides){ least * times, most }) <= most / 100)
            return true;
    return false;
}

/* The same number of parameters with a multiple of the bytes: the element type differs, which also
 * changes what is made of them. */
static bool compare_element_size(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                 struct mpr_sides peak, const struct mpr_role_share *const *share)
{
    const struct mpr_sides bytes = bytes_of(share), blocks = blocks_of(share);
    if (!blocks.base || blocks.base != blocks.now || !is_other_element_size(bytes) ||
        !mpr_sides_agree(bytes, peak) || !mpr_change_counts(c, bytes, peak))
        return false;
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_ELEMENT_SIZE, "element_size", a->which, peak, peak);
    change->parameters = bytes;
    change->blocks = blocks;
    name_by_row(c, change, a);
    return true;
}

/* Roles whose bytes depend on the data of a step, and on the instant of the peak in it. */
static bool varies_by_step(enum mpr_role role)
{
    return role == MPR_ROLE_ACTIVATIONS || role == MPR_ROLE_OUTPUTS || role == MPR_ROLE_CACHE ||
           role == MPR_ROLE_INPUTS || role == MPR_ROLE_TEMPORARIES || role == MPR_ROLE_GRADIENTS ||
           role == MPR_ROLE_UNEXPLAINED;
}

/* Returns true if growth explains at least half of the role's change: blocks that a program keeps
 * have such roles. */
static bool is_growth(enum mpr_role role, struct mpr_sides bytes, struct mpr_sides growth)
{
    return varies_by_step(role) && mpr_sides_agree(bytes, growth) &&
           mpr_sides_distance(bytes) / 2 <= mpr_sides_distance(growth);
}

/* Returns true if the change may be a consequence: the heap peaks at another instant of a step,
 * when other roles hold less. */
static bool is_consequence(struct mpr_sides bytes, struct mpr_sides peak)
{
    return !mpr_sides_agree(bytes, peak) &&
           mpr_sides_distance(bytes) < mpr_sides_distance(peak) / 2;
}

static void compare_role(struct mpr_comparison *c, uint8_t heap, struct mpr_sides peak,
                         const struct mpr_breakdown_heap *const *h, enum mpr_role role)
{
    const struct mpr_role_share *share[2] = { h[0] ? &h[0]->role[role] : NULL,
                                              h[1] ? &h[1]->role[role] : NULL };
    const struct mpr_sides bytes = bytes_of(share);
    const struct mpr_breakdown_heap *more = h[bytes.now > bytes.base];
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_ROLE, mpr_role_key(role), heap, bytes, peak);
    change->role = role;
    change->blocks = blocks_of(share);
    change->in_optimizer = more->phase == MPR_PHASE_OPTIMIZER;
    mpr_change_name_by_role(c, change, share);
}

static bool is_noise_of_steps(struct mpr_comparison *c, const struct mpr_diff_account *a,
                              const struct mpr_breakdown_heap *const *h)
{
    if (!h[0] || !h[1]) return false;
    const struct mpr_breakdown *b[2] = { &c->insights[0]->breakdown, &c->insights[1]->breakdown };
    return mpr_step_noise(&c->out->arena, b, h, mpr_account_sides(a),
                          &c->of_heap[a->which].step_spread);
}

/* Returns true if roles that vary were not compared, because their difference is noise. */
static bool compare_roles(struct mpr_comparison *c, const struct mpr_diff_account *a,
                          struct mpr_sides peak, const struct mpr_breakdown_heap *const *h)
{
    const uint8_t heap = a->which;
    const struct mpr_sides growth = compare_growth(c, a, peak);
    const bool noise = !mpr_sides_larger(growth) && is_noise_of_steps(c, a, h);
    const struct mpr_role_share *parameters[2] = { h[0] ? &h[0]->role[MPR_ROLE_PARAMETERS] : NULL,
                                                   h[1] ? &h[1]->role[MPR_ROLE_PARAMETERS] : NULL };
    const bool other_size = compare_element_size(c, a, peak, parameters);
    for (int role = 0; role < MPR_ROLES; role++) {
        const struct mpr_sides bytes = { h[0] ? h[0]->role[role].bytes : 0,
                                         h[1] ? h[1]->role[role].bytes : 0 };
        if (role == MPR_ROLE_GRAPHS) continue; /* compare_pools has them */
        if (!mpr_change_counts(c, bytes, peak) || is_consequence(bytes, peak) ||
            (noise && varies_by_step((enum mpr_role)role)) ||
            (other_size && mpr_sides_agree(bytes, peak)) ||
            (mpr_sides_larger(growth) && is_growth((enum mpr_role)role, bytes, growth)))
            continue;
        compare_role(c, heap, peak, h, (enum mpr_role)role);
    }
    return noise;
}

/* ---- heaps */

bool mpr_comparison_has_torch(const struct mpr_comparison *c, uint8_t heap)
{
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (a->of == MPR_DIFF_HEAP && a->which == mpr_heap_torch_of(heap)) return true;
    }
    return false;
}

/* Returns false if another account has the same bytes, as PyTorch's segments have those of its
 * blocks. */
static bool is_compared(const struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    if (a->of != MPR_DIFF_HEAP || a->inside) return false;
    if (mpr_heap_is_device(a->which)) return !mpr_comparison_has_torch(c, a->which);
    for (size_t i = 0; i < 2; i++) {
        const uint8_t own = mpr_diff_own_heap(c->diff, c->run[i], a->which);
        const struct mpr_heap_peak *h = mpr_peaks_heap(c->log[i], own);
        if (h && h->nested) return false;
    }
    return true;
}

static void compare_heap(struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    const struct mpr_sides peak = mpr_account_sides(a);
    const size_t before = c->out->changes;
    const struct mpr_breakdown_heap *h[2] = { mpr_comparison_roles(c, 0, a->which),
                                              mpr_comparison_roles(c, 1, a->which) };
    const bool has_roles = (h[0] || h[1]) && (h[0] || !peak.base) && (h[1] || !peak.now);
    bool noise = a->noise;
    if (!noise && has_roles) noise = compare_roles(c, a, peak, h);
    else if (!noise) compare_growth(c, a, peak);
    c->of_heap[a->which].is_noise = noise && mpr_change_counts(c, peak, peak);
    c->is_noise |= c->of_heap[a->which].is_noise;
    if (c->out->changes > before || noise || !mpr_change_counts(c, peak, peak)) return;
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_BLOCKS, "blocks", a->which, peak, peak);
    change->estimated = a->variance > 0 || a->is_approximate;
    name_by_row(c, change, a);
}

/* ---- the verdict */

static bool is_main(const struct mpr_change *change)
{
    return mpf_heap_is_gpu(change->heap) && change->kind != MPR_CHANGE_CACHE &&
           mpr_sides_distance(change->bytes) >= mpr_sides_larger(change->peak) / MAIN_SHARE;
}

static int by_importance(const void *left, const void *right)
{
    const struct mpr_change *a = left, *b = right;
    if (is_main(a) != is_main(b)) return is_main(a) ? -1 : 1;
    const int order = mpr_compare(mpr_sides_distance(b->bytes), mpr_sides_distance(a->bytes));
    if (order) return order;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

static bool is_of_device(enum mpr_change_kind kind)
{
    return kind == MPR_CHANGE_CACHE || kind == MPR_CHANGE_DEVICE || kind == MPR_CHANGE_GRAPH_POOLS;
}

/* Returns the account whose peaks the change is a part of, or NULL. */
static const struct mpr_diff_account *account_of(const struct mpr_diff *diff,
                                                 const struct mpr_change *change)
{
    for (size_t i = 0; i < diff->accounts; i++) {
        const struct mpr_diff_account *a = &diff->account[i];
        if (change->kind == MPR_CHANGE_RETENTION) return NULL;
        if (is_of_device(change->kind)
                ? a->of == MPR_DIFF_DEVICE && a->which == mpf_heap_device(change->heap)
                : a->of == MPR_DIFF_HEAP && a->which == change->heap)
            return a;
    }
    return NULL;
}

/* Returns the heap whose peaks the verdict states if nothing changed: the one with the largest
 * difference, of equal ones the largest.  If a difference was noise, only such heaps are taken. */
static const struct mpr_diff_account *foremost(const struct mpr_comparison *c)
{
    const struct mpr_diff_account *found = NULL;
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (c->is_noise && !(a->of == MPR_DIFF_HEAP && c->of_heap[a->which].is_noise)) continue;
        if (is_compared(c, a) && (!found || llabs(a->change) > llabs(found->change))) found = a;
    }
    return found;
}

static struct mpr_comparison begin(struct mpr_verdict *out, const struct mpr_diff *diff,
                                   const struct mpr_naming *naming)
{
    struct mpr_comparison c = { .out = out, .diff = diff, .naming = naming };
    const struct mpr_diff_account *a = NULL;
    for (size_t i = 0; i < diff->accounts && !a; i++)
        if (diff->account[i].of == MPR_DIFF_HEAP) a = &diff->account[i];
    c.run[0] = a ? a->base_run : 0;
    c.run[1] = a ? a->now_run : diff->base;
    for (size_t i = 0; i < 2; i++) {
        c.log[i] = &diff->peaks.log[c.run[i]];
        out->run[i] = c.run[i];
    }
    for (size_t i = 0; i < diff->accounts; i++) {
        const uint64_t peak = mpr_sides_larger(mpr_account_sides(&diff->account[i]));
        if (diff->account[i].of <= MPR_DIFF_HEAP && peak > c.largest_peak) c.largest_peak = peak;
    }
    return c;
}

static void state_peak(struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    struct mpr_verdict *out = c->out;
    if (a) {
        out->of = a->name;
        out->peak = mpr_account_sides(a);
        if (a->of == MPR_DIFF_HEAP) out->step_spread = c->of_heap[a->which].step_spread;
        out->has_run_spread = c->diff->peaks.logs > 2;
        out->run_spread =
            (struct mpr_sides){ mpr_positive(mpr_signed_sub(a->base.most, a->base.least)),
                                mpr_positive(mpr_signed_sub(a->now.most, a->now.least)) };
        if (out->changes && out->change[0].kind == MPR_CHANGE_BLOCKS) {
            out->run[0] = a->base_run;
            out->run[1] = a->now_run;
        }
    } else if (out->changes) {
        out->of = "anonymous memory";
        out->peak = out->change[0].peak;
    }
}

static void find(struct mpr_comparison *c)
{
    struct mpr_verdict *out = c->out;
    if (!c->insights[0] || !c->insights[1]) c->insights[0] = c->insights[1] = NULL;
    for (size_t i = 0; i < c->diff->accounts; i++)
        if (is_compared(c, &c->diff->account[i])) compare_heap(c, &c->diff->account[i]);
    for (size_t i = 0; i < c->diff->accounts; i++)
        if (c->diff->account[i].of == MPR_DIFF_DEVICE) mpr_compare_device(c, &c->diff->account[i]);
    mpr_compare_retention(c);
    if (out->changes) qsort(out->change, out->changes, sizeof *out->change, by_importance);
    state_peak(c, out->changes ? account_of(c->diff, out->change) : foremost(c));
    out->outcome = out->changes  ? MPR_OUTCOME_CHANGED
                   : c->is_noise ? MPR_OUTCOME_NOISE
                                 : MPR_OUTCOME_SAME;
}

void mpr_verdict_find(struct mpr_verdict *out, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_insights *base,
                      const struct mpr_insights *now)
{
    *out = (struct mpr_verdict){ .of = NULL };
    struct mpr_comparison c = begin(out, diff, naming);
    c.insights[0] = base;
    c.insights[1] = now;
    find(&c);
}

/* Returns true if the difference of a heap or a device counts. */
static bool any_counts(const struct mpr_comparison *c)
{
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (a->of <= MPR_DIFF_HEAP && !a->noise &&
            mpr_change_counts(c, mpr_account_sides(a), mpr_account_sides(a)))
            return true;
    }
    return false;
}

void mpr_verdict_read(struct mpr_verdict *out, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_progress *progress)
{
    *out = (struct mpr_verdict){ .of = NULL };
    struct mpr_comparison c = begin(out, diff, naming);
    struct mpr_error none;
    for (size_t i = 0; any_counts(&c) && i < 2; i++) {
        if (!mpr_instant_is_peak(c.log[i]->at)) break;
        struct mpr_insights *in = mpr_alloc(1, sizeof *in);
        if (mpr_insights_read(in, c.log[i]->summary.path, NULL, true, progress, &none) == 0)
            c.insights[i] = out->insights[i] = in;
        else free(in);
    }
    find(&c);
}

void mpr_verdict_free(struct mpr_verdict *verdict)
{
    for (size_t i = 0; i < 2; i++) {
        if (verdict->insights[i]) mpr_insights_free(verdict->insights[i]);
        free(verdict->insights[i]);
    }
    free(verdict->change);
    mpr_arena_free(&verdict->arena);
}
