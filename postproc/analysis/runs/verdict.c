/* Each rule compares one kind of memory of the two runs that represent the sides, and adds a change
 * if the difference counts. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "error.h"

/* The least size of a difference: CHANGE_BYTES, or a tenth of the largest peak if that is not less
 * than SMALL_BYTES.  A device's memory is compared first, unless it changed by less than MAIN_SHARE
 * of its peak. */
enum { CHANGE_BYTES = 64 << 20, CHANGE_SHARE = 10, SMALL_BYTES = 4 << 20, MAIN_SHARE = 10 };

/* The two runs. */
struct comparison {
    struct mpr_verdict *out;
    const struct mpr_diff *diff;
    const struct mpr_naming *naming;
    size_t run[2];
    const struct mpr_log_peaks *log[2];
    const struct mpr_insights *insights[2]; /* both, or none */
    uint64_t largest_peak;                  /* of all heaps */
    bool is_noise;                          /* a difference that counts was noise */
    struct {
        bool is_noise;                /* the difference counts, but is noise */
        struct mpr_sides step_spread; /* as in struct mpr_verdict */
    } heap[UINT8_MAX + 1];
};

/* ---- sides */

static uint64_t positive(int64_t bytes) { return bytes > 0 ? (uint64_t)bytes : 0; }

static struct mpr_sides sides_of(const struct mpr_diff_row *r)
{
    return (struct mpr_sides){ positive(r->base.is), positive(r->now.is) };
}

/* Returns true if both change in the same direction. */
static bool agree(struct mpr_sides a, struct mpr_sides b)
{
    return (a.now > a.base) == (b.now > b.base);
}

/* Returns true if a difference of a part of @peak is large enough to be stated. */
static bool counts(const struct comparison *c, struct mpr_sides bytes, struct mpr_sides peak)
{
    const uint64_t change = mpr_sides_distance(bytes);
    return change >= SMALL_BYTES && change >= mpr_sides_larger(peak) / 100 &&
           (change >= CHANGE_BYTES || change >= c->largest_peak / CHANGE_SHARE);
}

/* The change is valid until the next one is added. */
static struct mpr_change *add(struct comparison *c, enum mpr_change_kind kind, const char *key,
                              uint8_t heap, struct mpr_sides bytes, struct mpr_sides peak)
{
    struct mpr_verdict *v = c->out;
    MPR_GROW(v->change, v->changes, v->cap);
    struct mpr_change *change = &v->change[v->changes++];
    *change = (struct mpr_change){
        .kind = kind, .key = key, .heap = heap, .bytes = bytes, .peak = peak, .caller = ""
    };
    return change;
}

/* ---- one side.  @heap: as the base numbers devices. */

/* Returns the largest finding of the heap, or NULL. */
static const struct mpr_finding *finding_of(const struct comparison *c, size_t side,
                                            enum mpr_finding_kind kind, uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    return in ? mpr_finding_of(in, kind, mpr_diff_own_heap(c->diff, c->run[side], heap)) : NULL;
}

/* Returns the roles of the heap's blocks, or NULL. */
static const struct mpr_breakdown_heap *roles_of(const struct comparison *c, size_t side,
                                                 uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    const uint8_t own = mpr_diff_own_heap(c->diff, c->run[side], heap);
    for (size_t i = 0; in && in->has_breakdown && i < in->breakdown.heaps; i++)
        if (in->breakdown.heap[i].heap == own) return &in->breakdown.heap[i];
    return NULL;
}

/* Returns true if PyTorch uses the device of the heap. */
static bool has_torch(const struct comparison *c, uint8_t heap)
{
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (a->of == MPR_DIFF_HEAP && a->which == mpr_heap_torch_of(heap)) return true;
    }
    return false;
}

/* A role's blocks on both sides; NULL: unknown. */
struct shares {
    const struct mpr_role_share *of[2];
};

static struct shares shares_of(const struct mpr_breakdown_heap *const *h, enum mpr_role role)
{
    return (struct shares){ { h[0] ? &h[0]->role[role] : NULL, h[1] ? &h[1]->role[role] : NULL } };
}

static struct mpr_sides share_bytes(const struct shares *s)
{
    return (struct mpr_sides){ s->of[0] ? s->of[0]->bytes : 0, s->of[1] ? s->of[1]->bytes : 0 };
}

