/* Rules about the instances of a repeated range report the right findings. */
#include "insights_test.h"

/* Five instances of "step" on one heap. The third has the largest peak, @worst. Each ends with
 * @rise bytes more than the previous one. */
static void look_at_steps(struct fixture *f, uint8_t heap, uint64_t worst, int64_t kept,
                          uint64_t rise)
{
    struct mpr_instance instance[5] = { { .name = "step:1" },
                                        { .name = "step:2" },
                                        { .name = "step:3", .number = 3 } };
    struct mpr_instance_heap instance_heap[5] = { [2] = { .peak_bytes = worst, .peak_number = 3 } };
    for (size_t i = 0; i < 5; i++) instance_heap[i].end_bytes = 100 * (uint64_t)MIB + i * rise;
    struct mpr_instances_heap whole = { .heap = heap, .entry = instance_heap, .peak_bytes = worst };
    struct mpr_steps_heap h = { .heap = &whole,
                                .median_peak = 1000 * (uint64_t)MIB,
                                .median_kept = kept,
                                .peaks_out = worst > 1000 * (uint64_t)MIB,
                                .worst_peak = 2 };
    struct mpr_steps steps = { .instances = { .range = "step",
                                              .instance = instance,
                                              .instances = 5,
                                              .count = 5,
                                              .each = 1,
                                              .heap = &whole,
                                              .heaps = 1 },
                               .heap = &h };
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
}

static void an_outlier_among_instances_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, MPF_HEAP_TORCH, 1500 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_INSTANCE);
    assert_string_equal(text(f, 0).where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 500 * MIB);
    assert_string_equal(text(f, 0).what, "step:3, one of 5 instances, peaks at 1.46 GiB of "
                                         "gpu0/torch, 500.00 MiB above the median");
}

static void the_instance_with_the_peak_of_several_is_named(void **state)
{
    struct fixture *f = *state;
    const struct mpr_instance_heap instance_heap = { .peak_bytes = 500 * MIB,
                                                     .peak_number = 10002 };
    struct mpr_instance instance = {
        .name = "step:9999", .last = "step:10014", .number = 9999, .count = 16
    };
    struct mpr_instances_heap whole = { .heap = MPF_HEAP_HOST, .entry = &instance_heap };
    struct mpr_steps_heap h = { .heap = &whole, .peaks_out = 1 };
    const struct mpr_steps steps = { .instances = { .range = "step",
                                                    .instance = &instance,
                                                    .instances = 1,
                                                    .count = 16,
                                                    .each = 16,
                                                    .heap = &whole,
                                                    .heaps = 1 },
                                     .heap = &h };
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(text(f, 0).what, "step:10002, one of 16 instances, peaks at 500.00 MiB of "
                                         "host/heap, 500.00 MiB above the median");
    assert_string_equal(f->out.finding[0].fact[0].key, "instance");
    assert_int_equal(f->out.finding[0].fact[0].value, 10002);
}

static void an_instance_below_the_heaps_peak_is_fine(void **state)
{
    struct fixture *f = *state;
    struct mpr_heap_peak peak = { .heap = MPF_HEAP_TORCH, .peak_bytes = 2001 * (uint64_t)MIB };
    f->log.heap = &peak;
    f->log.heaps = 1;
    look_at_steps(f, MPF_HEAP_TORCH, 2000 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 0);
    peak.peak_bytes = 2000 * (uint64_t)MIB;
    look_at_steps(f, MPF_HEAP_TORCH, 2000 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 1);
}

/* Twelve training steps of 1000 MiB; the first one has @first, and those from the eighth on have
 * @large.  The peak is in one of them, with these bytes of activations. */
