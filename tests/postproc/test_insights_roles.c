/* Rules about the roles of PyTorch's blocks report the right findings. */
#include "insights_test.h"

#include <stdio.h>

#define FRAME(NAME)                                                                                \
    {                                                                                              \
        .text = NAME, .name = NAME, .module = "", .path = "", .file = "", .object = ""             \
    }

static struct mpr_row a_place(uint64_t bytes)
{
    static const struct mpr_frame loss = FRAME("loss");
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
    assert_string_equal(text(f, 0).what, "the optimizer allocated 200.00 MiB of state in its step "
                                         "at 0.000 s, and keeps it for all later steps");
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

/* Temporaries of one place between passes, beside ten gradients of 100 MiB. */
static void look_at_copies(struct fixture *f, uint64_t bytes, uint64_t blocks, uint64_t idle,
                           enum mpr_phase phase)
{
    struct mpr_row row = a_place(bytes);
    row.blocks = blocks;
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .phase = phase };
    h.role[MPR_ROLE_GRADIENTS] = (struct mpr_role_share){ .bytes = 100 * MIB, .blocks = 10 };
    h.role[MPR_ROLE_TEMPORARIES] =
        (struct mpr_role_share){ .bytes = bytes, .blocks = blocks, .row = &row, .rows = 1 };
    h.idle_bytes = idle;
    look_at_roles(f, &h);
}

static void copies_of_all_gradients_between_passes_are_a_weak_finding(void **state)
{
    struct fixture *f = *state;
    look_at_copies(f, 285 * MIB, 3, 0, MPR_PHASE_BETWEEN);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_GRADIENT_COPIES);
    assert_true(f->out.finding[0].weak);
    assert_string_equal(text(f, 0).what,
                        "are these copies of the gradients? 285.00 MiB of gpu0/torch's 1000.00 MiB "
                        "are temporaries between a backward pass and the optimizer's step, 3 times "
                        "as large as all gradients (100.00 MiB); 285.00 MiB of it in one place");
    look_at_copies(f, 200 * MIB, 20, 0, MPR_PHASE_BETWEEN); /* one block for each gradient */
    assert_int_equal(f->out.findings, 2);
}

static void one_copy_other_sizes_and_used_gradients_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_copies(f, 100 * MIB, 1, 0, MPR_PHASE_BETWEEN);
    look_at_copies(f, 282 * MIB, 3, 0, MPR_PHASE_BETWEEN);
    look_at_copies(f, 303 * MIB, 3, 0, MPR_PHASE_BETWEEN);
    look_at_copies(f, 200 * MIB, 19, 0, MPR_PHASE_BETWEEN);
    look_at_copies(f, 300 * MIB, 3, 60 * MIB, MPR_PHASE_BETWEEN);
    look_at_copies(f, 110 * MIB, 1, 0, MPR_PHASE_FORWARD);
    assert_int_equal(f->out.findings, 0);
}

/* Gradients of two layers of a loss.  Some of them are idle. */
static void look_at_idle(struct fixture *f, uint64_t idle, uint64_t buckets)
{
    static const struct mpr_frame loss = FRAME("loss"), layer[2] = { FRAME("a"), FRAME("b") };
    static const struct mpr_frame *const path[2][2] = { { &loss, &layer[0] },
                                                        { &loss, &layer[1] } };
    const struct mpr_row row[2] = { { .path = { path[0], 2 }, .bytes = 100 * MIB },
                                    { .path = { path[1], 2 }, .bytes = 100 * MIB } };
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB,
                                    .idle_bytes = idle,
                                    .bucket_bytes = buckets };
    h.role[MPR_ROLE_GRADIENTS] =
        (struct mpr_role_share){ .bytes = 200 * MIB, .row = row, .rows = 2 };
    look_at_roles(f, &h);
}

static void idle_gradients_have_the_calls_of_all_of_them(void **state)
{
    struct fixture *f = *state;
    look_at_idle(f, 100 * MIB, 0);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_IDLE_GRADIENTS);
    assert_int_equal(f->out.finding[0].path.depth, 1);
    assert_string_equal(f->out.finding[0].path.frame[0]->name, "loss");
}