static struct mpr_sides share_blocks(const struct shares *s)
{
    return (struct mpr_sides){ s->of[0] ? s->of[0]->blocks : 0, s->of[1] ? s->of[1]->blocks : 0 };
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
        change->place = sides_of(r);
        change->estimated |= r->estimated;
        return;
    }
}

static void name_by_row(struct comparison *c, struct mpr_change *change,
                        const struct mpr_diff_account *a)
{
    size_t rows;
    const struct mpr_diff_row *row = mpr_diff_rows(&c->out->arena, c->diff, a, c->naming, &rows);
    name_by(change, row, rows);
}

static void name_by_role(struct comparison *c, struct mpr_change *change, const struct shares *s)
{
    size_t rows;
    const struct mpr_diff_row *row =
        mpr_diff_role_rows(&c->out->arena, c->diff, c->naming, s->of, &rows);
    name_by(change, row, rows);
}

/* ---- growth */

/* Compares the growth of a heap on both sides, and returns its bytes if the difference counts.  The
 * bytes of the growing call site are those of the account's row that ends with it. */
static struct mpr_sides compare_growth(struct comparison *c, const struct mpr_diff_account *a,
                                       struct mpr_sides peak)
{
    const struct mpr_finding *f[2] = { finding_of(c, 0, MPR_FINDING_GROWTH, a->which),
                                       finding_of(c, 1, MPR_FINDING_GROWTH, a->which) };
    const struct mpr_sides bytes = { f[0] ? f[0]->bytes : 0, f[1] ? f[1]->bytes : 0 };
    if (!counts(c, bytes, peak) || !agree(bytes, peak)) return (struct mpr_sides){ 0, 0 };
    const struct mpr_finding *more = f[bytes.now > bytes.base];
    struct mpr_change *change = add(c, MPR_CHANGE_GROWTH, "growth", a->which, bytes, peak);
    const struct mpr_path path = change->path = more->path;
    change->estimated = more->estimated;
    for (size_t i = 0; path.depth && i < a->rows; i++) {
        const struct mpr_diff_row *r = &a->row[i];
        if (!r->path.depth ||
            mpr_frame_compare(path.frame[path.depth - 1], r->path.frame[r->path.depth - 1]) != 0)
            continue;
        change->place = sides_of(r);
        break;
    }
    return bytes;
}

/* ---- noise of training steps */

/* The peaks of a run's steps, sorted. */
struct step_peaks {
    uint64_t *peak;
    size_t count;
};

/* Returns true if the steps of one run are larger than those of the other by more than chance:
 * three standard errors of the Mann-Whitney statistic. */
static bool is_shifted(const struct step_peaks *a, const struct step_peaks *b)
{
    double larger_pairs = 0; /* an equal pair counts as a half */
    size_t less = 0, upto = 0;
    for (size_t i = 0; i < a->count; i++) {
        while (less < b->count && b->peak[less] < a->peak[i]) less++;
        while (upto < b->count && b->peak[upto] <= a->peak[i]) upto++;
        larger_pairs += (double)(less + upto) / 2;
    }
    const double pairs = (double)a->count * (double)b->count,
                 error = sqrt(pairs * (double)(a->count + b->count + 1) / 12);
    return fabs(larger_pairs - pairs / 2) > 3 * error;
}

/* Takes the peaks of the complete training steps, without the first one, in which the optimizer
 * makes its state. */
static struct step_peaks steps_of(struct mpr_arena *arena, const struct mpr_breakdown *b,
                                  const struct mpr_breakdown_heap *h)
{
    const size_t complete = h->step_peaks < b->steps ? h->step_peaks : b->steps;
    struct step_peaks s = { NULL, complete ? complete - 1 : 0 };
    if (!s.count) return s;
    s.peak = mpr_arena_alloc(arena, s.count * sizeof *s.peak);
    memcpy(s.peak, h->step_peak + 1, s.count * sizeof *s.peak);
    qsort(s.peak, s.count, sizeof *s.peak, mpr_compare_numbers);
    return s;
}

/* Returns true if the training steps of each run vary by at least as much as the two peaks differ,
 * and the steps of one run are not larger than those of the other one.  If both runs have enough
 * steps, their spread is the distance between the quartiles, which a few steps that also validate
 * do not change. */
