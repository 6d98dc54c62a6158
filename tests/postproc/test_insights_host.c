/* Rules about memory that malloc keeps, growth, and forked workers report the right findings. */
#include "frame_text.h"
#include "insights_test.h"
#include "leaks.h"

/* ---- malloc */

/* 400 MiB of the process are in no block. 50 MiB of these existed at the heap's peak. */
static void look_at_retained(struct fixture *f, uint64_t fallen, uint64_t kept)
{
    struct mpr_heap_peak heap = { .heap = MPF_HEAP_HOST, .allocations = 1 };
    f->log.heap = &heap;
    f->log.heaps = 1;
    f->log.summary.unseen_malloc = "";
    mpr_insights_host(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                       .retained = { .anonymous = 500 * MIB,
                                                                     .live = 90 * MIB,
                                                                     .memprof = 10 * MIB,
                                                                     .others = 50 * MIB,
                                                                     .fallen = fallen,
                                                                     .kept_at_most = kept } });
}

static void freed_blocks_may_have_been_kept_by_malloc(void **state)
{
    struct fixture *f = *state;
    look_at_retained(f, 1000 * MIB, 1000 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_RETENTION);
    assert_int_equal(f->out.finding[0].bytes, 350 * MIB);
    assert_non_null(strstr(text(f, 0).what,
                           "about 350.00 MiB of the process's 500.00 MiB of anonymous memory was "
                           "in no live block: malloc kept freed blocks in its arenas, or memprof "
                           "does not record the owner"));
    assert_true(f->out.finding[0].estimated);
    look_at_retained(f, 200 * MIB, 200 * MIB);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 200 * MIB);
}

static bool has_unowned(struct fixture *f)
{
    look_at_retained(f, 1000 * MIB, 1000 * MIB);
    return strstr(text(f, f->out.findings - 1).what,
                  "; by kind of mapping, it was up to 390.00 MiB");
}

static void private_memory_after_the_peak_shows_the_most_that_malloc_can_have_kept(void **state)
{
    struct fixture *f = *state;
    f->log.resident = (struct mpr_resident){ .valid = true,
                                             .value = { [MPF_RESIDENT_ANON] = 400 * MIB },
                                             .live_blocks = 10 * MIB };
    assert_true(has_unowned(f));
    f->log.resident.live_blocks = 50 * MIB; /* no more than the estimate */
    assert_false(has_unowned(f));
    f->log.resident = (struct mpr_resident){ .value = { [MPF_RESIDENT_ANON] = 400 * MIB } };
    assert_false(has_unowned(f));
}

