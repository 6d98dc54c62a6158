/* Accounts that are projected from a replay by place equal those of a replay by the grouping
 * itself, at the peak and at other instants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "projection.h"
#include "reader.h"

static const char *const logs[] = { "h100-spike",   "h100-gpt2",   "h100-resnet",  "h200-autograd",
                                    "h200-pytorch", "host-sample", "python-small", "python-leak",
                                    "stack-cut",    "nvtx-pools" };
enum { LOGS = sizeof logs / sizeof *logs };
static const enum mpr_group groups[] = { MPR_GROUP_AUTO, MPR_GROUP_STACK, MPR_GROUP_PYTHON,
                                         MPR_GROUP_LIBRARY };
enum { GROUPS = sizeof groups / sizeof *groups };

static void replay(struct mpr_reader *reader, const char *log, enum mpr_group by,
                   struct mpr_instant at, struct mpr_snapshots *snapshots)
{
    static const struct mpr_progress none;
    struct mpr_error error;
    char path[512];
    snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, log);
    assert_int_equal(mpr_reader_open(reader, path, by, at, &error), 0);
    reader->replay.snapshots = snapshots;
    assert_int_equal(mpr_reader_replay(reader, path, &none, &error), 0);
}

static void assert_estimates(const struct mpr_replay *a, const struct mpr_replay *b, uint32_t cell)
{
    const struct mpr_estimate_state x = mpr_estimates_at_peak(&a->estimates, &a->accounts, cell),
                                    y = mpr_estimates_at_peak(&b->estimates, &b->accounts, cell);
    assert_int_equal(x.bytes, y.bytes);
    assert_int_equal(x.samples, y.samples);
    assert_true(x.blocks - y.blocks < 1e-6 && y.blocks - x.blocks < 1e-6);
    assert_true(x.variance <= y.variance * (1 + 1e-9) && y.variance <= x.variance * (1 + 1e-9));
}

/* Compares one heap, or all if it is 0. */
static void assert_same(const struct mpr_replay *a, const struct mpr_replay *b, uint8_t heap)
{
    assert_int_equal(a->accounts.cells, b->accounts.cells);
    for (uint32_t i = 0; i < a->accounts.cells; i++) {
        const struct mpr_cell *x = &a->accounts.cell[i], *y = &b->accounts.cell[i];
        assert_int_equal(x->heap, y->heap);
        if (heap && x->heap != heap) continue;
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->blocks, y->blocks);
        assert_int_equal(x->allocations, y->allocations);
        assert_int_equal(x->inherited, y->inherited);
        const struct mpr_cell_values left = mpr_accounts_at_peak(&a->accounts, x),
                                     right = mpr_accounts_at_peak(&b->accounts, y);
        assert_int_equal(left.bytes, right.bytes);
        assert_int_equal(left.blocks, right.blocks);
        assert_int_equal(mpr_counted_totals_is(&a->totals, &a->accounts, x),
                         mpr_counted_totals_is(&b->totals, &b->accounts, y));
        assert_estimates(a, b, i);
    }
}

static void projected_peaks_are_those_of_the_grouping(void **state)
{
    (void)state;
    for (size_t log = 0; log < LOGS; log++) {
        struct mpr_reader by_place;
        replay(&by_place, logs[log], MPR_GROUP_PLACE, MPR_INSTANT_PEAK, NULL);
        for (size_t by = 0; by < GROUPS; by++) {
            struct mpr_reader by_group;
            struct mpr_projection projection;
            replay(&by_group, logs[log], groups[by], MPR_INSTANT_PEAK, NULL);
            mpr_projection_begin(&projection, &by_place.replay, groups[by], NULL);
            assert_same(&by_place.replay, &by_group.replay, 0);
            mpr_projection_end(&projection, &by_place.replay);
            mpr_reader_close(&by_group);
        }
        assert_int_equal(by_place.replay.options.by, MPR_GROUP_PLACE);
        mpr_reader_close(&by_place);
    }
}

