/* The verdict on two sides: differences near its limits, and evidence for each kind of change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "graphs.h"
#include "mpf/event.h"
#include "reports.h"
#include "verdict.h"

#define MIB UINT64_C(1048576)

enum { SIDES = 2, STEPS = 8, HEAPS = 2, MORE_RUNS = 2 };

static const struct mpr_naming naming;

/* Two runs with one or two heaps.  A test sets their bytes, then compares them. */
struct fixture {
    struct mpr_diff diff;
    struct mpr_verdict verdict;
    size_t heaps;
    struct mpr_heap_peak heap[SIDES][HEAPS];
    struct mpr_row row[SIDES][HEAPS];
    struct mpr_device device[SIDES];
    struct mpr_device_part part[SIDES];
    struct mpr_insights insights[SIDES];
    struct mpr_breakdown_heap roles[SIDES][HEAPS];
    struct mpr_finding finding[SIDES];
    struct mpr_row site[MPR_ROLES][SIDES][HEAPS];
    uint64_t step[SIDES][HEAPS][STEPS + 1];
    bool has_more_runs; /* one log before the base, one after it */
    struct mpr_heap_peak more_heap[MORE_RUNS];
    struct mpr_row more_row[MORE_RUNS];
    struct mpr_document doc;
};

static int begin(void **state)
{
    struct fixture *f = mpr_alloc(1, sizeof *f);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_verdict_free(&f->verdict);
    mpr_diff_free(&f->diff);
    mpr_doc_free(&f->doc);
    free(f);
    return 0;
}

static void set_peak(struct fixture *f, struct mpr_heap_peak *h, struct mpr_row *row, uint8_t heap,
                     uint64_t bytes)
{
    const char *name = "train > step";
    *row = (struct mpr_row){ .path = mpr_frame_labels(&f->doc.arena, &name, 1), .bytes = bytes };
    *h = (struct mpr_heap_peak){ .heap = heap, .peak_bytes = bytes, .row = row, .rows = 1 };
}

/* Adds a heap with bytes that are all in one row. */
static void set_heap(struct fixture *f, uint8_t heap, uint64_t base, uint64_t now)
{
    const size_t n = f->heaps++;
    set_peak(f, &f->heap[0][n], &f->row[0][n], heap, base);
    set_peak(f, &f->heap[1][n], &f->row[1][n], heap, now);
}

/* Adds a run to the base before its run, and one after it.  @before, @after: peaks of the first
 * heap. */
static void set_more_runs(struct fixture *f, uint64_t before, uint64_t after)
{
    const uint8_t heap = f->heap[0][0].heap;
    set_peak(f, &f->more_heap[0], &f->more_row[0], heap, before);
    set_peak(f, &f->more_heap[1], &f->more_row[1], heap, after);
    f->has_more_runs = true;
}

static size_t last_heap(const struct fixture *f) { return f->heaps ? f->heaps - 1 : 0; }

/* Sets a role of the blocks of the last heap, which is PyTorch's. */
static void set_role(struct fixture *f, enum mpr_role role, struct mpr_sides bytes,
                     struct mpr_sides blocks)
{
    const uint64_t of[SIDES] = { bytes.base, bytes.now }, n[SIDES] = { blocks.base, blocks.now };
    const size_t k = last_heap(f);
    for (size_t i = 0; i < SIDES; i++) {
        struct mpr_insights *in = &f->insights[i];
        const char *name = "Block.forward (net.py:12)";
        f->site[role][i][k] =
            (struct mpr_row){ .path = mpr_frame_labels(&f->doc.arena, &name, 1), .bytes = of[i] };
        f->roles[i][k].heap = f->heaps ? f->heap[i][k].heap : MPF_HEAP_TORCH;
        f->roles[i][k].role[role] = (struct mpr_role_share){
            .role = role, .bytes = of[i], .blocks = n[i], .row = &f->site[role][i][k], .rows = 1
        };
        in->has_breakdown = true;
        in->breakdown.heap = f->roles[i];
        in->breakdown.heaps = k + 1;
    }
}

/* Sets the peaks of the last heap in the training steps: @least, and @apart more in every second
 * one. */
static void set_steps(struct fixture *f, size_t side, uint64_t least, uint64_t apart)
{
    const size_t k = last_heap(f);
    for (size_t i = 0; i <= STEPS; i++) f->step[side][k][i] = least + i % 2 * apart;
    f->roles[side][k].step_peak = f->step[side][k];
    f->roles[side][k].step_peaks = STEPS + 1;
    f->insights[side].breakdown.steps = STEPS;
}