static bool is_step_noise(struct comparison *c, const struct mpr_diff_account *a,
                          const struct mpr_breakdown_heap *const *h)
{
    enum { MIN_STEPS = 4 };
    struct step_peaks of[2];
    uint64_t spread[2];
    for (size_t i = 0; i < 2; i++) {
        if (!h[i]) return false;
        of[i] = steps_of(&c->out->arena, &c->insights[i]->breakdown, h[i]);
        if (of[i].count < MIN_STEPS) return false;
        spread[i] = of[i].peak[of[i].count * 3 / 4] - of[i].peak[of[i].count / 4];
    }
    const struct mpr_sides spreads = { spread[0], spread[1] };
    const bool overlap = of[0].peak[0] <= of[1].peak[of[1].count - 1] &&
                         of[1].peak[0] <= of[0].peak[of[0].count - 1];
    c->heap[a->which].step_spread = spreads;
    return overlap && mpr_sides_distance(sides_of(&a->total)) <= mpr_sides_smaller(spreads) &&
           !is_shifted(&of[0], &of[1]);
}

/* ---- PyTorch's blocks by role */

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
static bool compare_element_size(struct comparison *c, const struct mpr_diff_account *a,
                                 struct mpr_sides peak, const struct shares *parameters)
{
    const struct mpr_sides bytes = share_bytes(parameters), blocks = share_blocks(parameters);
    if (!blocks.base || blocks.base != blocks.now || !is_other_element_size(bytes) ||
        !agree(bytes, peak) || !counts(c, bytes, peak))
        return false;
    struct mpr_change *change =
        add(c, MPR_CHANGE_ELEMENT_SIZE, "element_size", a->which, peak, peak);
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

/* Returns true if the role's change is not stated.  The change may be a consequence: the heap peaks
 * at another instant of a step, when other roles hold less; or growth explains at least half of it,
 * because blocks that a program keeps have such roles. */
static bool is_left_out(const struct comparison *c, enum mpr_role role, struct mpr_sides bytes,
                        struct mpr_sides peak, struct mpr_sides growth)
{
    if (role == MPR_ROLE_GRAPHS || !counts(c, bytes, peak))
        return true; /* compare_pools has them */
    if (!agree(bytes, peak) && mpr_sides_distance(bytes) < mpr_sides_distance(peak) / 2)
        return true;
    return mpr_sides_larger(growth) && varies_by_step(role) && agree(bytes, growth) &&
           mpr_sides_distance(bytes) / 2 <= mpr_sides_distance(growth);
}

/* Returns true if roles that vary were not compared, because their difference is noise. */
static bool compare_roles(struct comparison *c, const struct mpr_diff_account *a,
                          struct mpr_sides peak, const struct mpr_breakdown_heap *const *h)
{
    const struct mpr_sides growth = compare_growth(c, a, peak);
    const bool noise = !mpr_sides_larger(growth) && is_step_noise(c, a, h);
    const struct shares parameters = shares_of(h, MPR_ROLE_PARAMETERS);
    const bool other_size = compare_element_size(c, a, peak, &parameters);
    for (enum mpr_role role = 0; role < MPR_ROLES; role++) {
        const struct shares share = shares_of(h, role);
        const struct mpr_sides bytes = share_bytes(&share);
        if (is_left_out(c, role, bytes, peak, growth) || (noise && varies_by_step(role)) ||
            (other_size && agree(bytes, peak)))
            continue;
        struct mpr_change *change =
            add(c, MPR_CHANGE_ROLE, mpr_role_key(role), a->which, bytes, peak);
        change->role = role;
        change->blocks = share_blocks(&share);
        change->in_optimizer = h[bytes.now > bytes.base]->phase == MPR_PHASE_OPTIMIZER;
        name_by_role(c, change, &share);
    }
    return noise;
}

/* ---- heaps */

/* Returns false if another account has the same bytes, as PyTorch's segments have those of its
 * blocks. */
static bool is_compared(const struct comparison *c, const struct mpr_diff_account *a)
{
    if (a->of != MPR_DIFF_HEAP || a->inside) return false;
    if (mpr_heap_is_device(a->which)) return !has_torch(c, a->which);
    for (size_t i = 0; i < 2; i++) {
        const uint8_t own = mpr_diff_own_heap(c->diff, c->run[i], a->which);
        const struct mpr_heap_peak *h = mpr_peaks_heap(c->log[i], own);
        if (h && h->nested) return false;
    }
    return true;
}

/* Returns true if the roles of at least half of the heap's bytes are known. */
static bool has_roles(const struct mpr_breakdown_heap *h)
{
    return h && h->role[MPR_ROLE_UNEXPLAINED].bytes <= h->bytes / 2;
}

static void compare_heap(struct comparison *c, const struct mpr_diff_account *a)
{
    const struct mpr_sides peak = sides_of(&a->total);
    const size_t before = c->out->changes;
    const struct mpr_breakdown_heap *h[2] = { roles_of(c, 0, a->which), roles_of(c, 1, a->which) };
    const bool by_role =
        (h[0] || h[1]) && (has_roles(h[0]) || !peak.base) && (has_roles(h[1]) || !peak.now);
    bool noise = a->total.kind == MPR_DIFF_NOISE;
    if (!noise && by_role) noise = compare_roles(c, a, peak, h);
    else if (!noise) compare_growth(c, a, peak);
    c->heap[a->which].is_noise = noise && counts(c, peak, peak);
    c->is_noise |= c->heap[a->which].is_noise;
    if (c->out->changes > before || noise || !counts(c, peak, peak)) return;
    struct mpr_change *change = add(c, MPR_CHANGE_BLOCKS, "blocks", a->which, peak, peak);
    change->estimated = a->total.variance > 0 || a->total.estimated;
    name_by_row(c, change, a);
}

/* ---- devices */

static const struct mpr_device *device_of(const struct comparison *c, size_t side, unsigned number)
{
    const uint8_t own =
        mpr_diff_own_heap(c->diff, c->run[side], mpf_heap_gpu(MPF_HEAP_DEVICE, number));
    for (size_t i = 0; i < c->log[side]->devices; i++)
        if (c->log[side]->device[i].index == mpf_heap_device(own)) return &c->log[side]->device[i];
    return NULL;
}

static uint64_t use_of(const struct mpr_device *d, enum mpr_use use)
{
    return d && d->peak.valid ? positive(mpr_device_bytes(&d->peak, use)) : 0;
}

/* Compares the bytes of the graphs' memory pools: those of all segments if their finding has them,
 * else live blocks and free memory. */
static void compare_pools(struct comparison *c, unsigned number, const struct mpr_device *const *d,
                          struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_TORCH, number);
    const struct mpr_breakdown_heap *h[2] = { roles_of(c, 0, heap), roles_of(c, 1, heap) };
    const struct shares captured = shares_of(h, MPR_ROLE_GRAPHS);
    const char key[] = "pool_bytes";
    uint64_t pool[2];
    for (size_t i = 0; i < 2; i++) {
        const struct mpr_finding *f = finding_of(c, i, MPR_FINDING_GRAPH_POOLS, heap);
        pool[i] = f ? mpr_finding_value(f, key, sizeof key - 1)->value
                    : use_of(d[i], MPR_USE_TORCH_GRAPH_POOLS) +
                          (captured.of[i] ? captured.of[i]->bytes : 0);
    }
    const struct mpr_sides bytes = { pool[0], pool[1] };
    if (!counts(c, bytes, peak)) return;
    name_by_role(c, add(c, MPR_CHANGE_GRAPH_POOLS, "graph_pools", heap, bytes, peak), &captured);
}