/* A sum of finer cells does not show when a cell had its own peak. */
static void own_peaks_are_those_of_the_grouping(void **state)
{
    static const struct mpr_progress none;
    (void)state;
    for (size_t log = 0; log < LOGS; log++) {
        struct mpr_own_peaks observed[GROUPS];
        struct mpr_reader by_place;
        struct mpr_error error;
        char path[512];
        snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, logs[log]);
        assert_int_equal(
            mpr_reader_open(&by_place, path, MPR_GROUP_PLACE, MPR_INSTANT_PEAK, &error), 0);
        for (size_t by = 0; by < GROUPS; by++)
            mpr_own_peaks_begin(&observed[by], &by_place.replay, groups[by]);
        assert_int_equal(mpr_reader_replay(&by_place, path, &none, &error), 0);
        for (size_t by = 0; by < GROUPS; by++) {
            struct mpr_reader by_group;
            struct mpr_projection projection;
            replay(&by_group, logs[log], groups[by], MPR_INSTANT_PEAK, NULL);
            mpr_projection_begin(&projection, &by_place.replay, groups[by], NULL);
            for (uint32_t i = 0; i < by_group.replay.accounts.cells; i++) {
                assert_int_equal(by_place.replay.accounts.cell[i].own_peak,
                                 by_group.replay.accounts.cell[i].own_peak);
                if (i < by_group.replay.estimates.cells)
                    assert_int_equal(by_place.replay.estimates.cell[i].own_peak,
                                     by_group.replay.estimates.cell[i].own_peak);
            }
            mpr_projection_end(&projection, &by_place.replay);
            mpr_reader_close(&by_group);
        }
        for (size_t by = 0; by < GROUPS; by++) mpr_own_peaks_free(&observed[by]);
        mpr_reader_close(&by_place);
    }
}

/* Returns the heap with the largest peak. */
static uint8_t largest_heap(const struct mpr_accounts *accounts)
{
    unsigned heap = 0;
    for (unsigned i = 0; i < MPR_HEAPS; i++)
        if (accounts->heap[i].peak_bytes > accounts->heap[heap].peak_bytes) heap = i;
    return (uint8_t)heap;
}

static void snapshots_are_the_chosen_instants(void **state)
{
    (void)state;
    for (size_t log = 0; log < LOGS; log++) {
        struct mpr_reader first, by_place;
        replay(&first, logs[log], MPR_GROUP_PLACE, MPR_INSTANT_PEAK, NULL);
        const uint8_t heap = largest_heap(&first.replay.accounts);
        const uint64_t peak = first.replay.accounts.heap[heap].peak_time;
        struct mpr_snapshots snapshots = { .at = { { .time = peak / 2 }, { .time = peak } },
                                           .count = 2,
                                           .heap = heap };
        mpr_reader_close(&first);
        replay(&by_place, logs[log], MPR_GROUP_PLACE, MPR_INSTANT_AT(snapshots.at[0].time),
               &snapshots);
        assert_int_equal(snapshots.taken, 2);
        for (size_t by = 0; by < GROUPS; by++)
            for (size_t i = 0; i < 2; i++) {
                struct mpr_reader by_group;
                struct mpr_projection projection;
                replay(&by_group, logs[log], groups[by], MPR_INSTANT_AT(snapshots.at[i].time),
                       NULL);
                mpr_projection_begin(&projection, &by_place.replay, groups[by], &snapshots.at[i]);
                assert_same(&by_place.replay, &by_group.replay, heap);
                mpr_projection_end(&projection, &by_place.replay);
                mpr_reader_close(&by_group);
            }
        mpr_snapshots_free(&snapshots);
        mpr_reader_close(&by_place);
    }
}

/* If a log ends before the instants, both have the state of its end. */
static void snapshots_after_the_end_are_the_end(void **state)
{
    struct mpr_reader by_place;
    struct mpr_snapshots snapshots = { .at = { { .time = UINT64_MAX / 4 },
                                               { .time = UINT64_MAX / 2 } },
                                       .count = 2,
                                       .heap = MPF_HEAP_HOST };
    (void)state;
    replay(&by_place, "h100-spike", MPR_GROUP_PLACE, MPR_INSTANT_AT(snapshots.at[0].time),
           &snapshots);
    assert_int_equal(snapshots.taken, 2);
    for (uint32_t i = 0; i < by_place.replay.accounts.cells; i++) {
        const struct mpr_cell *cell = &by_place.replay.accounts.cell[i];
        if (cell->heap != MPF_HEAP_HOST) continue;
        assert_int_equal(snapshots.at[0].cell[i].bytes, cell->bytes);
        assert_int_equal(snapshots.at[1].cell[i].bytes, cell->bytes);
    }
    mpr_snapshots_free(&snapshots);
    mpr_reader_close(&by_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projected_peaks_are_those_of_the_grouping),
        cmocka_unit_test(own_peaks_are_those_of_the_grouping),
        cmocka_unit_test(snapshots_are_the_chosen_instants),
        cmocka_unit_test(snapshots_after_the_end_are_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