static void set_growth(struct fixture *f, size_t side, uint8_t heap, uint64_t bytes)
{
    const char *name = "remember (cache.py:3)";
    f->finding[side] = (struct mpr_finding){ .kind = MPR_FINDING_GROWTH,
                                             .heap = heap,
                                             .bytes = bytes,
                                             .path = mpr_frame_labels(&f->doc.arena, &name, 1) };
    f->insights[side].finding = &f->finding[side];
    f->insights[side].findings = 1;
}

/* Sets a part of the account of gpu0, which uses 10 GiB. */
static void set_part(struct fixture *f, enum mpr_use use, uint64_t base, uint64_t now)
{
    const uint64_t bytes[SIDES] = { base, now };
    for (size_t i = 0; i < SIDES; i++) {
        f->part[i] = (struct mpr_device_part){
            .use = use, .key = "part", .name = "the part", .bytes = (int64_t)bytes[i]
        };
        f->device[i] = (struct mpr_device){
            .name = "",
            .uuid = "",
            .peak = { .valid = true, .used = bytes[i], .part = &f->part[i], .parts = 1 }
        };
    }
}

static const struct mpr_change *compare(struct fixture *f)
{
    const size_t more = f->has_more_runs ? MORE_RUNS : 0, runs = SIDES + more;
    struct mpr_diff *d = &f->diff;
    mpr_diff_init(d, &(struct mpr_peaks_options){ .at = MPR_INSTANT_PEAK });
    d->peaks.log = mpr_alloc(runs, sizeof *d->peaks.log);
    d->graphs = mpr_alloc(runs, sizeof *d->graphs);
    d->retained = mpr_alloc(runs, sizeof *d->retained);
    d->peaks.logs = runs;
    d->base = 1 + more;
    for (size_t i = 0; i < SIDES; i++)
        d->peaks.log[i ? runs - 1 : more / 2] =
            (struct mpr_log_peaks){ .at = MPR_INSTANT_PEAK,
                                    .summary.path = i ? "new.zst" : "base.zst",
                                    .heap = f->heap[i],
                                    .heaps = f->heaps,
                                    .device = &f->device[i],
                                    .devices = f->device[i].peak.valid };
    for (size_t i = 0; i < more; i++)
        d->peaks.log[2 * i] = (struct mpr_log_peaks){ .at = MPR_INSTANT_PEAK,
                                                      .summary.path = "other.zst",
                                                      .heap = &f->more_heap[i],
                                                      .heaps = 1 };
    mpr_diff_finish(d, NULL);
    mpr_verdict_find(&f->verdict, d, &naming, &f->insights[0], &f->insights[1]);
    return f->verdict.change;
}

static const char *words(struct fixture *f)
{
    return mpr_report_verdict_words(&f->doc, &f->diff, &f->verdict);
}

/* ---- limits */

static void equal_runs_have_no_difference(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 500 * MIB, 500 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_SAME);
    assert_string_equal(words(f),
                        "no difference worth a change: host/heap, 500.00 MiB -> 500.00 MiB");
}

static void a_difference_below_a_hundredth_does_not_count(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 10000 * MIB, 10099 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_SAME);
}

static void a_hundredth_counts_if_it_is_64_mib(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 6000 * MIB, 6064 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_CHANGED);
    assert_string_equal(words(f), "host/heap peaks 64.00 MiB higher: 5.86 GiB -> 5.92 GiB "
                                  "(+1.1 %)");
}

static void a_tenth_counts_in_a_small_program(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 40 * MIB, 36 * MIB);
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_int_equal(change->kind, MPR_CHANGE_BLOCKS);
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "blocks of host/heap: 40.00 MiB -> 36.00 MiB, most of it in train > step: "
                        "40.00 MiB -> 36.00 MiB");
}

static void less_than_4_mib_does_not_count(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 6 * MIB, 3 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_SAME);
}

static void less_than_64_mib_and_a_tenth_does_not_count(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 700 * MIB, 763 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_SAME);
}

/* Returns the advice for a heap whose only call site has these blocks at the peaks. */
static const char *advice_on_blocks(struct fixture *f, struct mpr_sides bytes,
                                    struct mpr_sides blocks)
{
    set_heap(f, MPF_HEAP_HOST, bytes.base, bytes.now);
    f->row[0][0].blocks = blocks.base;
    f->row[1][0].blocks = blocks.now;
    const struct mpr_change *change = compare(f);
    assert_int_equal(change->place_blocks.base, blocks.base);
    assert_int_equal(change->place_blocks.now, blocks.now);
    return mpr_report_change_advice(change);
}

static void more_blocks_of_one_size_come_from_what_keeps_them(void **state)
{
    struct fixture *f = *state;
    const char *advice = advice_on_blocks(f, (struct mpr_sides){ 100 * MIB, 610 * MIB },
                                          (struct mpr_sides){ 100, 600 });
    assert_non_null(strstr(advice, "the number of this call site's blocks"));
    assert_non_null(strstr(mpr_report_change_words(&f->doc, f->verdict.change),
                           "100.00 MiB -> 610.00 MiB, 100 -> 600 blocks"));
}