/* Compares the memory that PyTorch keeps free.  It differs as a consequence if live blocks differ
 * by as much. */
static void compare_cache(struct comparison *c, unsigned number, const struct mpr_device *const *d,
                          struct mpr_sides peak)
{
    uint64_t kept[2];
    for (size_t i = 0; i < 2; i++)
        kept[i] = use_of(d[i], MPR_USE_TORCH_SPLIT_FREE) + use_of(d[i], MPR_USE_TORCH_RELEASABLE);
    const struct mpr_sides bytes = { kept[0], kept[1] },
                           live = { use_of(d[0], MPR_USE_TORCH_LIVE),
                                    use_of(d[1], MPR_USE_TORCH_LIVE) };
    if (counts(c, bytes, peak) && mpr_sides_distance(bytes) >= 2 * mpr_sides_distance(live))
        add(c, MPR_CHANGE_CACHE, "cache", mpf_heap_gpu(MPF_HEAP_TORCH, number), bytes, peak);
}

/* Compares the parts of a device that belong to no heap.  Blocks of a library are in gpuN/device;
 * their heap is compared unless PyTorch uses the device. */
static void compare_parts(struct comparison *c, const struct mpr_diff_account *a,
                          const struct mpr_device *const *d, struct mpr_sides peak)
{
    const uint8_t heap = mpf_heap_gpu(MPF_HEAP_DEVICE, a->which);
    const bool with_torch = has_torch(c, heap);
    for (int use = MPR_USE_NCCL; use < MPR_USES; use++) {
        const struct mpr_sides bytes = { use_of(d[0], (enum mpr_use)use),
                                         use_of(d[1], (enum mpr_use)use) };
        const bool of_heap = use <= MPR_USE_GRAPH_MEMORY;
        if (!counts(c, bytes, peak) || (of_heap && !with_torch)) continue;
        const struct mpr_device *more = d[bytes.now > bytes.base];
        struct mpr_change *change = add(c, MPR_CHANGE_DEVICE, "device", heap, bytes, peak);
        change->use = (enum mpr_use)use;
        for (size_t i = 0; i < more->peak.parts; i++)
            if (more->peak.part[i].use == (enum mpr_use)use) change->part = more->peak.part[i].name;
    }
}