/* The remainder is memory that memprof does not see, such as direct system calls of a library. */
static void memory_that_was_never_freed_is_not_kept_by_malloc(void **state)
{
    struct fixture *f = *state;
    look_at_retained(f, 0, 0);
    look_at_retained(f, 63 * MIB, 63 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* malloc returned the memory of the blocks, and other memory was allocated later. */
static void memory_that_appears_without_a_free_is_not_malloc_s(void **state)
{
    struct fixture *f = *state;
    const uint64_t before = mpr_kept_at_most(0, 1000 * MIB, 2 * MIB);
    assert_int_equal(before, 2 * MIB);
    assert_int_equal(mpr_kept_at_most(before, 0, 400 * MIB), 2 * MIB);
    assert_int_equal(mpr_kept_at_most(before, 100 * MIB, 400 * MIB), 102 * MIB);
    look_at_retained(f, 1000 * MIB, before);
    assert_int_equal(f->out.findings, 0);
}

/* ---- resident memory by kind */

/* 200 MiB of the process are resident, and @bytes of them are of this kind. */
static void look_at_resident(struct fixture *f, int kind, uint64_t bytes)
{
    f->log.resident = (struct mpr_resident){ .valid = true, .sum = 200 * MIB };
    f->log.resident.value[kind] = bytes;
    f->log.resident.value[MPF_RESIDENT_STACK_COUNT] = 24;
    f->log.resident.file[MPF_RESIDENT_FILES] =
        (struct mpr_resident_file){ .bytes = 60 * MIB, .path = "/data/index" };
    mpr_insights_resident(&f->out, &(struct mpr_evidence){ .log = &f->log });
}

static void mapped_files_and_static_data_may_be_needed_unless_memory_ran_out(void **state)
{
    struct fixture *f = *state;
    look_at_resident(f, MPF_RESIDENT_FILES, 64 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_true(f->out.finding[0].weak);
    assert_string_equal(text(f, 0).what,
                        "is all of it used? Mapped files hold 64.00 MiB of the process's 200.00 "
                        "MiB of resident memory, 60.00 MiB of it in /data/index; the kernel can "
                        "take back pages that were only read");
    f->out.died = true;
    look_at_resident(f, MPF_RESIDENT_DATA, 64 * MIB);
    assert_int_equal(f->out.findings, 2);
    assert_false(f->out.finding[1].weak);
    assert_string_equal(text(f, 1).what,
                        "static data of the program and its libraries holds 64.00 MiB of the "
                        "process's 200.00 MiB of resident memory");
}

static void stacks_of_threads_are_counted(void **state)
{
    struct fixture *f = *state;
    look_at_resident(f, MPF_RESIDENT_STACKS, 100 * MIB);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_THREAD_STACKS);
    assert_false(f->out.finding[0].weak);
    assert_string_equal(text(f, 0).what, "the stacks of 24 threads hold 100.00 MiB of the "
                                         "process's 200.00 MiB of resident memory");
}

static void a_kind_below_64_mib_or_a_quarter_is_fine(void **state)
{
    struct fixture *f = *state;
    look_at_resident(f, MPF_RESIDENT_STACKS, 63 * MIB);
    f->log.resident.sum = 400 * MIB;
    f->log.resident.value[MPF_RESIDENT_STACKS] = 99 * MIB;
    mpr_insights_resident(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 0);
}

/* ---- growth */

/* One site with that stack grew by 100 MiB in ten seconds. */
static void look_at_growth(struct fixture *f, const char *const *path, size_t depth)
{
    struct mpr_heap_peak heap = { .heap = MPF_HEAP_HOST, .peak_bytes = 200 * MIB };
    struct mpr_leaks_row row = { .row = { .bytes = 100 * MIB,
                                          .path = path_of(&f->out.arena, path, depth, true) } };
    struct mpr_leaks_heap grown = { .live = &heap, .growing = { &row, 1 } };
    f->log.heap = &heap;
    f->log.heaps = 1;
    const struct mpr_leaks leaks = { .peaks = { .log = &f->log },
                                     .range = "",
                                     .kept = MPR_LEAKS_LEAST,
                                     .warm_ns = UINT64_C(1000000000),
                                     .last_ns = UINT64_C(11000000000),
                                     .heap = &grown };
    mpr_insights_growth(&f->out, &(struct mpr_evidence){ .log = &f->log, .leaks = &leaks });
}

static void imports_are_not_leaks(void **state)
{
    struct fixture *f = *state;
    const char *const import[] = { "<module> (main.py:1)",
                                   "_find_and_load (<frozen importlib._bootstrap>:1360)",
                                   "<module> (numpy/__init__.py:5)" },
                      *const lazy[] = { "main (main.c:3)", "cuModuleLoadData (libcuda.so.1)" };
    look_at_growth(f, import, 3);
    look_at_growth(f, import, 2);
    look_at_growth(f, lazy, 2);
    assert_int_equal(f->out.findings, 0);
}

static void leaks_leaves_out_imports(void **state)
{
    (void)state;
    const char *const import[] = { "<module> (main.py:1)",
                                   "_find_and_load (<frozen importlib._bootstrap>:1360)",
                                   "<module> (numpy/__init__.py:5)" },
                      *const handle[] = { "<module> (main.py:1)", "handle (main.py:5)" };
    struct mpr_arena arena = { 0 };
    struct mpr_leaks_row row[] = {
        { .row = { .bytes = 9 * MIB, .path = path_of(&arena, import, 3, true) } },
        { .row = { .bytes = 2 * MIB, .path = path_of(&arena, handle, 2, true) } }
    };
    struct mpr_leaks_heap h = { .growing = { row, 2 } };
    mpr_startup_leave_out(&h);
    assert_int_equal(h.growing.rows, 1);
    assert_int_equal(h.growing.row[0].row.bytes, 2 * MIB);
    mpr_arena_free(&arena);
}

static void code_that_an_imported_module_runs_may_leak(void **state)
{
    struct fixture *f = *state;
    const char *const path[] = { "<module> (main.py:1)",
                                 "_find_and_load (<frozen importlib._bootstrap>:1360)",
                                 "<module> (server.py:90)", "handle (server.py:5)" };
    look_at_growth(f, path, 4);
    assert_int_equal(f->out.findings, 1);
    assert_non_null(strstr(text(f, 0).what, "grew steadily"));
    assert_non_null(strstr(text(f, 0).change, "queue"));
}

static void growth_without_a_stack_has_no_known_reason(void **state)
{
    struct fixture *f = *state;
    look_at_growth(f, NULL, 0);
    assert_int_equal(f->out.findings, 1);
    assert_non_null(strstr(text(f, 0).change, "not known"));
}

/* ---- workers */

/* A parent and its children, which have the same command and these bytes. The log is that of the
 * first child. */
enum { CHILDREN = 8 };
static void look_at_children(struct fixture *f, struct mpr_process child, const uint64_t *bytes,
                             size_t children)
{
    static const char *const argv[] = { "python3", "train.py" };
    static const char *const path[] = { "0.zst", "1.zst", "2.zst", "3.zst", "4.zst",
                                        "5.zst", "6.zst", "7.zst", "8.zst" };
    struct mpr_process p[1 + CHILDREN];
    struct mpr_processes processes = { .at = p, .count = 1 + children };
    if (!child.summary.process.argc) {
        child.summary.process.argv = argv;
        child.summary.process.argc = 2;
    }
    for (size_t i = 0; i <= children; i++) {
        p[i] = child;
        p[i].summary.path = path[i];
        p[i].summary.process.pid = 100 + i;
        p[i].host.peak_bytes = i ? bytes[i - 1] : 10 * MIB;
    }
    p[0] = (struct mpr_process){
        .parent = MPR_NO_PROCESS,
        .previous_program = MPR_NO_PROCESS,
        .host.peak_bytes = 10 * MIB,
        .summary = { .path = path[0], .process = { .parent_log = "", .argv = argv, .argc = 2 } }
    };
    f->out.family = &processes;
    f->log.summary.path = path[1];
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
}

static void look_at_workers(struct fixture *f, struct mpr_process child, const uint64_t bytes[3])
{
    look_at_children(f, child, bytes, 3);
}

/* A worker that leaks is reported separately from the similar ones. */
static void a_worker_above_similar_ones_is_reported(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .previous_program = MPR_NO_PROCESS };
    look_at_children(f, child,
                     (uint64_t[]){ 30 * MIB, 31 * MIB, 30 * MIB, 30 * MIB, 45 * MIB, 31 * MIB,
                                   30 * MIB, 30 * MIB },
                     CHILDREN);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_WORKER);
    assert_int_equal(f->out.finding[0].bytes, 15 * MIB);
    assert_string_equal(
        text(f, 0).what,
        "one of 8 forked workers, pid 105, peaks at 45.00 MiB of host memory, 15.00 "
        "MiB above the median");
    assert_string_equal(
        text(f, 1).what,
        "7 forked workers hold about the same memory each, 30.00 MiB to 31.00 MiB of "
        "the host, 212.00 MiB in all; their parent holds 10.00 MiB");
    assert_false(f->out.finding[1].weak);
}