static void idle_gradients_that_are_few_have_no_owner_and_buckets_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_idle(f, 200 * MIB, 200 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_idle(f, 99 * MIB, 0);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].path.depth, 0);
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
    look_at_temporaries(f, MPR_PHASE_BACKWARD, 125 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_int_equal(f->out.finding[0].bytes, 125 * MIB);
    assert_string_equal(f->out.finding[0].path.frame[0]->text, "loss");
    assert_string_equal(text(f, 0).what,
                        "250.00 MiB of gpu0/torch's 1000.00 MiB are temporaries of a backward "
                        "pass, 125.00 MiB of it in one place");
}

static void temporaries_name_no_pass_if_the_log_has_none(void **state)
{
    struct fixture *f = *state;
    passes = 0;
    look_at_temporaries(f, MPR_PHASE_FORWARD, 125 * MIB, 1);
    passes = 1;
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(text(f, 0).what,
                        "250.00 MiB of gpu0/torch's 1000.00 MiB are temporaries of module calls, "
                        "125.00 MiB of it in one place");
}

static void few_temporaries_and_those_outside_of_passes_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_temporaries(f, MPR_PHASE_BACKWARD, 124 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_OPTIMIZER, 166 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_SETUP, 400 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_BETWEEN, 400 * MIB, 1);
    look_at_temporaries(f, MPR_PHASE_FORWARD, 0, 0);
    assert_int_equal(f->out.findings, 0);
}

/* A forward pass at whose end @blocks temporaries of two modules are live. */
static void look_at_forward(struct fixture *f, bool recorded, uint64_t blocks)
{
    const struct mpr_row row[] = { a_place(300 * MIB), a_place(300 * MIB) };
    struct mpr_breakdown_heap h = {
        .bytes = 1000 * MIB, .phase = MPR_PHASE_FORWARD, .steps = 4, .recorded = recorded
    };
    h.role[MPR_ROLE_TEMPORARIES] =
        (struct mpr_role_share){ .bytes = 600 * MIB, .blocks = blocks, .row = row, .rows = 2 };
    look_at_roles(f, &h);
}

static void a_graph_without_a_backward_pass_is_an_evaluation(void **state)
{
    struct fixture *f = *state;
    look_at_forward(f, true, 8);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_ACTIVATIONS);
    assert_int_equal(f->out.finding[0].bytes, 600 * MIB);
    assert_string_equal(text(f, 0).what, "activations of a forward pass without a backward pass "
                                         "hold 600.00 MiB of gpu0/torch's 1000.00 MiB");
}

static void blocks_of_a_forward_pass_without_a_graph_are_temporaries(void **state)
{
    struct fixture *f = *state;
    look_at_forward(f, false, 8); /* under no_grad, as skip connections are */
    look_at_forward(f, true, 7);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_int_equal(f->out.finding[1].kind, MPR_FINDING_TEMPORARIES);
}

/* Activations of modules "layers.0" to "layers.5", of which the last has @last bytes. */
static void look_at_modules(struct fixture *f, uint64_t last)
{
    static struct mpr_frame frame[6];
    static const struct mpr_frame *path[6];
    static char name[6][16];
    struct mpr_row row[6];
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB };
    for (size_t i = 0; i < 6; i++) {
        snprintf(name[i], sizeof name[i], "layers.%zu", i);
        frame[i] = mpr_frame_none;
        frame[i].kind = MPR_FRAME_PYTHON;
        frame[i].id = i + 1;
        frame[i].text = frame[i].name = "forward";
        frame[i].module = name[i];
        path[i] = &frame[i];
        row[i] = (struct mpr_row){ .path = { &path[i], 1 }, .bytes = i == 5 ? last : 40 * MIB };
    }
    h.role[MPR_ROLE_ACTIVATIONS] =
        (struct mpr_role_share){ .bytes = 200 * MIB + last, .row = row, .rows = 6 };
    look_at_roles(f, &h);
}

