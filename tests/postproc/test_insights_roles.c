/* Rules about the roles of PyTorch's blocks report the right findings. */
#include "insights_test.h"

static struct mpr_row a_place(uint64_t bytes)
{
    static const struct mpr_frame loss = { .text = "loss", .name = "loss" };
    static const struct mpr_frame *const path[] = { &loss };
    return (struct mpr_row){ .path = { path, 1 }, .bytes = bytes, .blocks = 1 };
}

static uint64_t passes = 1; /* number of passes in the log */

static void look_at_roles(struct fixture *f, struct mpr_breakdown_heap *h)
{
    struct mpr_breakdown breakdown = { .heap = h, .heaps = 1, .passes = passes, .ran = true };
    h->heap = MPF_HEAP_TORCH;
    mpr_insights_roles(&f->out, &(struct mpr_evidence){ .log = &f->log, .breakdown = &breakdown });
}

/* 1000 MiB at the peak, with these bytes of the optimizer's state and of parameters. */
static void look_at_state(struct fixture *f, uint64_t state, uint64_t parameters, uint64_t steps)
{
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .steps = steps };
    h.role[MPR_ROLE_OPTIMIZER].bytes = state;
    h.role[MPR_ROLE_PARAMETERS].bytes = parameters;
    look_at_roles(f, &h);
}

static void optimizer_state_appears_after_the_first_step(void **state)
{
    struct fixture *f = *state;
    look_at_state(f, 200 * MIB, 100 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_OPTIMIZER_STATE);
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
    assert_string_equal(text(f, 0).what, "the optimizer made 200.00 MiB of state in its step "
                                         "at 00:00:00.000: steps after the first need so much "
                                         "more");
}

static void small_optimizer_state_and_8_bit_state_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_state(f, 63 * MIB, 50 * MIB, 1);
    look_at_state(f, 99 * MIB, 100 * MIB, 1);
    look_at_state(f, 200 * MIB, 100 * MIB, 0);
    assert_int_equal(f->out.findings, 0);
    look_at_state(f, 100 * MIB, 100 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
}

static void look_at_buckets(struct fixture *f, uint64_t gradients, uint64_t buckets)
{
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .bucket_bytes = buckets };
    h.role[MPR_ROLE_GRADIENTS].bytes = gradients;
    look_at_roles(f, &h);
}

static void gradients_outside_of_buckets_are_copies(void **state)
{
    struct fixture *f = *state;
    look_at_buckets(f, 260 * MIB, 160 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GRADIENT_COPIES);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
    look_at_buckets(f, 400 * MIB, 70 * MIB); /* not more than the buckets */
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 70 * MIB);
}

static void gradients_in_buckets_or_without_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_buckets(f, 160 * MIB, 160 * MIB); /* gradient_as_bucket_view is active */
    look_at_buckets(f, 400 * MIB, 0);
    look_at_buckets(f, 223 * MIB, 160 * MIB);
    assert_int_equal(f->out.findings, 0);
}

static void look_at_temporaries(struct fixture *f, enum mpr_phase phase, uint64_t bytes,
                                size_t rows)
{
    const struct mpr_row row = a_place(bytes);
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .phase = phase };
    h.role[MPR_ROLE_TEMPORARIES] =
        (struct mpr_role_share){ .bytes = 2 * bytes, .blocks = 2, .row = &row, .rows = rows };
    look_at_roles(f, &h);
}

static void a_call_site_with_many_temporaries_is_reported(void **state)
{
    struct fixture *f = *state;
    look_at_temporaries(f, MPR_PHASE_BACKWARD, 100 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
    assert_string_equal(f->out.finding[0].path.frame[0]->text, "loss");
    assert_string_equal(text(f, 0).what,
                        "200.00 MiB of gpu0/torch's 1000.00 MiB were made and gone within a "
                        "backward pass, 100.00 MiB of it in one place");
}

static void temporaries_name_no_pass_if_the_log_has_none(void **state)
{
    struct fixture *f = *state;
    passes = 0;
    look_at_temporaries(f, MPR_PHASE_FORWARD, 100 * MIB, 1);
    passes = 1;
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(text(f, 0).what,
                        "200.00 MiB of gpu0/torch's 1000.00 MiB were made and gone within calls of "
                        "modules, 100.00 MiB of it in one place");
}

static void few_temporaries_and_those_outside_of_passes_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_temporaries(f, MPR_PHASE_BACKWARD, 99 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_SETUP, 400 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_BETWEEN, 400 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_FORWARD, 0, 0);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(optimizer_state_appears_after_the_first_step, begin, end),
        cmocka_unit_test_setup_teardown(small_optimizer_state_and_8_bit_state_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(gradients_outside_of_buckets_are_copies, begin, end),
        cmocka_unit_test_setup_teardown(gradients_in_buckets_or_without_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_call_site_with_many_temporaries_is_reported, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_name_no_pass_if_the_log_has_none, begin, end),
        cmocka_unit_test_setup_teardown(few_temporaries_and_those_outside_of_passes_are_fine, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