static void larger_blocks_come_from_a_larger_input(void **state)
{
    const char *advice = advice_on_blocks(*state, (struct mpr_sides){ 100 * MIB, 2000 * MIB },
                                          (struct mpr_sides){ 4, 5 });
    assert_non_null(strstr(advice, "the sizes of this call site's blocks"));
}

static void more_and_larger_blocks_may_have_either_reason(void **state)
{
    const char *advice = advice_on_blocks(*state, (struct mpr_sides){ 100 * MIB, 400 * MIB },
                                          (struct mpr_sides){ 10, 20 });
    assert_non_null(strstr(advice, "the sizes and the number of blocks"));
}

static void blocks_of_one_side_come_from_what_it_alone_does(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 0, 300 * MIB);
    f->row[1][0].blocks = 30;
    const struct mpr_change *change = compare(f);
    assert_non_null(strstr(mpr_report_change_advice(change), "code that only one side runs"));
}

/* ---- roles */

static void blocks_of_another_size_come_from_the_batch(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 2000 * MIB },
             (struct mpr_sides){ 40, 40 });
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "activations");
    assert_int_equal(change->place.now, 2000 * MIB);
    assert_non_null(strstr(mpr_report_change_words(&f->doc, change), "Block.forward"));
    assert_non_null(strstr(mpr_report_change_advice(change), "batch"));
    assert_non_null(strstr(mpr_report_change_advice(change), "number of blocks is the same"));
    assert_null(strstr(mpr_report_change_advice(change), "checkpointing"));
}

static void more_blocks_come_from_a_lost_checkpoint(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 2000 * MIB },
             (struct mpr_sides){ 40, 80 });
    assert_non_null(strstr(mpr_report_change_advice(compare(f)), "checkpointing"));
}

static void half_the_bytes_of_as_many_parameters_are_another_type(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 1000 * MIB);
    set_role(f, MPR_ROLE_PARAMETERS, (struct mpr_sides){ 800 * MIB, 400 * MIB },
             (struct mpr_sides){ 16, 16 });
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1200 * MIB, 600 * MIB },
             (struct mpr_sides){ 40, 40 });
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "element_size");
}

static void gradients_of_half_the_size_are_another_type_if_parameters_are_equal(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 1600 * MIB);
    set_role(f, MPR_ROLE_PARAMETERS, (struct mpr_sides){ 800 * MIB, 800 * MIB },
             (struct mpr_sides){ 16, 16 });
    set_role(f, MPR_ROLE_GRADIENTS, (struct mpr_sides){ 800 * MIB, 400 * MIB },
             (struct mpr_sides){ 16, 16 });
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "element_size");
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "element size of gradients: the same 16 blocks, 800.00 MiB -> "
                        "400.00 MiB, the largest difference is in Block.forward (net.py:12): "
                        "800.00 MiB -> 400.00 MiB");
}

static void gradients_of_half_the_parameters_are_no_other_type(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 1300 * MIB);
    set_role(f, MPR_ROLE_PARAMETERS, (struct mpr_sides){ 800 * MIB, 500 * MIB },
             (struct mpr_sides){ 16, 16 });
    set_role(f, MPR_ROLE_GRADIENTS, (struct mpr_sides){ 800 * MIB, 400 * MIB },
             (struct mpr_sides){ 16, 16 });
    assert_string_equal(compare(f)->key, "gradients");
}

/* A cache of 32 blocks, whose call site allocates twice as much in the new run.  @also: another
 * call site of the cache that the new run has, or NULL.  @base_runs_also: the base runs that call
 * site as well, but has no block of it at its peak. */
static const struct mpr_change *compare_caches(struct fixture *f, const char *also,
                                               bool base_runs_also)
{
    static struct mpr_row row[SIDES][2];
    const char *name[2] = { "Cache.__init__ (net.py:3)", also };
    set_heap(f, MPF_HEAP_TORCH, 1000 * MIB, (also ? 1610 : 1600) * MIB);
    set_role(f, MPR_ROLE_CACHE, (struct mpr_sides){ 600 * MIB, (also ? 1210 : 1200) * MIB },
             (struct mpr_sides){ 32, also ? 34 : 32 });
    for (size_t i = 0; i < SIDES; i++) {
        for (size_t k = 0; k < 2 && name[k]; k++)
            row[i][k] = (struct mpr_row){ .path = mpr_frame_labels(&f->doc.arena, &name[k], 1),
                                          .bytes = k ? i * 10 * MIB : (i + 1) * 600 * MIB,
                                          .blocks = k ? i * 2 : 32 };
        const size_t rows = also && (i || base_runs_also) ? 2 : 1;
        f->heap[i][0].row = row[i];
        f->heap[i][0].rows = f->roles[i][0].role[MPR_ROLE_CACHE].rows = rows;
        f->roles[i][0].role[MPR_ROLE_CACHE].row = row[i];
    }
    return compare(f);
}