/* The largest worker holds half as much again as the others. */
static void workers_next_to_a_much_larger_one_may_need_their_memory(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .previous_program = MPR_NO_PROCESS };
    look_at_children(f, child,
                     (uint64_t[]){ 30 * MIB, 31 * MIB, 30 * MIB, 30 * MIB, 46 * MIB, 31 * MIB,
                                   30 * MIB, 30 * MIB },
                     CHILDREN);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_WORKER);
    assert_false(f->out.finding[0].weak);
    assert_true(f->out.finding[1].weak);
    assert_non_null(strstr(text(f, 1).what, "does each of them need it? 7 forked workers hold"));
}

static void workers_with_similar_bytes_are_reported_together(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .previous_program = MPR_NO_PROCESS };
    look_at_workers(f, child, (uint64_t[]){ 90 * MIB, 100 * MIB, 51 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_WORKERS);
    assert_int_equal(f->out.finding[0].bytes, 141 * MIB);
    assert_string_equal(
        text(f, 0).what,
        "3 forked workers hold about the same memory each, 51.00 MiB to 100.00 MiB of "
        "the host, 241.00 MiB in all; their parent holds 10.00 MiB");
}

/* A pool of two workers, then another pool: at most two workers had memory at the same time. */
static void workers_of_consecutive_pools_are_not_added_up(void **state)
{
    struct fixture *f = *state;
    static const char *const argv[] = { "python3", "train.py" };
    static const uint64_t start[] = { 10, 10, 12, 33, 40 };
    struct mpr_process p[5];
    struct mpr_processes processes = { .at = p, .count = 5 };
    for (size_t i = 0; i < 5; i++)
        p[i] = (struct mpr_process){ .parent = i ? 0 : MPR_NO_PROCESS,
                                     .previous_program = MPR_NO_PROCESS,
                                     .host.peak_bytes = (i < 3 ? 80 : 90) * MIB,
                                     .summary = { .path = i ? "child.zst" : "main.zst",
                                                  .duration_ns = i ? 20 : 90,
                                                  .process = { .parent_log = "",
                                                               .argv = argv,
                                                               .argc = 2,
                                                               .start_ns = start[i] } } };
    f->out.family = &processes;
    f->log.summary.path = "main.zst";
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 90 * MIB);
    assert_string_equal(
        text(f, 0).what,
        "2 forked workers at a time hold about the same memory each, 90.00 MiB of the host, "
        "180.00 MiB in all; their parent holds 80.00 MiB");
}

