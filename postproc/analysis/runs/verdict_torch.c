/* PyTorch's blocks by role, unless the training steps of each run differ by as much. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "evidence.h"
#include "verdict_rules.h"

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
static bool is_step_noise(struct mpr_comparison *c, const struct mpr_diff_account *a,
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
    c->heap[a->number].step_spread = spreads;
    return overlap && mpr_sides_distance(mpr_sides_of(&a->total)) <= mpr_sides_smaller(spreads) &&
           !is_shifted(&of[0], &of[1]);
}

/* ---- the blocks of a role on both sides */

/* NULL: unknown. */
struct shares {
    const struct mpr_role_share *of[2];
};

/* Returns true if the two innermost calls of both paths have the same names.  Their modules may
 * differ. */
static bool has_same_calls(struct mpr_path a, struct mpr_path b)
{
    enum { CALLS = 2 };
    if (!a.depth || !b.depth) return false;
    for (size_t i = 1; i <= CALLS && i <= a.depth && i <= b.depth; i++) {
        const struct mpr_frame *left = a.frame[a.depth - i], *right = b.frame[b.depth - i];
        if (strcmp(left->name, right->name) != 0 || left->line != right->line) return false;
    }
    return true;
}

static uint64_t bytes_at_calls(const struct mpr_role_share *share, struct mpr_path path)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < share->rows; i++)
        if (has_same_calls(share->row[i].path, path)) bytes += share->row[i].bytes;
    return bytes;
}

/* Returns true if the heap's outputs are probably kept by a graph that the backward pass does not
 * use, as that of a second model that is not trained.  They come from several call sites of
 * modules, and nearly all of their bytes from those whose blocks the backward pass frees in another
 * model, or in another call of the same one: autograd saves blocks of these sites. */
static bool outputs_are_kept_by_graph(const struct mpr_breakdown_heap *h)
{
    enum { LEAST_BLOCKS = 8 };
    const struct mpr_role_share *outputs = &h->role[MPR_ROLE_OUTPUTS],
                                *activations = &h->role[MPR_ROLE_ACTIVATIONS];
    uint64_t saved = 0, most = 0;
    if (outputs->blocks < LEAST_BLOCKS || outputs->bytes < MPR_CHANGE_BYTES) return false;
    for (size_t i = 0; i < outputs->rows; i++) {
        const struct mpr_path path = outputs->row[i].path;
        if (!mpr_frame_module(path)) continue;
        const uint64_t kept = bytes_at_calls(outputs, path);
        if (kept > most) most = kept;
        if (bytes_at_calls(activations, path) >= kept / 2) saved += outputs->row[i].bytes;
    }
    return saved >= outputs->bytes / 10 * 9 && most <= outputs->bytes / 4 * 3;
}

/* Returns the blocks of both shares. */
static const struct mpr_role_share *both_of(struct mpr_arena *arena, const struct mpr_role_share *a,
                                            const struct mpr_role_share *b)
{
    struct mpr_role_share *both = mpr_arena_alloc(arena, sizeof *both);
    struct mpr_row *row = mpr_arena_alloc(arena, (a->rows + b->rows) * sizeof *row);
    if (a->rows) memcpy(row, a->row, a->rows * sizeof *row);
    if (b->rows) memcpy(row + a->rows, b->row, b->rows * sizeof *row);
    *both = *a;
    both->bytes += b->bytes;
    both->blocks += b->blocks;
    both->row = row;
    both->rows += b->rows;
    return both;
}

/* If a forward pass recorded a graph and no backward pass follows, autograd keeps what the
 * breakdown calls temporaries, because the pass frees it.  If a backward pass follows, but does not
 * use the graph, the breakdown calls it outputs. */
static const struct mpr_role_share *share_of(struct mpr_arena *arena,
                                             const struct mpr_breakdown_heap *h, enum mpr_role role)
{
    static const struct mpr_role_share none = { .bytes = 0 };
    if (!h) return NULL;
    if ((role == MPR_ROLE_ACTIVATIONS || role == MPR_ROLE_OUTPUTS) && outputs_are_kept_by_graph(h))
        return role == MPR_ROLE_OUTPUTS
                   ? &none
                   : both_of(arena, &h->role[MPR_ROLE_ACTIVATIONS], &h->role[MPR_ROLE_OUTPUTS]);
    if (mpr_is_kept_by_graph(h)) {
        if (role == MPR_ROLE_ACTIVATIONS) return &h->role[MPR_ROLE_TEMPORARIES];
        if (role == MPR_ROLE_TEMPORARIES) return &none;
    }
    return &h->role[role];
}

static struct shares shares_of(struct mpr_comparison *c, const struct mpr_breakdown_heap *const *h,
                               enum mpr_role role)
{
    struct mpr_arena *arena = &c->out->arena;
    return (struct shares){ { share_of(arena, h[0], role), share_of(arena, h[1], role) } };
}