static void a_cache_that_is_converted_has_another_type(void **state)
{
    struct fixture *f = *state;
    const struct mpr_change *change = compare_caches(f, "Cache.update (net.py:9)", false);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "element_size");
    assert_int_equal(change->blocks.now, 32);
    assert_int_equal(change->resized.now, 1200 * MIB);
}

static void a_cache_of_twice_the_size_may_be_longer(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(compare_caches(f, NULL, false)->key, "kv_cache");
}

static void a_call_site_that_both_runs_have_converts_nothing(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(compare_caches(f, "Cache.update (net.py:9)", true)->key, "kv_cache");
}

/* The new run peaks in a forward pass that recorded a graph, and that no backward pass follows. */
static void tensors_of_a_pass_without_a_backward_pass_are_activations(void **state)
{
    struct fixture *f = *state;
    static struct mpr_row row[2];
    const char *const name[2][2] = { { "evaluate (net.py:40)", "Block.forward (net.py:12)" },
                                     { "evaluate (net.py:40)", "Block.forward (net.py:13)" } };
    set_heap(f, MPF_HEAP_TORCH, 1000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_TEMPORARIES, (struct mpr_sides){ 50 * MIB, 2800 * MIB },
             (struct mpr_sides){ 4, 60 });
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 600 * MIB, 0 },
             (struct mpr_sides){ 40, 0 });
    for (size_t i = 0; i < 2; i++)
        row[i] = (struct mpr_row){ .path = mpr_frame_labels(&f->doc.arena, name[i], 2),
                                   .bytes = 1400 * MIB,
                                   .blocks = 30 };
    f->roles[1][0].role[MPR_ROLE_TEMPORARIES].row = row;
    f->roles[1][0].role[MPR_ROLE_TEMPORARIES].rows = 2;
    f->roles[1][0].bytes = 3000 * MIB;
    f->roles[1][0].phase = MPR_PHASE_FORWARD;
    f->roles[1][0].recorded = true;
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "activations");
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "activations: 600.00 MiB in 40 blocks -> 2.73 GiB in 60 blocks, of a "
                        "forward pass that no backward pass follows, in evaluate (net.py:40)");
    assert_non_null(strstr(mpr_report_change_advice(change), "torch.no_grad()"));
}

static struct mpr_frame call(const char *text, const char *name, const char *module)
{
    return (struct mpr_frame){ .kind = MPR_FRAME_PYTHON,
                               .text = text,
                               .name = name,
                               .module = module,
                               .path = "net.py",
                               .file = "net.py",
                               .object = "" };
}

/* The new run has blocks of two call sites that outlived the backward pass.  The pass frees as much
 * of both call sites in another model, or of the second one @is_saved bytes. */
static const struct mpr_change *compare_models(struct fixture *f, uint64_t is_saved)
{
    static struct mpr_frame frame[2][2];
    static const struct mpr_frame *path[2][2];
    static struct mpr_row row[2][2];
    const enum mpr_role role[2] = { MPR_ROLE_OUTPUTS, MPR_ROLE_ACTIVATIONS };
    frame[0][0] = call("[teacher.0] Block.up (net.py:12)", "Block.up", "teacher.0");
    frame[0][1] = call("[teacher.0] Block.down (net.py:13)", "Block.down", "teacher.0");
    frame[1][0] = call("[policy.0] Block.up (net.py:12)", "Block.up", "policy.0");
    frame[1][1] = call("[policy.0] Block.down (net.py:13)", "Block.down", "policy.0");
    set_heap(f, MPF_HEAP_TORCH, 1000 * MIB, 1800 * MIB);
    set_role(f, MPR_ROLE_OUTPUTS, (struct mpr_sides){ 0, 800 * MIB }, (struct mpr_sides){ 0, 40 });
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 800 * MIB, 800 * MIB },
             (struct mpr_sides){ 40, 40 });
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) {
            path[i][k] = &frame[i][k];
            row[i][k] = (struct mpr_row){ .path = { &path[i][k], 1 },
                                          .bytes = i && k ? is_saved : 400 * MIB,
                                          .blocks = 20 };
        }
        f->roles[1][0].role[role[i]].row = row[i];
        f->roles[1][0].role[role[i]].rows = 2;
    }
    return compare(f);
}