/* A parent that stayed small left no log. The workers of another one are not theirs. */
static void workers_of_a_parent_without_a_log_are_compared(void **state)
{
    struct fixture *f = *state;
    struct mpr_process p[4];
    struct mpr_processes processes = { .at = p, .count = 4 };
    for (size_t i = 0; i < 4; i++)
        p[i] = (struct mpr_process){ .parent = MPR_NO_PROCESS,
                                     .previous_program = MPR_NO_PROCESS,
                                     .host.peak_bytes = 80 * MIB,
                                     .summary = { .path = i ? "child.zst" : "own.zst",
                                                  .process.parent_log =
                                                      i < 3 ? "main.zst" : "other.zst" } };
    f->out.family = &processes;
    f->log.summary.path = "own.zst";
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(text(f, 0).what, "3 forked workers hold about the same memory each, "
                                         "80.00 MiB of the host, 240.00 MiB in all");
}

static void a_small_worker_is_not_one_of_the_large_ones(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .previous_program = MPR_NO_PROCESS };
    look_at_workers(f, child, (uint64_t[]){ 90 * MIB, 1 * MIB, 100 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 90 * MIB);
}

/* Python's objects are in mappings. Mappings that were never written to use no memory. */
static void touched_mappings_count_as_the_workers_bytes(void **state)
{
    struct fixture *f = *state;
    struct mpr_process_heap map = { .heap = MPF_HEAP_MMAP, .peak_bytes = 80 * MIB, .peak_time = 9 };
    struct mpr_process child = { .previous_program = MPR_NO_PROCESS, .heap = &map, .heaps = 1 };
    const uint64_t bytes[] = { 10 * MIB, 10 * MIB, 11 * MIB };
    look_at_workers(f, child, bytes);
    child.summary.alone = 20 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 0);
    child.summary.alone = 90 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 180 * MIB);
    assert_int_equal(f->out.finding[0].heap, MPF_HEAP_MMAP);
    assert_int_equal(f->out.finding[0].time, 9);
    child.summary.alone = 0;
    child.summary.anonymous = 90 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 180 * MIB);
}

/* Private bytes that the worker did not allocate are pages of its parent. */
static void pages_that_workers_copied_are_reported(void **state)
{
    struct fixture *f = *state;
    struct mpr_process child = { .previous_program = MPR_NO_PROCESS, .summary.alone = 41 * MIB };
    look_at_workers(f, child, (uint64_t[]){ 1 * MIB, 2 * MIB, 3 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].kind, MPR_FINDING_COPIED_PAGES);
    assert_int_equal(f->out.finding[0].bytes, 117 * MIB);
    assert_string_equal(text(f, 0).what,
                        "3 forked workers copied memory of their parent by writing to it, 38.00 "
                        "MiB to 40.00 MiB each, 117.00 MiB in all; the parent holds 10.00 MiB");
    child.summary.alone = 20 * MIB;
    look_at_workers(f, child, (uint64_t[]){ 1 * MIB, 2 * MIB, 3 * MIB });
    assert_int_equal(f->out.findings, 1);
}

