/* Rules on call sites: uses, temporaries, holders of host memory and pinned memory. */
#include "insights_test.h"

static const struct mpr_frame frame = { .text = "load", .name = "load" };
static const struct mpr_frame *const frames[] = { &frame };
static const struct mpr_path site = { frames, 1 };

/* The rules see one heap. */
static void look(struct fixture *f, struct mpr_heap_peak heap, struct mpr_evidence e)
{
    f->log.heap = &heap;
    f->log.heaps = 1;
    e.log = &f->log;
    mpr_insights_uses(&f->out, &e);
}

static struct mpr_heap_peak a_heap(uint8_t code, uint64_t bytes)
{
    return (struct mpr_heap_peak){ .heap = code,
                                   .peak_bytes = bytes,
                                   .touched = { .bytes = UINT64_MAX } };
}

static void look_at_use(struct fixture *f, uint8_t heap, uint64_t bytes, struct mpr_path path)
{
    const struct mpr_site_use use = {
        .heap = heap, .path = path, .uses = 60, .bytes = bytes, .second = 10 * MIB
    };
    look(f, a_heap(heap, 400 * MIB), (struct mpr_evidence){ .site_use = &use, .site_uses = 1 });
}

static void a_use_far_above_the_others_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_use(f, MPF_HEAP_HOST, 200 * MIB, site);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_INSTANCE);
    assert_int_equal(f->out.finding[0].bytes, 190 * MIB);
    assert_string_equal(text(f, 0).what, "one of 60 uses of this place needed 200.00 MiB of "
                                         "host/heap; all others needed at most 10.00 MiB");
    look_at_use(f, MPF_HEAP_TORCH, 200 * MIB, site);
    assert_int_equal(f->out.finding[1].kind, MPR_FINDING_INSTANCE);
    assert_string_equal(text(f, 1).what, "one of 60 uses of this place needed 200.00 MiB of "
                                         "gpu0/torch; all others needed at most 10.00 MiB");
}

static void a_use_that_does_not_make_the_peak_is_fine(void **state)
{
    struct fixture *f = *state;
    look_at_use(f, MPF_HEAP_HOST, 199 * MIB, site);
    look_at_use(f, MPF_HEAP_HOST, 400 * MIB, (struct mpr_path){ NULL, 0 });
    assert_int_equal(f->out.findings, 0);
}

/* A use of the whole heap; the largest place has these bytes of it. */
static void look_at_use_of_heap(struct fixture *f, uint64_t bytes, uint64_t touched,
                                struct mpr_path path)
{
    const struct mpr_site_use use = {
        .heap = MPF_HEAP_HOST, .whole = true, .uses = 60, .bytes = 200 * MIB, .second = 10 * MIB
    };
    struct mpr_row row[] = { { .bytes = 200 * MIB - bytes }, { .path = path, .bytes = bytes } };
    struct mpr_heap_peak heap = a_heap(MPF_HEAP_HOST, 200 * MIB);
    heap.row = row;
    heap.rows = 2;
    heap.touched.bytes = touched;
    look(f, heap, (struct mpr_evidence){ .site_use = &use, .site_uses = 1 });
}

static void a_use_of_the_whole_heap_is_named_by_its_largest_place(void **state)
{
    struct fixture *f = *state;
    look_at_use_of_heap(f, 50 * MIB, UINT64_MAX, site);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_INSTANCE);
    assert_int_equal(f->out.finding[0].path.depth, 1);
    assert_string_equal(text(f, 0).what,
                        "is one request much larger than the others? host/heap rose and fell 60 "
                        "times, once by 200.00 MiB and otherwise by at most 10.00 MiB; 50.00 MiB "
                        "of the largest use is in one place");
    assert_true(f->out.finding[0].weak);
}

static void a_use_of_the_whole_heap_without_a_large_place_or_untouched_is_fine(void **state)
{
    struct fixture *f = *state;
    look_at_use_of_heap(f, 49 * MIB, UINT64_MAX, site);
    look_at_use_of_heap(f, 90 * MIB, UINT64_MAX, (struct mpr_path){ NULL, 0 });
    look_at_use_of_heap(f, 90 * MIB, 149 * MIB, site);
    assert_int_equal(f->out.findings, 0);
}

static void look_at_temporary(struct fixture *f, uint8_t heap, uint64_t bytes, uint64_t touched)
{
    const struct mpr_site_temporary t = { .heap = heap, .path = site, .bytes = bytes, .times = 9 };
    struct mpr_heap_peak whole = a_heap(heap, 320 * MIB);
    whole.touched.bytes = touched;
    look(f, whole, (struct mpr_evidence){ .site_temporary = &t, .site_temporaries = 1 });
}