static void a_graph_that_outlives_the_backward_pass_has_activations(void **state)
{
    struct fixture *f = *state;
    const struct mpr_change *change = compare_models(f, 400 * MIB);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "activations");
    assert_int_equal(change->bytes.now, 1600 * MIB);
    assert_int_equal(change->unused, 800 * MIB);
    assert_non_null(strstr(mpr_report_change_words(&f->doc, change),
                           "800.00 MiB of the new side's outlived the backward pass, probably"));
    assert_non_null(strstr(mpr_report_change_advice(change), "torch.no_grad()"));
}

static void blocks_of_a_call_site_that_saves_nothing_are_outputs(void **state)
{
    assert_string_equal(compare_models(*state, 100 * MIB)->key, "outputs");
}

static void fewer_parameters_are_no_other_type(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 1600 * MIB);
    set_role(f, MPR_ROLE_PARAMETERS, (struct mpr_sides){ 800 * MIB, 400 * MIB },
             (struct mpr_sides){ 16, 8 });
    assert_string_equal(compare(f)->key, "parameters");
}

static void without_the_roles_of_a_side_call_sites_are_compared(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 2000 * MIB },
             (struct mpr_sides){ 40, 80 });
    f->insights[0].has_breakdown = false;
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "blocks");
}

/* The heap peaks earlier in a backward pass, when there are fewer gradients. */
static void a_small_change_in_the_other_direction_is_left_out(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 2300 * MIB },
             (struct mpr_sides){ 40, 80 });
    set_role(f, MPR_ROLE_GRADIENTS, (struct mpr_sides){ 600 * MIB, 300 * MIB },
             (struct mpr_sides){ 40, 20 });
    assert_string_equal(compare(f)->key, "activations");
    assert_int_equal(f->verdict.changes, 1);
}

static void roles_are_those_of_the_run_s_own_device(void **state)
{
    struct fixture *f = *state;
    const uint8_t second = mpf_heap_gpu(MPF_HEAP_TORCH, 1);
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 3000 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 2000 * MIB },
             (struct mpr_sides){ 40, 80 });
    set_part(f, MPR_USE_TORCH_LIVE, 2000 * MIB, 3000 * MIB);
    f->device[0].name = f->device[1].name = "GPU";
    f->device[1].index = 1;
    f->heap[1][0].heap = f->roles[1][0].heap = second;
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "activations");
    assert_int_equal(change->bytes.now, 2000 * MIB);
}

/* ---- growth */

static void growth_of_one_side_replaces_the_role_of_what_it_keeps(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 1000 * MIB, 1700 * MIB);
    set_role(f, MPR_ROLE_OUTPUTS, (struct mpr_sides){ 0, 700 * MIB }, (struct mpr_sides){ 0, 20 });
    set_growth(f, 1, MPF_HEAP_TORCH, 680 * MIB);
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "growth");
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "gpu0/torch grows by 680.00 MiB in the new side only, the largest part in "
                        "remember (cache.py:3)");
}

static void most_of_a_growth_is_in_the_call_site_that_has_half_of_it(void **state)
{
    struct fixture *f = *state;
    const char *name = "train > step";
    set_heap(f, MPF_HEAP_HOST, 1000 * MIB, 1700 * MIB);
    set_growth(f, 1, MPF_HEAP_HOST, 680 * MIB);
    f->finding[1].path = mpr_frame_labels(&f->doc.arena, &name, 1);
    assert_string_equal(mpr_report_change_words(&f->doc, compare(f)),
                        "host/heap grows by 680.00 MiB in the new side only, most of it in "
                        "train > step: 1000.00 MiB -> 1.66 GiB");
}

static void equal_growth_is_no_difference(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 1000 * MIB, 1000 * MIB);
    set_growth(f, 0, MPF_HEAP_HOST, 600 * MIB);
    set_growth(f, 1, MPF_HEAP_HOST, 600 * MIB);
    compare(f);
    assert_int_equal(f->verdict.changes, 0);
}

/* Sets the number of times that the call site kept a block. */
static void set_times(struct fixture *f, size_t side, uint64_t times)
{
    struct mpr_finding *finding = &f->finding[side];
    finding->fact[finding->facts++] = (struct mpr_fact){ .key = "times", .value = times };
}

static void as_many_larger_blocks_are_no_growth(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_PINNED, 768 * MIB, 1536 * MIB);
    set_growth(f, 0, MPF_HEAP_PINNED, 768 * MIB);
    set_growth(f, 1, MPF_HEAP_PINNED, 1536 * MIB);
    set_times(f, 0, 12);
    set_times(f, 1, 12);
    assert_string_equal(compare(f)->key, "blocks");
}

static void more_blocks_of_a_call_site_are_growth(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_PINNED, 768 * MIB, 1536 * MIB);
    set_growth(f, 0, MPF_HEAP_PINNED, 768 * MIB);
    set_growth(f, 1, MPF_HEAP_PINNED, 1536 * MIB);
    set_times(f, 0, 12);
    set_times(f, 1, 24);
    assert_string_equal(compare(f)->key, "growth");
}