static struct mpr_sides bytes_of(const struct shares *s)
{
    return (struct mpr_sides){ s->of[0] ? s->of[0]->bytes : 0, s->of[1] ? s->of[1]->bytes : 0 };
}

static struct mpr_sides blocks_of(const struct shares *s)
{
    return (struct mpr_sides){ s->of[0] ? s->of[0]->blocks : 0, s->of[1] ? s->of[1]->blocks : 0 };
}

/* ---- element types */

/* Returns 2, 4 or 8 if the bytes of one side are that many times those of the other, within 1 %, or
 * 0. */
static uint64_t times_larger(struct mpr_sides bytes)
{
    const uint64_t most = mpr_sides_larger(bytes), least = mpr_sides_smaller(bytes);
    for (uint64_t times = 2; times <= 8; times *= 2)
        if (mpr_sides_distance((struct mpr_sides){ least * times, most }) <= most / 100)
            return times;
    return 0;
}

/* Returns true if both sides have as many blocks, and those of one side are as many times larger as
 * element types are. */
static bool has_other_element_size(const struct shares *s)
{
    const struct mpr_sides blocks = blocks_of(s);
    return blocks.base && blocks.base == blocks.now && times_larger(bytes_of(s));
}

static struct mpr_change *add_element_size(struct mpr_comparison *c,
                                           const struct mpr_diff_account *a, enum mpr_role role,
                                           struct mpr_sides bytes, struct mpr_sides peak)
{
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_ELEMENT_SIZE, "element_size", a->number, bytes, peak);
    change->role = role;
    return change;
}

/* The parameters have another element type, which also changes what is made of them: the change is
 * that of the whole heap. */
static bool compare_parameters(struct mpr_comparison *c, const struct mpr_diff_account *a,
                               struct mpr_sides peak, const struct shares *parameters)
{
    const struct mpr_sides bytes = bytes_of(parameters);
    if (!has_other_element_size(parameters) || !mpr_sides_agree(bytes, peak) ||
        !mpr_change_counts(c, bytes, peak))
        return false;
    struct mpr_change *change = add_element_size(c, a, MPR_ROLE_PARAMETERS, peak, peak);
    change->resized = bytes;
    change->blocks = blocks_of(parameters);
    mpr_change_name_by_account(c, change, a);
    return true;
}

/* Returns true if the role's blocks have the shapes of the parameters. */
static bool has_shapes_of_parameters(enum mpr_role role)
{
    return role == MPR_ROLE_GRADIENTS || role == MPR_ROLE_OPTIMIZER || role == MPR_ROLE_GATHERED;
}

/* Returns true if a call site of the row allocated in the runs of one side only, not only at the
 * peak. */
static bool is_of_one_side(const struct mpr_diff_account *a, const struct mpr_diff_row *r)
{
    for (const struct mpr_call_pair *pair = a->pair; pair < a->pair + a->pairs; pair++) {
        const struct mpr_path path = { pair->path.frame, pair->path.depth - 1 };
        if (mpr_frame_compare_paths(path, r->path) == 0) return pair->older != pair->newer;
    }
    return false;
}

/* Returns the changes of the role's rows, one for each call site.  @by_count: of their
 * numbers of blocks instead of bytes. */
static const struct mpr_diff_row *sites_of(struct mpr_comparison *c, const struct shares *s,
                                           bool by_count, size_t *rows)
{
    const struct mpr_naming whole = { .user_frames = c->naming->user_frames, .unfold = true };
    struct mpr_arena *arena = &c->out->arena;
    struct mpr_role_share side[2];
    for (size_t i = 0; i < 2; i++) {
        side[i] = *s->of[i];
        struct mpr_row *row = mpr_arena_alloc(arena, side[i].rows * sizeof *row);
        for (size_t k = 0; k < side[i].rows; k++) {
            row[k] = side[i].row[k];
            if (by_count) row[k].bytes = row[k].blocks;
        }
        side[i].row = row;
    }
    return mpr_diff_role_rows(arena, c->diff, &whole,
                              (const struct mpr_role_share *const[]){ &side[0], &side[1] }, rows);
}

/* Returns the blocks of a cache that has another element type, or 0.  At each call site there are
 * as many blocks, and those of one side are twice as large.  A longer cache has that as well.  But
 * only tensors of another type than the model's are converted when they are read or written: by
 * call sites of the cache that the other side does not have. */
