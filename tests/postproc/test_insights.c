/* Rules of insights on what no log of a test holds: communicators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evidence.h"

enum { MIB = 1 << 20 };

struct fixture {
    struct mpr_insights out;
    struct mpr_device device;
    struct mpr_log_peaks log;
    struct mpr_device_state state[MPF_GPUS];
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    f->log.device = &f->device;
    f->log.devices = 1;
    f->state[0].valid = true;
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_insights_free(&f->out);
    free(f);
    return 0;
}

static void look(struct fixture *f, const struct mpr_comm_row *comm, size_t comms)
{
    f->state[0].comm = comm;
    f->state[0].comms = comms;
    mpr_insights_device(&f->out, &(struct mpr_evidence){ .log = &f->log, .state = f->state });
}

static void communicators_without_a_collective_are_idle(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 200 * MIB },
        { .name = "0xa1", .first_use = "", .ranks = 2, .bytes = 100 * MIB },
        { .name = "0xa2", .first_use = "", .ranks = 2, .bytes = 0 },
    };
    look(f, comm, 4);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "idle_communicators");
    assert_string_equal(f->out.finding[0].where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 400 * MIB);
    assert_string_equal(f->out.finding[0].what, "2 communicators ran no collective and hold "
                                                "400.00 MiB, most of it NCCL 0x9f");
}

static void communicators_over_all_ranks_are_doubled(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllGather", .ranks = 8, .bytes = 200 * MIB },
        { .name = "0xa1", .first_use = "ncclAllGather", .ranks = 4, .bytes = 100 * MIB },
        { .name = "0xa2", .first_use = "ncclAllGather", .ranks = UINT64_MAX, .bytes = 90 * MIB },
    };
    look(f, comm, 4);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "doubled_communicators");
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
}

static void small_or_different_communicators_are_fine(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "ncclAllReduce", .ranks = 8, .bytes = 63 * MIB },
        { .name = "0xa1", .first_use = "", .ranks = 4, .bytes = 63 * MIB },
    };
    look(f, comm, 3);
    assert_int_equal(f->out.findings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(communicators_without_a_collective_are_idle, begin, end),
        cmocka_unit_test_setup_teardown(communicators_over_all_ranks_are_doubled, begin, end),
        cmocka_unit_test_setup_teardown(small_or_different_communicators_are_fine, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