/* ---- noise */

static void steps_that_differ_as_much_make_a_difference_noise(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1100 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1500 * MIB, 500 * MIB);
    set_steps(f, 1, 1500 * MIB, 600 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_NOISE);
    assert_string_equal(words(f), "gpu0/torch differs by 100.00 MiB (+5.0 %): no more than the "
                                  "training steps of each run do (their middle half spans "
                                  "500.00 MiB or more)");
}

static void equal_steps_of_each_run_leave_a_difference(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1100 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 2000 * MIB, 0);
    set_steps(f, 1, 2100 * MIB, 0);
    compare(f);
    assert_int_equal(f->verdict.changes, 1);
}

static void one_step_that_validates_leaves_a_difference(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1100 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1500 * MIB, 0);
    set_steps(f, 1, 1500 * MIB, 0);
    f->step[0][0][3] = 2000 * MIB;
    f->step[1][0][3] = 2100 * MIB;
    compare(f);
    assert_int_equal(f->verdict.changes, 1);
}

static void steps_that_are_all_larger_leave_a_difference(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2200 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1200 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1700 * MIB, 300 * MIB);
    set_steps(f, 1, 2001 * MIB, 300 * MIB);
    compare(f);
    assert_int_equal(f->verdict.changes, 1);
}

/* The state of an optimizer does not depend on the data of a step. */
static void optimizer_state_is_not_noise(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_OPTIMIZER, (struct mpr_sides){ 0, 100 * MIB },
             (struct mpr_sides){ 0, 40 });
    set_steps(f, 0, 1500 * MIB, 500 * MIB);
    set_steps(f, 1, 1500 * MIB, 600 * MIB);
    assert_string_equal(compare(f)->key, "optimizer_state");
}

static void the_spread_of_steps_is_that_of_the_stated_heap(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2800 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1800 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1980 * MIB, 20 * MIB);
    set_steps(f, 1, 2770 * MIB, 30 * MIB);
    set_heap(f, mpf_heap_gpu(MPF_HEAP_TORCH, 1), 900 * MIB, 900 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 500 * MIB, 500 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 500 * MIB, 400 * MIB);
    set_steps(f, 1, 500 * MIB, 400 * MIB);
    compare(f);
    assert_string_equal(f->verdict.of, "gpu0/torch");
    assert_int_equal(f->verdict.step_spread.base, 20 * MIB);
    assert_int_equal(f->verdict.step_spread.now, 30 * MIB);
}

/* 0.5 % of a large heap does not count, although it is more than the noise of a small one. */
static void noise_is_stated_of_the_heap_that_has_it(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_TORCH, 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1100 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1500 * MIB, 500 * MIB);
    set_steps(f, 1, 1500 * MIB, 600 * MIB);
    set_heap(f, MPF_HEAP_HOST, 40000 * MIB, 40200 * MIB);
    compare(f);
    assert_int_equal(f->verdict.outcome, MPR_OUTCOME_NOISE);
    assert_string_equal(f->verdict.of, "gpu0/torch");
}

static void noise_of_a_heap_does_not_hide_free_memory_of_another_device(void **state)
{
    struct fixture *f = *state;
    set_heap(f, mpf_heap_gpu(MPF_HEAP_TORCH, 1), 2000 * MIB, 2100 * MIB);
    set_role(f, MPR_ROLE_ACTIVATIONS, (struct mpr_sides){ 1000 * MIB, 1100 * MIB },
             (struct mpr_sides){ 40, 40 });
    set_steps(f, 0, 1500 * MIB, 500 * MIB);
    set_steps(f, 1, 1500 * MIB, 600 * MIB);
    set_part(f, MPR_USE_TORCH_RELEASABLE, 100 * MIB, 900 * MIB);
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "cache");
}

/* ---- several runs */

static void the_report_to_see_is_of_the_median_run(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 2000 * MIB, 500 * MIB);
    set_more_runs(f, 2200 * MIB, 1900 * MIB);
    compare(f);
    mpr_report_verdict(&f->doc, &f->diff, &f->verdict);
    assert_non_null(strstr(words(f), "runs of one side differ by up to 300.00 MiB"));
    assert_non_null(strstr(f->doc.last->run->text, "see: memprof-report peaks base.zst"));
}

/* ---- devices and malloc */

static void a_part_of_the_device_is_named(void **state)
{
    struct fixture *f = *state;
    set_part(f, MPR_USE_LOCAL_MEMORY, 100 * MIB, 1100 * MIB);
    const struct mpr_change *change = compare(f);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(change->key, "device");
    assert_string_equal(words(f), "gpu0 peaks 1000.00 MiB higher: 100.00 MiB -> 1.07 GiB "
                                  "(x11.0)");
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "the part: 100.00 MiB -> 1.07 GiB");
}

