/* Compares the two runs that represent the sides, heap by heap, and orders the changes. */
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "error.h"
#include "verdict_rules.h"

/* ---- changes and their owners */

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

static void name_by(struct mpr_change *change, const struct mpr_diff_row *row, size_t rows)
{
    const enum mpr_diff_kind kind =
        change->bytes.now > change->bytes.base ? MPR_DIFF_GREW : MPR_DIFF_SHRANK;
    for (const struct mpr_diff_row *r = row; r < row + rows; r++) {
        if (r->kind != kind) continue;
        change->path = r->path;
        change->caller = r->caller;
        change->shortened = true;
        change->place = mpr_sides_of(r);
        change->estimated |= r->estimated;
        return;
    }
}

void mpr_change_name_by_account(struct mpr_comparison *c, struct mpr_change *change,
                                const struct mpr_diff_account *a)
{
    size_t rows;
    const struct mpr_diff_row *row = mpr_diff_rows(&c->out->arena, c->diff, a, c->naming, &rows);
    name_by(change, row, rows);
}

void mpr_change_name_by_role(struct mpr_comparison *c, struct mpr_change *change,
                             const struct mpr_role_share *const *share)
{
    size_t rows;
    const struct mpr_diff_row *row =
        mpr_diff_role_rows(&c->out->arena, c->diff, c->naming, share, &rows);
    name_by(change, row, rows);
}

/* ---- one side */

const struct mpr_finding *mpr_comparison_finding(const struct mpr_comparison *c, size_t side,
                                                 enum mpr_finding_kind kind, uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    return in ? mpr_finding_of(in, kind, mpr_diff_own_heap(c->diff, c->run[side], heap)) : NULL;
}

const struct mpr_breakdown_heap *mpr_comparison_roles(const struct mpr_comparison *c, size_t side,
                                                      uint8_t heap)
{
    const struct mpr_insights *in = c->insights[side];
    const uint8_t own = mpr_diff_own_heap(c->diff, c->run[side], heap);
    for (size_t i = 0; in && in->has_breakdown && i < in->breakdown.heaps; i++)
        if (in->breakdown.heap[i].heap == own) return &in->breakdown.heap[i];
    return NULL;
}

bool mpr_comparison_has_torch(const struct mpr_comparison *c, uint8_t heap)
{
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (a->subject == MPR_DIFF_HEAP && a->number == mpr_heap_torch_of(heap)) return true;
    }
    return false;
}

/* ---- growth */

/* Returns true if the call site of both findings grows by the same number of blocks, so that only
 * their sizes differ. */
static bool grows_as_often(const struct mpr_finding *const *f)
{
    const char key[] = "times";
    uint64_t times[2];
    for (size_t i = 0; i < 2; i++) {
        const struct mpr_fact *fact = f[i] ? mpr_finding_value(f[i], key, sizeof key - 1) : NULL;
        if (!fact || !f[i]->path.depth) return false;
        times[i] = fact->value;
    }
    return times[0] == times[1] && mpr_frame_compare(f[0]->path.frame[f[0]->path.depth - 1],
                                                     f[1]->path.frame[f[1]->path.depth - 1]) == 0;
}

/* The bytes of the growing call site are those of the account's row that ends with it. */
struct mpr_sides mpr_compare_growth(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                    struct mpr_sides peak)
{
    const struct mpr_finding *f[2] = { mpr_comparison_finding(c, 0, MPR_FINDING_GROWTH, a->number),
                                       mpr_comparison_finding(c, 1, MPR_FINDING_GROWTH,
                                                              a->number) };
    const struct mpr_sides bytes = { f[0] ? f[0]->bytes : 0, f[1] ? f[1]->bytes : 0 };
    if (!mpr_change_counts(c, bytes, peak) || !mpr_sides_agree(bytes, peak) || grows_as_often(f))
        return (struct mpr_sides){ 0, 0 };
    const struct mpr_finding *more = f[bytes.now > bytes.base];
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_GROWTH, "growth", a->number, bytes, peak);
    const struct mpr_path path = change->path = more->path;
    change->estimated = more->estimated;
    for (size_t i = 0; path.depth && i < a->rows; i++) {
        const struct mpr_diff_row *r = &a->row[i];
        if (!r->path.depth ||
            mpr_frame_compare(path.frame[path.depth - 1], r->path.frame[r->path.depth - 1]) != 0)
            continue;
        change->place = mpr_sides_of(r);
        break;
    }
    return bytes;
}