static void temporaries_of_one_place_are_named_on_the_host(void **state)
{
    struct fixture *f = *state;
    look_at_temporary(f, MPF_HEAP_HOST, 128 * MIB, UINT64_MAX);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_string_equal(text(f, 0).what, "128.00 MiB of host/heap's 320.00 MiB are temporaries of "
                                         "one place, which allocated 9 times");
}

static void small_temporaries_and_untouched_ones_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_temporary(f, MPF_HEAP_HOST, 127 * MIB, UINT64_MAX);
    look_at_temporary(f, MPF_HEAP_HOST, 200 * MIB, 239 * MIB);
    look_at_temporary(f, MPF_HEAP_TORCH, 255 * MIB, UINT64_MAX);
    look_at_temporary(f, MPF_HEAP_MMAP, 300 * MIB, UINT64_MAX);
    assert_int_equal(f->out.findings, 0);
}

/* Temporaries of one place and of all places in a heap of 100 MiB. */
static void look_at_all_temporaries(struct fixture *f, uint64_t bytes, uint64_t all)
{
    const struct mpr_site_temporary t = {
        .heap = MPF_HEAP_HOST, .path = site, .bytes = bytes, .all = all, .times = 9
    };
    look(f, a_heap(MPF_HEAP_HOST, 100 * MIB),
         (struct mpr_evidence){ .site_temporary = &t, .site_temporaries = 1 });
}

static void temporaries_that_are_most_of_the_heap_are_named(void **state)
{
    struct fixture *f = *state;
    look_at_all_temporaries(f, 25 * MIB, 75 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_TEMPORARIES);
    assert_string_equal(text(f, 0).what,
                        "25.00 MiB of host/heap's 100.00 MiB are temporaries of one place, which "
                        "allocated 9 times; temporaries of all places are 75.00 MiB");
}

static void temporaries_of_many_places_and_beside_other_memory_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_all_temporaries(f, 24 * MIB, 90 * MIB);
    look_at_all_temporaries(f, 40 * MIB, 74 * MIB);
    look_at_all_temporaries(f, 51 * MIB, 76 * MIB); /* mostly one buffer */
    assert_int_equal(f->out.findings, 0);
}

/* Temporaries of PyTorch at a peak in a forward pass.  Memory ran out when @at_oom bytes were live,
 * unless that is 0. */
static void look_at_inference_and_oom(struct fixture *f, uint64_t passes, uint64_t at_oom)
{
    const struct mpr_site_temporary t = {
        .heap = MPF_HEAP_TORCH, .path = site, .bytes = 300 * MIB, .times = 9
    };
    struct mpr_breakdown_heap h = { .heap = MPF_HEAP_TORCH, .phase = MPR_PHASE_FORWARD };
    const struct mpr_breakdown breakdown = {
        .heap = &h, .heaps = 1, .passes = passes, .ran = true
    };
    f->state[0].torch_live = at_oom;
    look(f, a_heap(MPF_HEAP_TORCH, 400 * MIB),
         (struct mpr_evidence){ .site_temporary = &t,
                                .site_temporaries = 1,
                                .breakdown = &breakdown,
                                .state = f->state,
                                .at_oom = { at_oom > 0 } });
}

static void look_at_inference(struct fixture *f, uint64_t passes)
{
    f->state[0].total = MPF_UNKNOWN;
    look_at_inference_and_oom(f, passes, 0);
}

static void temporaries_of_a_place_count_if_the_program_does_not_train(void **state)
{
    struct fixture *f = *state;
    look_at_inference(f, 1);
    assert_int_equal(f->out.findings, 0);
    look_at_inference(f, 0);
    assert_int_equal(f->out.findings, 1);
    look_at_inference(f, 0); /* known already */
    assert_int_equal(f->out.findings, 1);
}

static void temporaries_that_were_freed_when_memory_ran_out_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_inference_and_oom(f, 0, 299 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_inference_and_oom(f, 0, 300 * MIB);
    assert_int_equal(f->out.findings, 1);
}

static void look_at_holder(struct fixture *f, uint64_t bytes, uint64_t touched)
{
    struct mpr_row row[] = { { .bytes = 320 * MIB - bytes }, { .path = site, .bytes = bytes } };
    struct mpr_heap_peak heap = a_heap(MPF_HEAP_HOST, 320 * MIB);
    heap.row = row;
    heap.rows = 2;
    heap.touched.bytes = touched;
    look(f, heap, (struct mpr_evidence){ .log = NULL });
}