static void free_memory_is_named_if_live_blocks_explain_less(void **state)
{
    struct fixture *f = *state;
    set_part(f, MPR_USE_TORCH_RELEASABLE, 100 * MIB, 900 * MIB);
    assert_string_equal(compare(f)->key, "cache");
}

static void free_memory_that_follows_live_blocks_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct mpr_device_part part[SIDES][2];
    set_part(f, MPR_USE_TORCH_RELEASABLE, 100 * MIB, 300 * MIB);
    for (size_t i = 0; i < SIDES; i++) {
        part[i][0] = f->part[i];
        part[i][1] = f->part[i];
        part[i][1].use = MPR_USE_TORCH_LIVE;
        f->device[i].peak.part = part[i];
        f->device[i].peak.parts = 2;
    }
    compare(f);
    assert_int_equal(f->verdict.changes, 0);
}

static void pools_of_graphs_are_named(void **state)
{
    struct fixture *f = *state;
    set_part(f, MPR_USE_TORCH_GRAPH_POOLS, 0, 900 * MIB);
    set_role(f, MPR_ROLE_GRAPHS, (struct mpr_sides){ 0, 60 * MIB }, (struct mpr_sides){ 0, 4 });
    const struct mpr_change *change = compare(f);
    assert_string_equal(change->key, "graph_pools");
    assert_int_equal(change->bytes.now, 960 * MIB);
}

static void the_owner_of_pools_is_that_of_the_blocks_of_graphs(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_DEVICE, 100 * MIB, 2000 * MIB);
    set_heap(f, MPF_HEAP_TORCH, 100 * MIB, 100 * MIB);
    f->heap[0][1].nested = f->heap[1][1].nested = true;
    set_part(f, MPR_USE_TORCH_GRAPH_POOLS, 0, 900 * MIB);
    set_role(f, MPR_ROLE_GRAPHS, (struct mpr_sides){ 0, 60 * MIB }, (struct mpr_sides){ 0, 4 });
    const struct mpr_change *change = compare(f);
    assert_string_equal(change->key, "graph_pools");
    assert_string_equal(mpr_report_change_words(&f->doc, change),
                        "memory pools of graphs: 0 B -> 960.00 MiB, the largest difference of live "
                        "blocks is in Block.forward (net.py:12): 0 B -> 60.00 MiB");
}

static void anonymous_memory_without_live_blocks_is_named(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 40 * MIB, 40 * MIB);
    struct mpr_diff *d = &f->diff;
    compare(f);
    assert_int_equal(f->verdict.changes, 0);
    d->peaks.log[0].summary.anonymous = 50 * MIB;
    d->peaks.log[1].summary.anonymous = 450 * MIB;
    mpr_verdict_find(&f->verdict, d, &naming, &f->insights[0], &f->insights[1]);
    assert_int_equal(f->verdict.changes, 1);
    assert_string_equal(f->verdict.change[0].key, "retention");
    assert_int_equal(f->verdict.change[0].bytes.now, 410 * MIB);
    assert_string_equal(words(f), "anonymous memory peaks 400.00 MiB higher: 50.00 MiB -> "
                                  "450.00 MiB (+800.0 %)");
}

static void the_spread_of_anonymous_memory_is_not_stated(void **state)
{
    struct fixture *f = *state;
    set_heap(f, MPF_HEAP_HOST, 40 * MIB, 40 * MIB);
    set_more_runs(f, 40 * MIB, 40 * MIB);
    compare(f);
    for (size_t i = 0; i < f->diff.peaks.logs; i++)
        f->diff.peaks.log[i].summary.anonymous = (i < f->diff.base ? 50 : 450) * MIB;
    mpr_verdict_find(&f->verdict, &f->diff, &naming, &f->insights[0], &f->insights[1]);
    assert_string_equal(words(f), "anonymous memory peaks 400.00 MiB higher: 50.00 MiB -> "
                                  "450.00 MiB (+800.0 %)");
}

/* Sets the sample of a run after its heap fell by @fallen.  @kept: anonymous bytes in no live block
 */
static void set_retained(struct fixture *f, size_t side, uint64_t kept, uint64_t fallen)
{
    f->diff.retained[side].lowest = (struct mpr_retained){ .time = 1,
                                                           .anonymous = 10 * MIB + kept,
                                                           .live = 10 * MIB,
                                                           .fallen = fallen,
                                                           .kept_at_most = fallen };
    f->heap[side][0].allocations = 1;
    f->diff.peaks.log[side].summary.unseen_malloc = "";
    f->diff.peaks.log[side].summary.anonymous = 320 * MIB;
}