static void activations_of_one_module_are_many_times_those_of_others(void **state)
{
    struct fixture *f = *state;
    look_at_modules(f, 160 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_ACTIVATIONS);
    assert_int_equal(f->out.finding[0].bytes, 120 * MIB);
    assert_string_equal(text(f, 0).what, "activations of module layers.5 hold 160.00 MiB; other "
                                         "modules of its kind hold at most 40.00 MiB");
}

static void activations_of_a_somewhat_larger_module_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_modules(f, 159 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* A gradient of a call, among gradients of that many bytes in all. */
static void look_at_gradient(struct fixture *f, const char *call, uint64_t bytes, uint64_t all)
{
    const struct mpr_frame frame = { .text = call, .name = call };
    const struct mpr_frame *const path[] = { &frame };
    const struct mpr_row row = { .path = { path, 1 }, .bytes = bytes };
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB };
    h.role[MPR_ROLE_GRADIENTS] = (struct mpr_role_share){ .bytes = all, .row = &row, .rows = 1 };
    look_at_roles(f, &h);
}

static void the_gradient_of_an_embedding_is_dense(void **state)
{
    struct fixture *f = *state;
    look_at_gradient(f, "Embedding.forward", 250 * MIB, 500 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_true(f->out.finding[0].weak);
}

static void small_gradients_of_embeddings_and_others_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_gradient(f, "Embedding.forward", 249 * MIB, 400 * MIB);
    look_at_gradient(f, "Embedding.forward", 250 * MIB, 502 * MIB);
    look_at_gradient(f, "Linear.forward", 400 * MIB, 500 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* Data of one place, and what else the program is. */
static void look_at_data_in(struct fixture *f, uint64_t bytes, uint64_t blocks, uint64_t trained,
                            bool at_oom)
{
    struct mpr_row row = a_place(bytes);
    row.blocks = blocks;
    struct mpr_breakdown_heap h = { .bytes = 2000 * (uint64_t)MIB, .heap = MPF_HEAP_TORCH };
    struct mpr_breakdown breakdown = { .heap = &h, .heaps = 1, .passes = trained, .ran = true };
    h.role[MPR_ROLE_INPUTS] = (struct mpr_role_share){ .bytes = bytes, .row = &row, .rows = 1 };
    f->out.oom.told = at_oom;
    mpr_insights_holders(
        &f->out,
        &(struct mpr_evidence){ .log = &f->log, .breakdown = &breakdown, .at_oom = { at_oom } });
}

static void look_at_data(struct fixture *f, uint64_t bytes, uint64_t trained, bool at_oom)
{
    look_at_data_in(f, bytes, 1, trained, at_oom);
}

static void data_beside_a_model_is_a_weak_finding(void **state)
{
    struct fixture *f = *state;
    look_at_data(f, 500 * MIB, 3, false);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_HOLDER);
    assert_true(f->out.finding[0].weak);
}

static void little_data_and_data_of_other_programs_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_data(f, 499 * MIB, 3, false);
    look_at_data(f, 999 * MIB, 0, false);
    assert_int_equal(f->out.findings, 0);
}

static void data_of_a_program_that_does_not_train_is_a_weak_finding(void **state)
{
    struct fixture *f = *state;
    look_at_data_in(f, 1024 * MIB, 16, 0, false);
    assert_int_equal(f->out.findings, 1);
    assert_true(f->out.finding[0].weak);
    assert_string_equal(text(f, 0).what,
                        "is it needed on the GPU, in this precision? One place holds 1.00 GiB of "
                        "gpu0/torch's 1.95 GiB, in 16 blocks, in addition to the modules");
    look_at_data_in(f, 1024 * MIB, 17, 0, false); /* as many small blocks as a model has */
    assert_int_equal(f->out.findings, 1);
}

/* Blocks of a constructor, in a training program with an optimizer's state of that size.  @file: of
 * the constructor. */