static void look_at_training(struct fixture *f, uint64_t first, uint64_t large, size_t count,
                             uint64_t activations)
{
    uint64_t step_peak[12];
    const struct mpr_row row = { .bytes = activations };
    for (size_t i = 0; i < 12; i++) step_peak[i] = 1000 * (uint64_t)MIB;
    for (size_t i = 0; i < count; i++) step_peak[7 + i] = large;
    step_peak[0] = first;
    struct mpr_breakdown_heap h = {
        .heap = MPF_HEAP_TORCH, .bytes = large, .step_peak = step_peak, .step_peaks = 12
    };
    h.role[MPR_ROLE_ACTIVATIONS] =
        (struct mpr_role_share){ .bytes = activations, .row = &row, .rows = 1 };
    struct mpr_breakdown breakdown = { .heap = &h, .heaps = 1, .steps = 12 };
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .breakdown = &breakdown });
}

static void a_training_step_without_a_range_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_training(f, 100 * MIB, 1500 * (uint64_t)MIB, 1, 250 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_INSTANCE);
    assert_int_equal(f->out.finding[0].bytes, 500 * MIB);
    assert_string_equal(text(f, 0).what, "training step 8 of 12 peaks at 1.46 GiB of gpu0/torch, "
                                         "500.00 MiB above the median");
}

static void evaluations_first_steps_and_several_large_steps_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_training(f, 100 * MIB, 1500 * (uint64_t)MIB, 1, 249 * MIB);
    look_at_training(f, 1501 * (uint64_t)MIB, 1000 * (uint64_t)MIB, 1, 900 * MIB);
    look_at_training(f, 100 * MIB, 1500 * (uint64_t)MIB, 3, 500 * MIB);
    assert_int_equal(f->out.findings, 0);
}

static void memory_that_each_instance_keeps_is_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, MPF_HEAP_HOST, 1000 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GROWTH);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB); /* in 2 of 5 */
    assert_string_equal(
        text(f, 0).what,
        "the median instance of step keeps 50.00 MiB of host/heap; half of the 5 instances keep 100.00 MiB together");
}

/* A call site of a training program of twelve steps, each of which peaks @step above the step
 * before it.  Returns the sentence. */
static const char *growth_of_training(struct fixture *f, uint64_t step)
{
    static const struct mpr_frame call = { .name = "loss" };
    static const struct mpr_frame *const path[] = { &call };
    const struct mpr_site_growth growth = {
        .heap = MPF_HEAP_TORCH, .path = { path, 1 }, .kept_bytes = 120 * MIB, .times = 24
    };
    struct mpr_heap_peak peak = { .heap = MPF_HEAP_TORCH, .peak_bytes = 1000 * MIB };
    uint64_t step_peak[12];
    for (size_t i = 0; i < 12; i++) step_peak[i] = 500 * MIB + i * step;
    struct mpr_breakdown_heap h = { .heap = MPF_HEAP_TORCH,
                                    .step_peak = step_peak,
                                    .step_peaks = 12 };
    const struct mpr_breakdown breakdown = { .heap = &h, .heaps = 1, .steps = 12 };
    f->log.heap = &peak;
    f->log.heaps = 1;
    mpr_insights_sites(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                        .breakdown = &breakdown,
                                                        .site_growth = &growth,
                                                        .site_growths = 1 });
    return text(f, f->out.findings - 1).what;
}

static void growth_of_a_site_has_the_growth_of_a_training_step(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(growth_of_training(f, 10 * MIB),
                        "gpu0/torch grows with each call: of 24 allocations 120.00 MiB stayed; the "
                        "median training step peaks 10.00 MiB above the step before it");
    assert_string_equal(growth_of_training(f, 4 * MIB), /* something else grows */
                        "gpu0/torch grows with each call: of 24 allocations 120.00 MiB stayed");
}

/* An allocation that happens once, such as the optimizer's state, does not happen with each
 * instance. */