static void compare_device(struct comparison *c, const struct mpr_diff_account *a)
{
    const struct mpr_device *d[2] = { device_of(c, 0, a->which), device_of(c, 1, a->which) };
    const struct mpr_sides peak = sides_of(&a->total);
    if (!d[0] || !d[1] || !d[0]->peak.valid || !d[1]->peak.valid || a->total.kind == MPR_DIFF_NOISE)
        return;
    compare_pools(c, a->which, d, peak);
    if (!c->heap[mpf_heap_gpu(MPF_HEAP_TORCH, a->which)].is_noise)
        compare_cache(c, a->which, d, peak);
    compare_parts(c, a, d, peak);
}

/* ---- anonymous memory that belongs to no block */

/* Returns the anonymous memory beyond the peaks of blocks and mappings.  Mappings need not be
 * touched, so it may be more. */
static uint64_t unowned(const struct mpr_log_peaks *log, const struct mpr_heap_peak *blocks)
{
    const struct mpr_heap_peak *mappings = mpr_peaks_heap(log, MPF_HEAP_MMAP);
    const uint64_t live = blocks->peak_bytes + (mappings ? mappings->peak_bytes : 0);
    return mpr_saturating_sub(log->summary.anonymous, live);
}

/* Compares anonymous memory that belongs to no live block, because malloc keeps freed blocks, or
 * because memprof does not record its owner.  Its peak is not known for an instant, and it is no
 * part of another heap. */
static void compare_retention(struct comparison *c)
{
    const struct mpr_heap_peak *blocks[2] = { mpr_peaks_heap(c->log[0], MPF_HEAP_HOST),
                                              mpr_peaks_heap(c->log[1], MPF_HEAP_HOST) };
    const struct mpr_sides resident = { c->log[0]->summary.anonymous,
                                        c->log[1]->summary.anonymous };
    const uint8_t heap = c->diff->peaks.options.heap;
    if ((heap && heap != MPF_HEAP_HOST) || !mpr_instant_is_peak(c->log[0]->at)) return;
    if (!blocks[0] || !blocks[1] || !resident.base || !resident.now) return;
    const struct mpr_sides bytes = { unowned(c->log[0], blocks[0]), unowned(c->log[1], blocks[1]) };
    if (mpr_sides_distance(bytes) < CHANGE_BYTES || !counts(c, bytes, resident) ||
        !counts(c, resident, resident) || !agree(bytes, resident))
        return; /* the kernel's figures are sampled */
    struct mpr_change *change =
        add(c, MPR_CHANGE_RETENTION, "retention", MPF_HEAP_HOST, bytes, resident);
    const struct mpr_heap_peak *more = blocks[bytes.now > bytes.base];
    if (more->rows) change->path = more->row[0].path;
    change->estimated = true;
}

/* ---- the verdict */

static bool is_main(const struct mpr_change *change)
{
    return mpf_heap_is_gpu(change->heap) && change->kind != MPR_CHANGE_CACHE &&
           mpr_sides_distance(change->bytes) >= mpr_sides_larger(change->peak) / MAIN_SHARE;
}

MPR_COMPARE(by_importance, struct mpr_change,
            mpr_compare(is_main(b), is_main(a))
                ?: mpr_compare(mpr_sides_distance(b->bytes), mpr_sides_distance(a->bytes))
                ?: mpr_compare(a->kind, b->kind) ?: mpr_heap_by_name(a->heap, b->heap))