static uint64_t resized_cache(struct mpr_comparison *c, const struct mpr_diff_account *a,
                              const struct shares *s, struct mpr_sides *bytes)
{
    size_t counts, rows;
    uint64_t blocks = s->of[0] ? s->of[0]->blocks : 0, times = 0;
    bool converts = false;
    *bytes = (struct mpr_sides){ 0, 0 };
    if (!s->of[0] || !s->of[1]) return 0;
    const struct mpr_diff_row *count = sites_of(c, s, true, &counts),
                              *row = sites_of(c, s, false, &rows);
    for (size_t i = 0; i < counts; i++) {
        const struct mpr_sides sides = mpr_sides_of(&count[i]);
        if (sides.base && sides.now) return 0;
        if (!is_of_one_side(a, &count[i])) return 0;
        converts = true;
        blocks -= sides.base;
    }
    for (size_t i = 0; i < rows; i++) {
        const struct mpr_sides sides = mpr_sides_of(&row[i]);
        if (!sides.base || !sides.now) continue;
        if (!times_larger(sides) || (times && times != times_larger(sides))) return 0;
        times = times_larger(sides);
        bytes->base += sides.base;
        bytes->now += sides.now;
    }
    return times && converts ? blocks : 0;
}

/* Adds a change if the role's blocks have another element type, and the parameters do not. */
static bool compare_element_size(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                 struct mpr_sides peak, enum mpr_role role,
                                 const struct shares *share, const struct shares *parameters)
{
    const struct mpr_sides bytes = bytes_of(share), of_parameters = bytes_of(parameters);
    struct mpr_sides resized = bytes;
    uint64_t blocks = 0;
    if (mpr_sides_distance(of_parameters) > mpr_sides_larger(of_parameters) / 100) return false;
    if (has_shapes_of_parameters(role) && has_other_element_size(share))
        blocks = blocks_of(share).base;
    else if (role == MPR_ROLE_CACHE) blocks = resized_cache(c, a, share, &resized);
    if (!blocks) return false;
    struct mpr_change *change = add_element_size(c, a, role, bytes, peak);
    change->resized = resized;
    change->blocks = (struct mpr_sides){ blocks, blocks };
    mpr_change_name_by_role(c, change, share->of);
    return true;
}

/* ---- roles */

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
static bool is_left_out(const struct mpr_comparison *c, enum mpr_role role, struct mpr_sides bytes,
                        struct mpr_sides peak, struct mpr_sides growth)
{
    if (role == MPR_ROLE_GRAPHS || !mpr_change_counts(c, bytes, peak))
        return true; /* the device's pools have them */
    if (!mpr_sides_agree(bytes, peak) && mpr_sides_distance(bytes) < mpr_sides_distance(peak) / 2)
        return true;
    return mpr_sides_larger(growth) && varies_by_step(role) && mpr_sides_agree(bytes, growth) &&
           mpr_sides_distance(bytes) / 2 <= mpr_sides_distance(growth);
}

static void add_role(struct mpr_comparison *c, uint8_t heap, enum mpr_role role,
                     struct mpr_sides peak, const struct mpr_breakdown_heap *const *h,
                     const struct shares *share)
{
    const struct mpr_sides bytes = bytes_of(share);
    const struct mpr_breakdown_heap *more = h[bytes.now > bytes.base],
                                    *less = h[bytes.now <= bytes.base];
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_ROLE, mpr_role_key(role), heap, bytes, peak);
    change->role = role;
    change->blocks = blocks_of(share);
    change->in_optimizer = more->phase == MPR_PHASE_OPTIMIZER;
    mpr_change_name_by_role(c, change, share->of);
    if (role == MPR_ROLE_ACTIVATIONS && outputs_are_kept_by_graph(more) &&
        !(less && outputs_are_kept_by_graph(less)))
        change->unused = more->role[MPR_ROLE_OUTPUTS].bytes;
    if (role != MPR_ROLE_ACTIVATIONS || !mpr_is_kept_by_graph(more) ||
        (less && mpr_is_kept_by_graph(less)))
        return;
    const struct mpr_path pass = mpr_role_common_path(&more->role[MPR_ROLE_TEMPORARIES]);
    change->without_backward = true;
    if (!pass.depth) return;
    change->path = pass;
    change->caller = "";
    change->shortened = false;
    change->place = (struct mpr_sides){ 0, 0 };
}

bool mpr_compare_roles(struct mpr_comparison *c, const struct mpr_diff_account *a,
                       struct mpr_sides peak, const struct mpr_breakdown_heap *const *h)
{
    const struct mpr_sides growth = mpr_compare_growth(c, a, peak);
    const bool noise = !mpr_sides_larger(growth) && is_step_noise(c, a, h);
    const struct shares parameters = shares_of(c, h, MPR_ROLE_PARAMETERS);
    const bool other_size = compare_parameters(c, a, peak, &parameters);
    for (enum mpr_role role = 0; role < MPR_ROLES; role++) {
        const struct shares share = shares_of(c, h, role);
        const struct mpr_sides bytes = bytes_of(&share);
        if (is_left_out(c, role, bytes, peak, growth) || (noise && varies_by_step(role)) ||
            (other_size && mpr_sides_agree(bytes, peak)))
            continue;
        if (!compare_element_size(c, a, peak, role, &share, &parameters))
            add_role(c, a->number, role, peak, h, &share);
    }
    return noise;
}