/* Both runs peak at the same bytes, and the new one keeps more.  Returns the number of changes.
 * @fallen: bytes that the base's heap fell by */
static size_t compare_kept(struct fixture *f, uint64_t fallen)
{
    set_heap(f, MPF_HEAP_HOST, 310 * MIB, 310 * MIB);
    compare(f);
    assert_int_equal(f->verdict.changes, 0);
    set_retained(f, 0, 5 * MIB, fallen);
    set_retained(f, 1, 280 * MIB, 300 * MIB);
    mpr_verdict_find(&f->verdict, &f->diff, &naming, &f->insights[0], &f->insights[1]);
    return f->verdict.changes;
}

static void freed_memory_that_malloc_keeps_after_equal_peaks_is_named(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(compare_kept(f, 300 * MIB), 1);
    assert_string_equal(f->verdict.change[0].key, "retention");
    assert_string_equal(words(f),
                        "after the peak of host/heap, 275.00 MiB more stays resident without a "
                        "live block: 5.00 MiB -> 280.00 MiB (x56.0)");
    assert_string_equal(mpr_report_change_words(&f->doc, f->verdict.change),
                        "anonymous memory in no live block, which malloc may keep: ~5.00 MiB -> "
                        "~280.00 MiB, most freed blocks came from train > step");
}

static void a_run_that_freed_less_is_not_compared(void **state)
{
    assert_int_equal(compare_kept(*state, 200 * MIB), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(equal_runs_have_no_difference),
        TEST(a_difference_below_a_hundredth_does_not_count),
        TEST(a_hundredth_counts_if_it_is_64_mib),
        TEST(a_tenth_counts_in_a_small_program),
        TEST(less_than_4_mib_does_not_count),
        TEST(less_than_64_mib_and_a_tenth_does_not_count),
        TEST(more_blocks_of_one_size_come_from_what_keeps_them),
        TEST(larger_blocks_come_from_a_larger_input),
        TEST(more_and_larger_blocks_may_have_either_reason),
        TEST(blocks_of_one_side_come_from_what_it_alone_does),
        TEST(blocks_of_another_size_come_from_the_batch),
        TEST(more_blocks_come_from_a_lost_checkpoint),
        TEST(half_the_bytes_of_as_many_parameters_are_another_type),
        TEST(gradients_of_half_the_size_are_another_type_if_parameters_are_equal),
        TEST(gradients_of_half_the_parameters_are_no_other_type),
        TEST(a_cache_that_is_converted_has_another_type),
        TEST(a_cache_of_twice_the_size_may_be_longer),
        TEST(a_call_site_that_both_runs_have_converts_nothing),
        TEST(tensors_of_a_pass_without_a_backward_pass_are_activations),
        TEST(a_graph_that_outlives_the_backward_pass_has_activations),
        TEST(blocks_of_a_call_site_that_saves_nothing_are_outputs),
        TEST(fewer_parameters_are_no_other_type),
        TEST(without_the_roles_of_a_side_call_sites_are_compared),
        TEST(a_small_change_in_the_other_direction_is_left_out),
        TEST(roles_are_those_of_the_run_s_own_device),
        TEST(growth_of_one_side_replaces_the_role_of_what_it_keeps),
        TEST(most_of_a_growth_is_in_the_call_site_that_has_half_of_it),
        TEST(equal_growth_is_no_difference),
        TEST(as_many_larger_blocks_are_no_growth),
        TEST(more_blocks_of_a_call_site_are_growth),
        TEST(steps_that_differ_as_much_make_a_difference_noise),
        TEST(equal_steps_of_each_run_leave_a_difference),
        TEST(one_step_that_validates_leaves_a_difference),
        TEST(steps_that_are_all_larger_leave_a_difference),
        TEST(optimizer_state_is_not_noise),
        TEST(the_spread_of_steps_is_that_of_the_stated_heap),
        TEST(noise_is_stated_of_the_heap_that_has_it),
        TEST(noise_of_a_heap_does_not_hide_free_memory_of_another_device),
        TEST(the_report_to_see_is_of_the_median_run),
        TEST(a_part_of_the_device_is_named),
        TEST(free_memory_is_named_if_live_blocks_explain_less),
        TEST(free_memory_that_follows_live_blocks_is_left_out),
        TEST(pools_of_graphs_are_named),
        TEST(the_owner_of_pools_is_that_of_the_blocks_of_graphs),
        TEST(anonymous_memory_without_live_blocks_is_named),
        TEST(the_spread_of_anonymous_memory_is_not_stated),
        TEST(freed_memory_that_malloc_keeps_after_equal_peaks_is_named),
        TEST(a_run_that_freed_less_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