static void memory_that_was_allocated_once_is_not_growth(void **state)
{
    struct fixture *f = *state;
    struct mpr_instance_heap instance_heap[8] = { 0 };
    struct mpr_instances_heap whole = { .heap = MPF_HEAP_TORCH,
                                        .entry = instance_heap,
                                        .peak_bytes = 400 * MIB };
    struct mpr_steps_heap h = { .heap = &whole, .median_kept = 50 * MIB };
    const struct mpr_steps steps = { .instances = { .range = "backward",
                                                    .instances = 8,
                                                    .count = 8,
                                                    .each = 1,
                                                    .heap = &whole,
                                                    .heaps = 1 },
                                     .heap = &h };
    for (size_t i = 0; i < 8; i++) instance_heap[i].end_bytes = (i < 5 ? 100 : 300) * (uint64_t)MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 0);
    for (size_t i = 0; i < 8; i++) instance_heap[i].end_bytes = (100 + i * 25) * (uint64_t)MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
}

/* An entry may represent several instances. */
static void kept_memory_is_reported_per_instance(void **state)
{
    struct fixture *f = *state;
    struct mpr_instance_heap instance_heap[4] = { 0 };
    struct mpr_instances_heap whole = { .heap = MPF_HEAP_HOST,
                                        .entry = instance_heap,
                                        .peak_bytes = 400 * MIB };
    struct mpr_steps_heap h = { .heap = &whole, .median_kept = 100 * MIB };
    const struct mpr_steps steps = { .instances = { .range = "request",
                                                    .instances = 4,
                                                    .count = 400,
                                                    .each = 100,
                                                    .heap = &whole,
                                                    .heaps = 1 },
                                     .heap = &h };
    for (size_t i = 0; i < 4; i++) instance_heap[i].end_bytes = i * 100 * MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
    assert_string_equal(
        text(f, 0).what,
        "the median instance of request keeps 1.00 MiB of host/heap; half of the 400 instances keep 200.00 MiB together");
}

/* The limits are 64 MiB on a device and a twentieth of the peak on the host. Two of five instances
 * count as half of them. */
static void memory_that_is_freed_between_instances_is_not_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, MPF_HEAP_HOST, 1000 * (uint64_t)MIB, 50 * MIB, 0);
    look_at_steps(f, MPF_HEAP_HOST, 1000 * (uint64_t)MIB, 50 * MIB, 24 * MIB);
    look_at_steps(f, MPF_HEAP_TORCH, 1000 * (uint64_t)MIB, 50 * MIB, 31 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_steps(f, MPF_HEAP_TORCH, 1000 * (uint64_t)MIB, 50 * MIB, 32 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 64 * MIB);
    look_at_steps(f, MPF_HEAP_HOST, 1000 * (uint64_t)MIB, 50 * MIB, 25 * MIB);
    assert_int_equal(f->out.findings, 2);
    look_at_steps(f, MPF_HEAP_HOST, 40 * (uint64_t)MIB, 2 * MIB, 2 * MIB);
    assert_int_equal(f->out.findings, 3);
}

static void similar_steps_and_segments_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, MPF_HEAP_TORCH, 1000 * (uint64_t)MIB, 10 * MIB, 10 * MIB);
    look_at_steps(f, MPF_HEAP_TORCH, 1040 * (uint64_t)MIB, -10 * MIB, 0);
    look_at_steps(f, MPF_HEAP_DEVICE, 1500 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_outlier_among_instances_is_named, begin, end),
        cmocka_unit_test_setup_teardown(the_instance_with_the_peak_of_several_is_named, begin, end),
        cmocka_unit_test_setup_teardown(an_instance_below_the_heaps_peak_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_training_step_without_a_range_is_named, begin, end),
        cmocka_unit_test_setup_teardown(evaluations_first_steps_and_several_large_steps_are_fine,
                                        begin, end),
        cmocka_unit_test_setup_teardown(memory_that_each_instance_keeps_is_growth, begin, end),
        cmocka_unit_test_setup_teardown(growth_of_a_site_has_the_growth_of_a_training_step, begin,
                                        end),
        cmocka_unit_test_setup_teardown(memory_that_was_allocated_once_is_not_growth, begin, end),
        cmocka_unit_test_setup_teardown(kept_memory_is_reported_per_instance, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_is_freed_between_instances_is_not_growth, begin,
                                        end),
        cmocka_unit_test_setup_teardown(similar_steps_and_segments_are_fine, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