/* Returns the account whose peaks the change is a part of, or NULL. */
static const struct mpr_diff_account *account_of(const struct mpr_diff *diff,
                                                 const struct mpr_change *change)
{
    const bool device = change->kind == MPR_CHANGE_CACHE || change->kind == MPR_CHANGE_DEVICE ||
                        change->kind == MPR_CHANGE_GRAPH_POOLS;
    if (change->kind == MPR_CHANGE_RETENTION) return NULL;
    for (const struct mpr_diff_account *a = diff->account; a < diff->account + diff->accounts; a++)
        if (device ? a->of == MPR_DIFF_DEVICE && a->which == mpf_heap_device(change->heap)
                   : a->of == MPR_DIFF_HEAP && a->which == change->heap)
            return a;
    return NULL;
}

/* Returns the heap whose peaks the verdict states if nothing changed: the one with the largest
 * difference, of equal ones the largest.  If a difference was noise, only such heaps are taken. */
static const struct mpr_diff_account *foremost(const struct comparison *c)
{
    const struct mpr_diff_account *found = NULL;
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (c->is_noise && !(a->of == MPR_DIFF_HEAP && c->heap[a->which].is_noise)) continue;
        if (is_compared(c, a) && (!found || llabs(a->total.change) > llabs(found->total.change)))
            found = a;
    }
    return found;
}

static struct comparison begin(struct mpr_verdict *out, const struct mpr_diff *diff,
                               const struct mpr_naming *naming)
{
    struct comparison c = { .out = out, .diff = diff, .naming = naming };
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
        const uint64_t peak = mpr_sides_larger(sides_of(&diff->account[i].total));
        if (diff->account[i].of <= MPR_DIFF_HEAP && peak > c.largest_peak) c.largest_peak = peak;
    }
    return c;
}

static void find(struct comparison *c)
{
    struct mpr_verdict *out = c->out;
    const struct mpr_diff *diff = c->diff;
    if (!c->insights[0] || !c->insights[1]) c->insights[0] = c->insights[1] = NULL;
    for (size_t i = 0; i < diff->accounts; i++)
        if (is_compared(c, &diff->account[i])) compare_heap(c, &diff->account[i]);
    for (size_t i = 0; i < diff->accounts; i++)
        if (diff->account[i].of == MPR_DIFF_DEVICE) compare_device(c, &diff->account[i]);
    compare_retention(c);
    if (out->changes) qsort(out->change, out->changes, sizeof *out->change, by_importance);
    out->outcome = out->changes  ? MPR_OUTCOME_CHANGED
                   : c->is_noise ? MPR_OUTCOME_NOISE
                                 : MPR_OUTCOME_SAME;
    const struct mpr_diff_account *a = out->changes ? account_of(diff, out->change) : foremost(c);
    if (!a) {
        if (!out->changes) return;
        out->of = "anonymous memory";
        out->peak = out->change[0].peak;
        return;
    }
    const struct mpr_spread *base = &a->total.base, *now = &a->total.now;
    out->of = a->name;
    out->peak = sides_of(&a->total);
    if (a->of == MPR_DIFF_HEAP) out->step_spread = c->heap[a->which].step_spread;
    out->has_run_spread = diff->peaks.logs > 2;
    out->run_spread = (struct mpr_sides){ positive(mpr_signed_sub(base->most, base->least)),
                                          positive(mpr_signed_sub(now->most, now->least)) };
    if (out->changes && out->change[0].kind == MPR_CHANGE_BLOCKS) {
        out->run[0] = a->base_run;
        out->run[1] = a->now_run;
    }
}

void mpr_verdict_find(struct mpr_verdict *out, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_insights *base,
                      const struct mpr_insights *now)
{
    *out = (struct mpr_verdict){ .of = NULL };
    struct comparison c = begin(out, diff, naming);
    c.insights[0] = base;
    c.insights[1] = now;
    find(&c);
}

void mpr_verdict_read(struct mpr_verdict *out, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_progress *progress)
{
    *out = (struct mpr_verdict){ .of = NULL };
    struct comparison c = begin(out, diff, naming);
    struct mpr_error none;
    bool any = false; /* a difference of a heap or a device counts */
    for (const struct mpr_diff_account *a = diff->account; a < diff->account + diff->accounts; a++)
        any |= a->of <= MPR_DIFF_HEAP && a->total.kind != MPR_DIFF_NOISE &&
               counts(&c, sides_of(&a->total), sides_of(&a->total));
    for (size_t i = 0; any && i < 2; i++) {
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