static void look_at_buffers_of(struct fixture *f, const char *file, uint64_t blocks, uint64_t state)
{
    struct mpr_frame frame = mpr_frame_none;
    frame.kind = MPR_FRAME_PYTHON;
    frame.text = frame.name = "Attention.__init__";
    frame.file = file;
    const struct mpr_frame *const path[] = { &frame };
    const struct mpr_row row = { .path = { path, 1 }, .bytes = 400 * MIB, .blocks = blocks };
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .heap = MPF_HEAP_TORCH };
    struct mpr_breakdown breakdown = { .heap = &h, .heaps = 1, .passes = 3, .ran = true };
    h.role[MPR_ROLE_PARAMETERS] =
        (struct mpr_role_share){ .bytes = 450 * MIB, .row = &row, .rows = 1 };
    h.role[MPR_ROLE_OPTIMIZER].bytes = state;
    mpr_insights_holders(&f->out,
                         &(struct mpr_evidence){ .log = &f->log, .breakdown = &breakdown });
}

static void buffers_that_are_not_trained_are_a_weak_finding(void **state)
{
    struct fixture *f = *state;
    look_at_buffers_of(f, "t.py", 4, 99 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_true(f->out.finding[0].weak);
    assert_string_equal(text(f, 0).what,
                        "is each of them needed? One place holds 400.00 MiB of gpu0/torch's "
                        "1000.00 MiB, in 4 blocks of 100.00 MiB on average that constructors of "
                        "modules made; the optimizer's state, 99.00 MiB, is too small to train "
                        "them");
}

static void parameters_layers_of_pytorch_and_a_single_buffer_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_buffers_of(f, "t.py", 4, 100 * MIB);
    look_at_buffers_of(f, "t.py", 4, 0); /* no optimizer shows what is trained */
    look_at_buffers_of(f, "t.py", 1, 99 * MIB);
    look_at_buffers_of(f, "torch/nn/modules/linear.py", 4, 99 * MIB);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(optimizer_state_appears_after_the_first_step, begin, end),
        cmocka_unit_test_setup_teardown(small_optimizer_state_and_8_bit_state_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(gradients_outside_of_buckets_are_copies, begin, end),
        cmocka_unit_test_setup_teardown(gradients_in_buckets_or_without_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(copies_of_all_gradients_between_passes_are_a_weak_finding,
                                        begin, end),
        cmocka_unit_test_setup_teardown(one_copy_other_sizes_and_used_gradients_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(idle_gradients_have_the_calls_of_all_of_them, begin, end),
        cmocka_unit_test_setup_teardown(
            idle_gradients_that_are_few_have_no_owner_and_buckets_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_call_site_with_many_temporaries_is_reported, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_name_no_pass_if_the_log_has_none, begin, end),
        cmocka_unit_test_setup_teardown(few_temporaries_and_those_outside_of_passes_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_graph_without_a_backward_pass_is_an_evaluation, begin,
                                        end),
        cmocka_unit_test_setup_teardown(blocks_of_a_forward_pass_without_a_graph_are_temporaries,
                                        begin, end),
        cmocka_unit_test_setup_teardown(activations_of_one_module_are_many_times_those_of_others,
                                        begin, end),
        cmocka_unit_test_setup_teardown(activations_of_a_somewhat_larger_module_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_gradient_of_an_embedding_is_dense, begin, end),
        cmocka_unit_test_setup_teardown(small_gradients_of_embeddings_and_others_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(data_beside_a_model_is_a_weak_finding, begin, end),
        cmocka_unit_test_setup_teardown(little_data_and_data_of_other_programs_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(data_of_a_program_that_does_not_train_is_a_weak_finding,
                                        begin, end),
        cmocka_unit_test_setup_teardown(buffers_that_are_not_trained_are_a_weak_finding, begin,
                                        end),
        cmocka_unit_test_setup_teardown(parameters_layers_of_pytorch_and_a_single_buffer_are_fine,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
