/* Parents of processes are found by the start times, process IDs and names in the logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_tree.h"

static struct mpr_summary process(const char *path, uint64_t start, uint64_t pid, uint64_t ppid)
{
    struct mpr_summary s = { .path = path, .end = MPF_END_EXIT, .duration_ns = 100 };
    s.process.host = "n01";
    s.process.parent_log = "";
    s.process.start_ns = start;
    s.process.pid = pid;
    s.process.ppid = ppid;
    return s;
}

static void find(const struct mpr_summary *summary, size_t count, struct mpr_process_tree *tree)
{
    const struct mpr_summary *log[8];
    for (size_t i = 0; i < count; i++) log[i] = &summary[i];
    mpr_process_tree_find(log, count, tree);
}

/* In any order of the logs. */
static void the_parent_is_the_newest_process_with_its_id_before_the_child(void **state)
{
    (void)state;
    struct mpr_process_tree tree[4];
    const struct mpr_summary summary[] = { process("child", 30, 12, 7), process("late", 40, 7, 1),
                                           process("newer", 20, 7, 1), process("older", 10, 7, 1) };
    find(summary, 4, tree);
    assert_int_equal(tree[0].parent, 2);
    for (size_t i = 1; i < 4; i++) assert_int_equal(tree[i].parent, MPR_NO_PROCESS);
}

static void a_named_log_has_priority_over_process_ids(void **state)
{
    (void)state;
    struct mpr_process_tree tree[3];
    struct mpr_summary summary[] = { process("d/a.zst", 1, 7, 1), process("d/b.zst", 2, 8, 1),
                                     process("d/c.zst", 3, 9, 8) };
    summary[2].process.parent_log = "/elsewhere/a.zst";
    find(summary, 3, tree);
    assert_int_equal(tree[2].parent, 0);
    summary[2].process.parent_log = "/elsewhere/gone.zst";
    find(summary, 3, tree);
    assert_int_equal(tree[2].parent, MPR_NO_PROCESS);
}

static void process_ids_of_other_hosts_do_not_match(void **state)
{
    (void)state;
    struct mpr_process_tree tree[2];
    struct mpr_summary summary[] = { process("a", 1, 7, 1), process("b", 2, 8, 7) };
    summary[0].process.host = "n02";
    find(summary, 2, tree);
    assert_int_equal(tree[1].parent, MPR_NO_PROCESS);
}

static void process_ids_of_other_runs_do_not_match(void **state)
{
    (void)state;
    struct mpr_process_tree tree[2];
    struct mpr_summary summary[] = { process("d/a.zst", 1, 7, 1), process("d/b.zst", 2, 8, 7) };
    summary[0].process.run = "first";
    summary[0].recording.root = true;
    for (int named = 0; named < 2; named++) {
        summary[1].process.parent_log = named ? "/elsewhere/a.zst" : "";
        summary[1].process.run = "second";
        find(summary, 2, tree);
        assert_int_equal(tree[1].parent, MPR_NO_PROCESS);
        assert_int_equal(tree[1].tree_parent, MPR_NO_PROCESS);
        summary[1].process.run = NULL; /* a log without an ID */
        find(summary, 2, tree);
        assert_int_equal(tree[1].parent, MPR_NO_PROCESS);
        summary[1].process.run = "first";
        find(summary, 2, tree);
        assert_int_equal(tree[1].parent, 0);
    }
}

static void an_executed_program_has_the_same_parent(void **state)
{
    (void)state;
    struct mpr_process_tree tree[4];
    struct mpr_summary summary[] = { process("shell", 1, 7, 1), process("image", 2, 8, 7),
                                     process("tool", 3, 8, 7), process("child", 4, 9, 8) };
    summary[1].end = MPF_END_EXEC;
    find(summary, 4, tree);
    assert_int_equal(tree[2].previous_program, 1);
    assert_int_equal(tree[2].parent, 0);
    assert_int_equal(tree[3].parent, 2);
    assert_int_equal(tree[3].previous_program, MPR_NO_PROCESS);
}

static void the_parent_of_a_process_whose_parent_has_no_log_is_the_root_of_its_host(void **state)
{
    (void)state;
    struct mpr_process_tree tree[5];
    struct mpr_summary summary[] = { process("shell", 1, 7, 1), process("python", 2, 7, 1),
                                     process("worker", 3, 12, 11), process("there", 4, 13, 11),
                                     process("other", 5, 20, 1) };
    summary[0].recording.root = summary[1].recording.root = summary[4].recording.root = true;
    summary[0].end = MPF_END_EXEC;
    summary[2].process.parent_log = "gone.zst";
    summary[3].process.host = "n02";
    find(summary, 5, tree);
    assert_int_equal(tree[1].previous_program, 0);
    assert_int_equal(tree[2].parent, MPR_NO_PROCESS);
    assert_int_equal(tree[2].tree_parent, 1);
    assert_int_equal(tree[3].tree_parent, MPR_NO_PROCESS);
    assert_int_equal(tree[4].tree_parent, MPR_NO_PROCESS);
    summary[4].process.start_ns = 2; /* which of two roots is meant is unknown */
    find(summary, 5, tree);
    assert_int_equal(tree[2].tree_parent, MPR_NO_PROCESS);
}

/* The process ID of the root may be reused for another process, which is not the root. */
static void a_reused_process_id_of_the_root_does_not_match(void **state)
{
    (void)state;
    struct mpr_process_tree tree[3];
    struct mpr_summary summary[] = { process("root", 1, 7, 1), process("again", 2, 7, 5),
                                     process("worker", 3, 12, 11) };
    summary[0].recording.root = true;
    find(summary, 3, tree);
    assert_int_equal(tree[1].tree_parent, 0);
    assert_int_equal(tree[2].tree_parent, 0);
    summary[0].duration_ns = 1; /* ended before the worker began, so it belongs to another run */
    find(summary, 3, tree);
    assert_int_equal(tree[1].tree_parent, 0);
    assert_int_equal(tree[2].tree_parent, MPR_NO_PROCESS);
}

static void contradictory_logs_make_no_cycle(void **state)
{
    (void)state;
    struct mpr_process_tree tree[2];
    struct mpr_summary summary[] = { process("a", 1, 7, 8), process("b", 1, 8, 7) };
    summary[0].process.parent_log = "b";
    summary[1].process.parent_log = "a";
    find(summary, 2, tree);
    assert_int_equal(tree[0].parent, MPR_NO_PROCESS);
    assert_int_equal(tree[1].parent, 0);
    find(summary, 0, tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parent_is_the_newest_process_with_its_id_before_the_child),
        cmocka_unit_test(a_named_log_has_priority_over_process_ids),
        cmocka_unit_test(process_ids_of_other_hosts_do_not_match),
        cmocka_unit_test(process_ids_of_other_runs_do_not_match),
        cmocka_unit_test(an_executed_program_has_the_same_parent),
        cmocka_unit_test(the_parent_of_a_process_whose_parent_has_no_log_is_the_root_of_its_host),
        cmocka_unit_test(a_reused_process_id_of_the_root_does_not_match),
        cmocka_unit_test(contradictory_logs_make_no_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