static void a_place_that_holds_much_of_the_host_is_a_weak_finding(void **state)
{
    struct fixture *f = *state;
    look_at_holder(f, 160 * MIB, UINT64_MAX);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_HOLDER);
    assert_true(f->out.finding[0].weak);
}

static void small_holders_and_untouched_memory_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_holder(f, 159 * MIB, UINT64_MAX);
    look_at_holder(f, 300 * MIB, 100 * MIB);
    look_at_holder(f, 165 * MIB, 222 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_holder(f, 166 * MIB, 221 * MIB); /* three quarters of the resident part */
    assert_int_equal(f->out.findings, 1);
}

/* The other rows may have been in memory as a whole. */
static void a_place_larger_than_the_resident_part_has_the_rest_of_it(void **state)
{
    struct fixture *f = *state;
    look_at_holder(f, 310 * MIB, 200 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 190 * MIB);
    assert_non_null(strstr(text(f, 0).what, "One place holds 310.00 MiB of host/heap's 320.00 MiB "
                                            "at the peak, of which at most 200.00 MiB was "
                                            "resident"));
    assert_null(strstr(text(f, 0).change, "HUGEPAGE"));
}

static void a_place_in_huge_pages_may_have_touched_a_part_of_them(void **state)
{
    struct fixture *f = *state;
    struct mpr_resident_owner owner = { .path = site, .resident = 300 * MIB, .huge = 280 * MIB };
    f->log.owner = &owner;
    f->log.owners = 1;
    look_at_holder(f, 300 * MIB, UINT64_MAX);
    assert_non_null(strstr(text(f, 0).what, "; 280.00 MiB of it is in huge pages"));
    assert_non_null(strstr(text(f, 0).change, "MADV_NOHUGEPAGE"));
}

static void look_at_pinned(struct fixture *f, uint64_t bytes, uint64_t rss)
{
    struct mpr_row row = { .path = site, .bytes = bytes };
    struct mpr_heap_peak heap = a_heap(MPF_HEAP_PINNED, bytes);
    heap.row = &row;
    heap.rows = 1;
    f->log.rss_high = rss;
    look(f, heap, (struct mpr_evidence){ .log = NULL });
}

static void much_pinned_memory_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_pinned(f, 512 * MIB, 1536 * MIB);
    look_at_pinned(f, 511 * MIB, 1536 * MIB);
    look_at_pinned(f, 600 * MIB, 4801 * (uint64_t)MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_PINNED);
    assert_false(f->out.finding[0].weak);
    assert_null(strstr(text(f, 0).what, "PyTorch"));
    assert_null(strstr(text(f, 0).change, "PyTorch"));
}

static void pinned_memory_that_is_a_small_part_of_the_process_is_weak(void **state)
{
    struct fixture *f = *state;
    look_at_pinned(f, 512 * MIB, 1537 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_true(f->out.finding[0].weak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_use_far_above_the_others_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_use_that_does_not_make_the_peak_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_use_of_the_whole_heap_is_named_by_its_largest_place,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            a_use_of_the_whole_heap_without_a_large_place_or_untouched_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_of_one_place_are_named_on_the_host, begin, end),
        cmocka_unit_test_setup_teardown(small_temporaries_and_untouched_ones_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(temporaries_that_are_most_of_the_heap_are_named, begin,
                                        end),
        cmocka_unit_test_setup_teardown(temporaries_of_many_places_and_beside_other_memory_are_fine,
                                        begin, end),
        cmocka_unit_test_setup_teardown(temporaries_of_a_place_count_if_the_program_does_not_train,
                                        begin, end),
        cmocka_unit_test_setup_teardown(temporaries_that_were_freed_when_memory_ran_out_are_fine,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_place_that_holds_much_of_the_host_is_a_weak_finding,
                                        begin, end),
        cmocka_unit_test_setup_teardown(small_holders_and_untouched_memory_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_place_larger_than_the_resident_part_has_the_rest_of_it,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_place_in_huge_pages_may_have_touched_a_part_of_them,
                                        begin, end),
        cmocka_unit_test_setup_teardown(much_pinned_memory_is_named, begin, end),
        cmocka_unit_test_setup_teardown(pinned_memory_that_is_a_small_part_of_the_process_is_weak,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