/* ---- heaps */

/* Returns false if another account has the same bytes, as PyTorch's segments have those of its
 * blocks. */
static bool is_compared(const struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    if (a->subject != MPR_DIFF_HEAP || a->inside) return false;
    if (mpr_heap_is_device(a->number)) return !mpr_comparison_has_torch(c, a->number);
    for (size_t i = 0; i < 2; i++) {
        const uint8_t own = mpr_diff_own_heap(c->diff, c->run[i], a->number);
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

/* Returns the blocks of the change's path at the peaks of the account, or zeros if the path is a
 * group of lines, or if its line numbers differ between the builds. */
static struct mpr_sides blocks_at_path(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                       const struct mpr_change *change)
{
    const size_t run[2] = { a->base_run, a->now_run };
    uint64_t blocks[2] = { 0, 0 };
    for (size_t i = 0; i < 2 && change->path.depth; i++) {
        const struct mpr_heap_peak *h = mpr_peaks_heap(
            &c->diff->peaks.log[run[i]], mpr_diff_own_heap(c->diff, run[i], a->number));
        for (size_t k = 0; h && k < h->rows; k++) {
            const struct mpr_line line =
                mpr_naming_line(&c->out->arena, c->naming, a->by, &h->row[k]);
            if (h->row[k].bytes && mpr_frame_compare_paths(line.row.path, change->path) == 0 &&
                strcmp(line.caller, change->caller) == 0)
                blocks[i] += h->row[k].blocks;
        }
    }
    const bool known = !blocks[0] == !change->place.base && !blocks[1] == !change->place.now;
    return known ? (struct mpr_sides){ blocks[0], blocks[1] } : (struct mpr_sides){ 0, 0 };
}

static void compare_heap(struct mpr_comparison *c, const struct mpr_diff_account *a)
{
    const struct mpr_sides peak = mpr_sides_of(&a->total);
    const size_t before = c->out->changes;
    const struct mpr_breakdown_heap *h[2] = { mpr_comparison_roles(c, 0, a->number),
                                              mpr_comparison_roles(c, 1, a->number) };
    const bool by_role =
        (h[0] || h[1]) && (has_roles(h[0]) || !peak.base) && (has_roles(h[1]) || !peak.now);
    bool noise = a->total.kind == MPR_DIFF_NOISE;
    if (!noise && by_role) noise = mpr_compare_roles(c, a, peak, h);
    else if (!noise) mpr_compare_growth(c, a, peak);
    c->heap[a->number].is_noise = noise && mpr_change_counts(c, peak, peak);
    c->is_noise |= c->heap[a->number].is_noise;
    if (c->out->changes > before || noise || !mpr_change_counts(c, peak, peak)) return;
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_BLOCKS, "blocks", a->number, peak, peak);
    change->estimated = a->total.variance > 0 || a->total.estimated;
    mpr_change_name_by_account(c, change, a);
    change->place_blocks = blocks_at_path(c, a, change);
}

/* ---- anonymous memory that belongs to no block */

static bool has_malloc(const struct mpr_log_peaks *log, const struct mpr_heap_peak *blocks)
{
    return blocks && blocks->allocations && !*log->summary.unseen_malloc;
}

/* Compares the anonymous memory that belongs to no live block once most of the heap is freed, which
 * a peak does not show.  Both runs freed as much, and lived on for a second.  The larger side's is
 * mostly freed blocks, which malloc may keep. */
static void compare_kept(struct mpr_comparison *c, const struct mpr_heap_peak *const *blocks)
{
    struct mpr_retained lowest[2];
    uint64_t unowned[2];
    for (size_t i = 0; i < 2; i++) {
        if (!has_malloc(c->log[i], blocks[i])) return;
        struct mpr_retained at = lowest[i] = c->diff->retained[c->run[i]].lowest;
        at.others = 0;
        unowned[i] = mpr_retained_unowned(&at);
    }
    const struct mpr_sides bytes = { unowned[0], unowned[1] };
    const uint64_t change = mpr_sides_distance(bytes);
    const size_t more = bytes.now > bytes.base;
    if (change < MPR_CHANGE_BYTES || change < lowest[more].anonymous / 4 ||
        lowest[!more].fallen < change / 4 * 3 || mpr_retained_bytes(&lowest[more]) < change / 2)
        return;
    struct mpr_change *kept =
        mpr_change_add(c, MPR_CHANGE_KEPT, "retention", MPF_HEAP_HOST, bytes, bytes);
    const struct mpr_row *row = mpr_retained_owner(&lowest[more], blocks[more]);
    kept->estimated = true;
    if (row) kept->path = row->path;
}

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
 * part of another heap.  The kernel's figures are samples, so a small difference does not count. */
static void compare_retention(struct mpr_comparison *c)
{
    const struct mpr_heap_peak *blocks[2] = { mpr_peaks_heap(c->log[0], MPF_HEAP_HOST),
                                              mpr_peaks_heap(c->log[1], MPF_HEAP_HOST) };
    const struct mpr_sides resident = { c->log[0]->summary.anonymous,
                                        c->log[1]->summary.anonymous };
    const uint8_t heap = c->diff->peaks.options.heap;
    if ((heap && heap != MPF_HEAP_HOST) || !mpr_instant_is_peak(c->log[0]->at)) return;
    if (!blocks[0] || !blocks[1] || !resident.base || !resident.now) return;
    const struct mpr_sides bytes = { unowned(c->log[0], blocks[0]), unowned(c->log[1], blocks[1]) };
    if (mpr_sides_distance(bytes) < MPR_CHANGE_BYTES || !mpr_change_counts(c, bytes, resident) ||
        !mpr_change_counts(c, resident, resident) || !mpr_sides_agree(bytes, resident)) {
        compare_kept(c, blocks);
        return;
    }
    struct mpr_change *change =
        mpr_change_add(c, MPR_CHANGE_RETENTION, "retention", MPF_HEAP_HOST, bytes, resident);
    const struct mpr_heap_peak *more = blocks[bytes.now > bytes.base];
    if (more->rows) change->path = more->row[0].path;
    change->estimated = true;
}

/* ---- the verdict */

/* A device's memory is compared first, unless it changed by less than MAIN_SHARE of its peak. */
static bool is_main(const struct mpr_change *change)
{
    enum { MAIN_SHARE = 10 };
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
    if (change->kind == MPR_CHANGE_RETENTION || change->kind == MPR_CHANGE_KEPT) return NULL;
    for (const struct mpr_diff_account *a = diff->account; a < diff->account + diff->accounts; a++)
        if (device ? a->subject == MPR_DIFF_DEVICE && a->number == mpf_heap_device(change->heap)
                   : a->subject == MPR_DIFF_HEAP && a->number == change->heap)
            return a;
    return NULL;
}

/* Returns the heap whose peaks the verdict states if nothing changed: the one with the largest
 * difference, of equal ones the largest.  If a difference was noise, only such heaps are taken. */
static const struct mpr_diff_account *foremost(const struct mpr_comparison *c)
{
    const struct mpr_diff_account *found = NULL;
    for (size_t i = 0; i < c->diff->accounts; i++) {
        const struct mpr_diff_account *a = &c->diff->account[i];
        if (c->is_noise && !(a->subject == MPR_DIFF_HEAP && c->heap[a->number].is_noise)) continue;
        if (is_compared(c, a) && (!found || llabs(a->total.change) > llabs(found->total.change)))
            found = a;
    }
    return found;
}

static struct mpr_comparison begin(struct mpr_verdict *out, const struct mpr_diff *diff,
                                   const struct mpr_naming *naming)
{
    struct mpr_comparison c = { .out = out, .diff = diff, .naming = naming };
    const struct mpr_diff_account *a = NULL;
    for (size_t i = 0; i < diff->accounts && !a; i++)
        if (diff->account[i].subject == MPR_DIFF_HEAP) a = &diff->account[i];
    c.run[0] = a ? a->base_run : 0;
    c.run[1] = a ? a->now_run : diff->base;
    for (size_t i = 0; i < 2; i++) {
        c.log[i] = &diff->peaks.log[c.run[i]];
        out->run[i] = c.run[i];
    }
    for (size_t i = 0; i < diff->accounts; i++) {
        const uint64_t peak = mpr_sides_larger(mpr_sides_of(&diff->account[i].total));
        if (diff->account[i].subject <= MPR_DIFF_HEAP && peak > c.largest_peak)
            c.largest_peak = peak;
    }
    return c;
}

static void find(struct mpr_comparison *c)
{
    struct mpr_verdict *out = c->out;
    const struct mpr_diff *diff = c->diff;
    if (!c->insights[0] || !c->insights[1]) c->insights[0] = c->insights[1] = NULL;
    for (size_t i = 0; i < diff->accounts; i++)
        if (is_compared(c, &diff->account[i])) compare_heap(c, &diff->account[i]);
    for (size_t i = 0; i < diff->accounts; i++)
        if (diff->account[i].subject == MPR_DIFF_DEVICE) mpr_compare_device(c, &diff->account[i]);
    compare_retention(c);
    if (out->changes) qsort(out->change, out->changes, sizeof *out->change, by_importance);
    out->outcome = out->changes  ? MPR_OUTCOME_CHANGED
                   : c->is_noise ? MPR_OUTCOME_NOISE
                                 : MPR_OUTCOME_SAME;
    const struct mpr_diff_account *a = out->changes ? account_of(diff, out->change) : foremost(c);
    if (!a) {
        if (!out->changes) return;
        out->of = out->change->kind == MPR_CHANGE_KEPT ? "anonymous memory in no live block"
                                                       : "anonymous memory";
        out->peak = out->change[0].peak;
        return;
    }
    const struct mpr_spread *base = &a->total.base, *now = &a->total.now;
    out->of = a->name;
    out->peak = mpr_sides_of(&a->total);
    if (a->subject == MPR_DIFF_HEAP) out->step_spread = c->heap[a->number].step_spread;
    out->has_run_spread = diff->peaks.logs > 2;
    out->run_spread = (struct mpr_sides){ mpr_sides_positive(mpr_signed_sub(base->max, base->min)),
                                          mpr_sides_positive(mpr_signed_sub(now->max, now->min)) };
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
    struct mpr_comparison c = begin(out, diff, naming);
    c.insights[0] = base;
    c.insights[1] = now;
    find(&c);
}

void mpr_verdict_read(struct mpr_verdict *out, const struct mpr_diff *diff,
                      const struct mpr_naming *naming, const struct mpr_progress *progress)
{
    *out = (struct mpr_verdict){ .of = NULL };
    struct mpr_comparison c = begin(out, diff, naming);
    struct mpr_error none;
    bool any = false; /* a difference of a heap or a device counts */
    for (const struct mpr_diff_account *a = diff->account; a < diff->account + diff->accounts; a++)
        any |= a->subject <= MPR_DIFF_HEAP && a->total.kind != MPR_DIFF_NOISE &&
               mpr_change_counts(&c, mpr_sides_of(&a->total), mpr_sides_of(&a->total));
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