/* The process that uses a fork server is not the parent of the workers, because the server executed
 * another command. */
static void workers_of_a_fork_server_are_reported(void **state)
{
    struct fixture *f = *state;
    static const char *const main_argv[] = { "train.py" }, *const server_argv[] = { "server.py" };
    struct mpr_process p[4];
    struct mpr_processes processes = { .at = p, .count = 4 };
    for (size_t i = 0; i < 4; i++)
        p[i] = (struct mpr_process){ .parent = i > 1 ? 1 : i - 1,
                                     .previous_program = MPR_NO_PROCESS,
                                     .host.peak_bytes = i > 1 ? 100 * MIB : MIB,
                                     .summary = { .path = i ? "child.zst" : "main.zst",
                                                  .process = { .parent_log = "",
                                                               .argv = i ? server_argv : main_argv,
                                                               .argc = 1 } } };
    f->out.family = &processes;
    f->log.summary.path = "main.zst";
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
}

static void workers_that_differ_and_other_children_are_fine(void **state)
{
    struct fixture *f = *state;
    static const char *const other[] = { "python3", "serve.py" };
    const struct mpr_process child = { .parent = 0, .previous_program = MPR_NO_PROCESS },
                             executed = { .parent = 0, .previous_program = 1 };
    struct mpr_process stranger = child;
    stranger.summary.process.argv = other;
    stranger.summary.process.argc = 2;
    look_at_workers(f, child, (uint64_t[]){ 80 * MIB, 400 * MIB, 199 * MIB });
    look_at_workers(f, child, (uint64_t[]){ 31 * MIB, 32 * MIB, 32 * MIB });
    look_at_workers(f, executed, (uint64_t[]){ 100 * MIB, 100 * MIB, 100 * MIB });
    look_at_workers(f, stranger, (uint64_t[]){ 100 * MIB, 100 * MIB, 100 * MIB });
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(freed_blocks_may_have_been_kept_by_malloc, begin, end),
        cmocka_unit_test_setup_teardown(
            private_memory_after_the_peak_shows_the_most_that_malloc_can_have_kept, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_was_never_freed_is_not_kept_by_malloc, begin,
                                        end),
        cmocka_unit_test_setup_teardown(memory_that_appears_without_a_free_is_not_malloc_s, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            mapped_files_and_static_data_may_be_needed_unless_memory_ran_out, begin, end),
        cmocka_unit_test_setup_teardown(stacks_of_threads_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(a_kind_below_64_mib_or_a_quarter_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(imports_are_not_leaks, begin, end),
        cmocka_unit_test(leaks_leaves_out_imports),
        cmocka_unit_test_setup_teardown(code_that_an_imported_module_runs_may_leak, begin, end),
        cmocka_unit_test_setup_teardown(growth_without_a_stack_has_no_known_reason, begin, end),
        cmocka_unit_test_setup_teardown(a_worker_above_similar_ones_is_reported, begin, end),
        cmocka_unit_test_setup_teardown(workers_next_to_a_much_larger_one_may_need_their_memory,
                                        begin, end),
        cmocka_unit_test_setup_teardown(workers_with_similar_bytes_are_reported_together, begin,
                                        end),
        cmocka_unit_test_setup_teardown(workers_of_consecutive_pools_are_not_added_up, begin, end),
        cmocka_unit_test_setup_teardown(workers_of_a_parent_without_a_log_are_compared, begin, end),
        cmocka_unit_test_setup_teardown(a_small_worker_is_not_one_of_the_large_ones, begin, end),
        cmocka_unit_test_setup_teardown(touched_mappings_count_as_the_workers_bytes, begin, end),
        cmocka_unit_test_setup_teardown(pages_that_workers_copied_are_reported, begin, end),
        cmocka_unit_test_setup_teardown(workers_of_a_fork_server_are_reported, begin, end),
        cmocka_unit_test_setup_teardown(workers_that_differ_and_other_children_are_fine, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
