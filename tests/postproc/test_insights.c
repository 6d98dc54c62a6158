/* Rules of insights near their borders, and on what no log of a test holds. */
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
    f->log.summary.process.rank = "";
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

/* Rank 1 of a mesh of 2 x 2: it is rank 1 of its row, and 0 of its column. */
static void communicators_of_a_mesh_are_not_doubled(void **state)
{
    struct fixture *f = *state;
    struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "AllReduce", .ranks = 2, .rank = 0, .bytes = 200 * MIB },
    };
    look(f, comm, 2);
    comm[1].rank = UINT64_MAX;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 0);
    comm[1].rank = 1;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].what,
                        "2 communicators of 2 ranks hold 500.00 MiB together, the largest "
                        "300.00 MiB");
}

/* Rank 3 is rank 1 of both; the other ranks' logs tell as much. */
static void communicators_of_a_part_of_the_ranks_are_not_doubled(void **state)
{
    struct fixture *f = *state;
    const struct mpr_comm_row comm[] = {
        { .name = "0x9f", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 300 * MIB },
        { .name = "0xa0", .first_use = "AllReduce", .ranks = 2, .rank = 1, .bytes = 200 * MIB },
    };
    struct mpr_process other = { .summary.process.rank = "2" };
    struct mpr_processes run = { .at = &other, .count = 1 };
    f->log.summary.process.rank = "3";
    look(f, comm, 2);
    f->log.summary.process.rank = "1";
    f->out.family = &run;
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 0);
    other.summary.process.rank = "0";
    look(f, comm, 2);
    assert_int_equal(f->out.findings, 1);
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

static void look_at_graphs(struct fixture *f, bool at_oom, uint64_t pool_free)
{
    const struct mpr_segments segments = { 0 };
    f->state[0].torch_segments = 4096ull * MIB;
    f->state[0].pool_free = pool_free;
    mpr_insights_torch(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                        .state = f->state,
                                                        .segments = &segments,
                                                        .at_oom = { at_oom } });
}

static void what_graphs_pools_keep_free_counts_when_memory_ran_out(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, true, 205 * MIB); /* more than a twentieth */
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "graph_pools_free");
    assert_int_equal(f->out.finding[0].bytes, 205 * MIB);
}

static void what_graphs_pools_keep_free_is_fine_otherwise(void **state)
{
    struct fixture *f = *state;
    look_at_graphs(f, false, 2048ull * MIB);
    look_at_graphs(f, true, 204 * MIB);
    assert_int_equal(f->out.findings, 0);
}

static void pools_of_graphs_that_are_there_together_are_separate(void **state)
{
    struct fixture *f = *state;
    struct mpr_segment_pool pool[] = {
        { .pool = { 0, 1 }, .bytes = 200 * MIB, .graph = true },
        { .pool = { 0, 2 }, .bytes = 150 * MIB, .graph = true },
        { .pool = { 0, 3 }, .bytes = 100 * MIB }, /* its graphs are gone: a default one's now */
        { .bytes = 100 * MIB, .graph = true },    /* nobody knows how many these are */
    };
    struct mpr_segments_device device = { .pool = pool, .pools = 4 };
    const struct mpr_segments segments = { .device = &device, .devices = 1 };
    const struct mpr_evidence e = { .log = &f->log, .state = f->state, .segments = &segments };
    mpr_insights_torch(&f->out, &e);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "graph_pools");
    assert_int_equal(f->out.finding[0].bytes, 150 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "graphs hold 2 memory pools, 350.00 MiB; the largest has 200.00 MiB");
    pool[1].graph = false;
    mpr_insights_torch(&f->out, &e);
    assert_int_equal(f->out.findings, 1);
}

/* Five instances of "step" on one heap, of which the third is the worst; each ends with so many
 * bytes more than the one before. */
static void look_at_steps(struct fixture *f, const char *heap, uint64_t worst, int64_t kept,
                          uint64_t rise)
{
    struct mpr_instance instance[5] = { { .name = "step:1" },
                                        { .name = "step:2" },
                                        { .name = "step:3", .number = 3 } };
    struct mpr_instance_heap of[5] = { [2] = { .peak_bytes = worst, .peak_number = 3 } };
    for (size_t i = 0; i < 5; i++) of[i].end_bytes = 100 * (uint64_t)MIB + i * rise;
    struct mpr_instances_heap whole = { .name = heap, .of = of, .peak_bytes = worst };
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

static void an_instance_that_stands_out_is_named(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "gpu0/torch", 1500 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "instance");
    assert_string_equal(f->out.finding[0].where, "gpu0");
    assert_int_equal(f->out.finding[0].bytes, 500 * MIB);
    assert_string_equal(f->out.finding[0].what, "step:3 of 5 instances peaks at 1.46 GiB of "
                                                "gpu0/torch, 500.00 MiB above the median");
}

static void of_several_in_a_row_the_one_with_the_peak_is_named(void **state)
{
    struct fixture *f = *state;
    const struct mpr_instance_heap of = { .peak_bytes = 500 * MIB, .peak_number = 10002 };
    struct mpr_instance instance = {
        .name = "step:9999", .last = "step:10014", .number = 9999, .count = 16
    };
    struct mpr_instances_heap whole = { .name = "host/heap", .of = &of };
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
    assert_string_equal(f->out.finding[0].what, "step:10002 of 16 instances peaks at 500.00 MiB of "
                                                "host/heap, 500.00 MiB above the median");
    assert_string_equal(f->out.finding[0].fact[0].key, "instance");
    assert_int_equal(f->out.finding[0].fact[0].value, 10002);
}

static void an_instance_below_the_heaps_peak_is_fine(void **state)
{
    struct fixture *f = *state;
    struct mpr_heap_peak peak = { .name = "gpu0/torch", .peak_bytes = 2001 * (uint64_t)MIB };
    f->log.heap = &peak;
    f->log.heaps = 1;
    look_at_steps(f, "gpu0/torch", 2000 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 0);
    peak.peak_bytes = 2000 * (uint64_t)MIB;
    look_at_steps(f, "gpu0/torch", 2000 * (uint64_t)MIB, 0, 0);
    assert_int_equal(f->out.findings, 1);
}

static void what_each_instance_keeps_is_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "growth");
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB); /* by 2 of 5 */
    assert_string_equal(f->out.finding[0].what,
                        "5 instances of step keep 50.00 MiB of host/heap each at the median, "
                        "100.00 MiB in half of them");
}

/* Once is not with each: the optimizer's state. */
static void what_came_once_is_no_growth(void **state)
{
    struct fixture *f = *state;
    struct mpr_instance_heap of[8] = { 0 };
    struct mpr_instances_heap whole = { .name = "gpu0/torch", .of = of, .peak_bytes = 400 * MIB };
    struct mpr_steps_heap h = { .heap = &whole, .median_kept = 50 * MIB };
    const struct mpr_steps steps = { .instances = { .range = "backward",
                                                    .instances = 8,
                                                    .count = 8,
                                                    .each = 1,
                                                    .heap = &whole,
                                                    .heaps = 1 },
                                     .heap = &h };
    for (size_t i = 0; i < 8; i++) of[i].end_bytes = (i < 5 ? 100 : 300) * (uint64_t)MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 0);
    for (size_t i = 0; i < 8; i++) of[i].end_bytes = (100 + i * 25) * (uint64_t)MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
}

/* An entry may stand for several instances. */
static void what_an_instance_keeps_is_told_of_one(void **state)
{
    struct fixture *f = *state;
    struct mpr_instance_heap of[4] = { 0 };
    struct mpr_instances_heap whole = { .name = "host/heap", .of = of, .peak_bytes = 400 * MIB };
    struct mpr_steps_heap h = { .heap = &whole, .median_kept = 100 * MIB };
    const struct mpr_steps steps = { .instances = { .range = "request",
                                                    .instances = 4,
                                                    .count = 400,
                                                    .each = 100,
                                                    .heap = &whole,
                                                    .heaps = 1 },
                                     .heap = &h };
    for (size_t i = 0; i < 4; i++) of[i].end_bytes = i * 100 * MIB;
    mpr_insights_steps(&f->out, &(struct mpr_evidence){ .log = &f->log, .steps = &steps });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "400 instances of request keep 1.00 MiB of host/heap each at the median, "
                        "200.00 MiB in half of them");
}

/* Of a device 64 MiB are worth a finding, of the host a twentieth of its peak; two instances of
 * five are half of them. */
static void what_is_given_back_between_instances_is_no_growth(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 0);
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 24 * MIB);
    look_at_steps(f, "gpu0/torch", 1000 * (uint64_t)MIB, 50 * MIB, 31 * MIB);
    assert_int_equal(f->out.findings, 0);
    look_at_steps(f, "gpu0/torch", 1000 * (uint64_t)MIB, 50 * MIB, 32 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 64 * MIB);
    look_at_steps(f, "host/heap", 1000 * (uint64_t)MIB, 50 * MIB, 25 * MIB);
    assert_int_equal(f->out.findings, 2);
    look_at_steps(f, "host/heap", 40 * (uint64_t)MIB, 2 * MIB, 2 * MIB);
    assert_int_equal(f->out.findings, 3);
}

static void steps_alike_and_segments_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_steps(f, "gpu0/torch", 1000 * (uint64_t)MIB, 10 * MIB, 10 * MIB);
    look_at_steps(f, "gpu0/torch", 1040 * (uint64_t)MIB, -10 * MIB, 0);
    look_at_steps(f, "gpu0/device", 1500 * (uint64_t)MIB, 50 * MIB, 50 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* ---- roles */

static struct mpr_row a_place(uint64_t bytes)
{
    static const char *const path[] = { "loss" };
    return (struct mpr_row){ .path = path, .depth = 1, .bytes = bytes, .blocks = 1 };
}

static void look_at_roles(struct fixture *f, struct mpr_breakdown_heap *h)
{
    struct mpr_breakdown breakdown = { .heap = h, .heaps = 1 };
    h->name = "gpu0/torch";
    mpr_insights_roles(&f->out, &(struct mpr_evidence){ .log = &f->log, .breakdown = &breakdown });
}

/* 1000 MiB at the peak, with so much of the optimizer's state and of parameters. */
static void look_at_state(struct fixture *f, uint64_t state, uint64_t parameters, uint64_t steps)
{
    struct mpr_breakdown_heap h = { .bytes = 1000 * MIB, .steps = steps };
    h.role[MPR_ROLE_OPTIMIZER].bytes = state;
    h.role[MPR_ROLE_PARAMETERS].bytes = parameters;
    look_at_roles(f, &h);
}

static void state_of_the_first_step_is_late(void **state)
{
    struct fixture *f = *state;
    look_at_state(f, 200 * MIB, 100 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "optimizer_state");
    assert_int_equal(f->out.finding[0].bytes, 200 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "the optimizer made 200.00 MiB of state in its step "
                        "at 00:00:00.000: steps after the first need so much "
                        "more");
}

static void small_state_and_that_of_8_bits_are_fine(void **state)
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

static void gradients_beside_their_buckets_are_copies(void **state)
{
    struct fixture *f = *state;
    look_at_buckets(f, 260 * MIB, 160 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "gradient_copies");
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
    look_at_buckets(f, 400 * MIB, 70 * MIB); /* no more than the buckets hold */
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 70 * MIB);
}

static void gradients_in_buckets_or_without_are_fine(void **state)
{
    struct fixture *f = *state;
    look_at_buckets(f, 160 * MIB, 160 * MIB); /* gradient_as_bucket_view is in force */
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

static void a_place_of_many_temporaries_is_told(void **state)
{
    struct fixture *f = *state;
    look_at_temporaries(f, MPR_PHASE_BACKWARD, 100 * MIB, 1);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "temporaries");
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
    assert_string_equal(f->out.finding[0].path[0], "loss");
    assert_string_equal(f->out.finding[0].what,
                        "200.00 MiB of gpu0/torch's 1000.00 MiB were made and gone within a "
                        "backward pass, 100.00 MiB of it in one place");
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

/* ---- malloc */

/* 400 MiB of the process's that no block holds, of which 50 MiB were there at the heap's peak. */
static void look_at_retained(struct fixture *f, uint64_t fallen)
{
    struct mpr_heap_peak heap = { .name = "host/heap", .allocations = 1 };
    f->log.heap = &heap;
    f->log.heaps = 1;
    f->log.summary.unseen_malloc = "";
    mpr_insights_host(&f->out, &(struct mpr_evidence){ .log = &f->log,
                                                       .retained = { .anonymous = 500 * MIB,
                                                                     .live = 90 * MIB,
                                                                     .memprof = 10 * MIB,
                                                                     .others = 50 * MIB,
                                                                     .fallen = fallen } });
}

static void what_was_freed_may_have_been_kept(void **state)
{
    struct fixture *f = *state;
    look_at_retained(f, 1000 * MIB);
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "retention");
    assert_int_equal(f->out.finding[0].bytes, 350 * MIB);
    look_at_retained(f, 200 * MIB);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 200 * MIB);
}

/* The rest is memory that nobody told of: a library's own system calls. */
static void what_was_not_freed_is_not_kept(void **state)
{
    struct fixture *f = *state;
    look_at_retained(f, 0);
    look_at_retained(f, 63 * MIB);
    assert_int_equal(f->out.findings, 0);
}

/* ---- workers */

/* A parent and children of it, of the same command, that hold so much; the log is the first
 * child's. */
enum { CHILDREN = 8 };
static void look_at_children(struct fixture *f, struct mpr_process child, const uint64_t *bytes,
                             size_t children)
{
    static const char *const argv[] = { "python3", "train.py" };
    static const char *const path[] = { "0.zst", "1.zst", "2.zst", "3.zst", "4.zst",
                                        "5.zst", "6.zst", "7.zst", "8.zst" };
    struct mpr_process p[1 + CHILDREN];
    struct mpr_processes all = { .at = p, .count = 1 + children };
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
    p[0] = (struct mpr_process){ .parent = MPR_NO_PROCESS,
                                 .image_of = MPR_NO_PROCESS,
                                 .host.peak_bytes = 10 * MIB,
                                 .summary = { .path = path[0],
                                              .process = { .argv = argv, .argc = 2 } } };
    f->out.family = &all;
    f->log.summary.path = path[1];
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
}

static void look_at_workers(struct fixture *f, struct mpr_process child, const uint64_t bytes[3])
{
    look_at_children(f, child, bytes, 3);
}

/* One that leaks among its like is told, and is none of those that hold as much. */
static void a_worker_above_its_like_is_told(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .image_of = MPR_NO_PROCESS };
    look_at_children(f, child,
                     (uint64_t[]){ 30 * MIB, 31 * MIB, 30 * MIB, 30 * MIB, 45 * MIB, 31 * MIB,
                                   30 * MIB, 30 * MIB },
                     CHILDREN);
    assert_int_equal(f->out.findings, 2);
    assert_string_equal(f->out.finding[0].key, "worker");
    assert_int_equal(f->out.finding[0].bytes, 15 * MIB);
    assert_string_equal(
        f->out.finding[0].what,
        "one of 8 forked workers, pid 105, peaks at 45.00 MiB of host memory, 15.00 "
        "MiB above the median");
    assert_string_equal(f->out.finding[1].what,
                        "7 forked workers hold about as much each, 30.00 MiB to 31.00 MiB of "
                        "host memory, 212.00 MiB in all; their parent holds 10.00 MiB");
}

static void workers_that_hold_as_much_are_copies(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .image_of = MPR_NO_PROCESS };
    look_at_workers(f, child, (uint64_t[]){ 90 * MIB, 100 * MIB, 51 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "workers");
    assert_int_equal(f->out.finding[0].bytes, 141 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "3 forked workers hold about as much each, 51.00 MiB to 100.00 MiB of "
                        "host memory, 241.00 MiB in all; their parent holds 10.00 MiB");
}

/* A pool of two, and another one when that has gone: never more than two held anything. */
static void workers_of_pools_that_follow_each_other_are_not_added(void **state)
{
    struct fixture *f = *state;
    static const char *const argv[] = { "python3", "train.py" };
    static const uint64_t start[] = { 10, 10, 12, 33, 40 };
    struct mpr_process p[5];
    struct mpr_processes all = { .at = p, .count = 5 };
    for (size_t i = 0; i < 5; i++)
        p[i] = (struct mpr_process){
            .parent = i ? 0 : MPR_NO_PROCESS,
            .image_of = MPR_NO_PROCESS,
            .host.peak_bytes = (i < 3 ? 80 : 90) * MIB,
            .summary = { .path = i ? "child.zst" : "main.zst",
                         .duration_ns = i ? 20 : 90,
                         .process = { .argv = argv, .argc = 2, .start_ns = start[i] } }
        };
    f->out.family = &all;
    f->log.summary.path = "main.zst";
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 90 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "2 forked workers at a time hold about as much each, 90.00 MiB of host "
                        "memory, 180.00 MiB in all; their parent holds 80.00 MiB");
}

static void a_small_worker_is_not_one_of_the_large_ones(void **state)
{
    struct fixture *f = *state;
    const struct mpr_process child = { .parent = 0, .image_of = MPR_NO_PROCESS };
    look_at_workers(f, child, (uint64_t[]){ 90 * MIB, 1 * MIB, 100 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 90 * MIB);
}

/* Python's objects lie in mappings; of mappings that are not touched nobody holds anything. */
static void what_workers_map_and_touch_is_theirs(void **state)
{
    struct fixture *f = *state;
    struct mpr_process_heap map = { .name = "host/mmap", .peak_bytes = 80 * MIB, .peak_time = 9 };
    struct mpr_process child = { .image_of = MPR_NO_PROCESS, .heap = &map, .heaps = 1 };
    const uint64_t bytes[] = { 10 * MIB, 10 * MIB, 11 * MIB };
    look_at_workers(f, child, bytes);
    child.summary.alone = 20 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 0);
    child.summary.alone = 90 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 180 * MIB);
    assert_string_equal(f->out.finding[0].heap, "host/mmap");
    assert_int_equal(f->out.finding[0].time, 9);
    child.summary.alone = 0;
    child.summary.anonymous = 90 * MIB;
    look_at_workers(f, child, bytes);
    assert_int_equal(f->out.findings, 2);
    assert_int_equal(f->out.finding[1].bytes, 180 * MIB);
}

/* What a worker has to itself beyond what it made is of its parent. */
static void pages_that_workers_copied_are_told(void **state)
{
    struct fixture *f = *state;
    struct mpr_process child = { .image_of = MPR_NO_PROCESS, .summary.alone = 41 * MIB };
    look_at_workers(f, child, (uint64_t[]){ 1 * MIB, 2 * MIB, 3 * MIB });
    assert_int_equal(f->out.findings, 1);
    assert_string_equal(f->out.finding[0].key, "copied_pages");
    assert_int_equal(f->out.finding[0].bytes, 117 * MIB);
    assert_string_equal(f->out.finding[0].what,
                        "3 forked workers copied pages of their parent's by writing to them, "
                        "38.00 MiB to 40.00 MiB each, 117.00 MiB in all; their parent holds "
                        "10.00 MiB");
    child.summary.alone = 20 * MIB;
    look_at_workers(f, child, (uint64_t[]){ 1 * MIB, 2 * MIB, 3 * MIB });
    assert_int_equal(f->out.findings, 1);
}

/* Who uses a fork server is not their parent: that one executed another command. */
static void workers_of_a_fork_server_are_told(void **state)
{
    struct fixture *f = *state;
    static const char *const main_argv[] = { "train.py" }, *const server_argv[] = { "server.py" };
    struct mpr_process p[4];
    struct mpr_processes all = { .at = p, .count = 4 };
    for (size_t i = 0; i < 4; i++)
        p[i] = (struct mpr_process){ .parent = i > 1 ? 1 : i - 1,
                                     .image_of = MPR_NO_PROCESS,
                                     .host.peak_bytes = i > 1 ? 100 * MIB : MIB,
                                     .summary = { .path = i ? "child.zst" : "main.zst",
                                                  .process = { .argv = i ? server_argv : main_argv,
                                                               .argc = 1 } } };
    f->out.family = &all;
    f->log.summary.path = "main.zst";
    mpr_insights_family(&f->out, &(struct mpr_evidence){ .log = &f->log });
    assert_int_equal(f->out.findings, 1);
    assert_int_equal(f->out.finding[0].bytes, 100 * MIB);
}

static void workers_that_differ_and_other_children_are_fine(void **state)
{
    struct fixture *f = *state;
    static const char *const other[] = { "python3", "serve.py" };
    const struct mpr_process child = { .parent = 0, .image_of = MPR_NO_PROCESS },
                             executed = { .parent = 0, .image_of = 1 };
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
        cmocka_unit_test_setup_teardown(communicators_without_a_collective_are_idle, begin, end),
        cmocka_unit_test_setup_teardown(communicators_over_all_ranks_are_doubled, begin, end),
        cmocka_unit_test_setup_teardown(communicators_of_a_mesh_are_not_doubled, begin, end),
        cmocka_unit_test_setup_teardown(communicators_of_a_part_of_the_ranks_are_not_doubled, begin,
                                        end),
        cmocka_unit_test_setup_teardown(small_or_different_communicators_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(what_graphs_pools_keep_free_counts_when_memory_ran_out,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_graphs_pools_keep_free_is_fine_otherwise, begin, end),
        cmocka_unit_test_setup_teardown(pools_of_graphs_that_are_there_together_are_separate, begin,
                                        end),
        cmocka_unit_test_setup_teardown(an_instance_that_stands_out_is_named, begin, end),
        cmocka_unit_test_setup_teardown(of_several_in_a_row_the_one_with_the_peak_is_named, begin,
                                        end),
        cmocka_unit_test_setup_teardown(an_instance_below_the_heaps_peak_is_fine, begin, end),
        cmocka_unit_test_setup_teardown(what_each_instance_keeps_is_growth, begin, end),
        cmocka_unit_test_setup_teardown(what_an_instance_keeps_is_told_of_one, begin, end),
        cmocka_unit_test_setup_teardown(what_came_once_is_no_growth, begin, end),
        cmocka_unit_test_setup_teardown(what_is_given_back_between_instances_is_no_growth, begin,
                                        end),
        cmocka_unit_test_setup_teardown(steps_alike_and_segments_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(state_of_the_first_step_is_late, begin, end),
        cmocka_unit_test_setup_teardown(small_state_and_that_of_8_bits_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(gradients_beside_their_buckets_are_copies, begin, end),
        cmocka_unit_test_setup_teardown(gradients_in_buckets_or_without_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(a_place_of_many_temporaries_is_told, begin, end),
        cmocka_unit_test_setup_teardown(few_temporaries_and_those_outside_of_passes_are_fine, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_was_freed_may_have_been_kept, begin, end),
        cmocka_unit_test_setup_teardown(what_was_not_freed_is_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_worker_above_its_like_is_told, begin, end),
        cmocka_unit_test_setup_teardown(workers_that_hold_as_much_are_copies, begin, end),
        cmocka_unit_test_setup_teardown(workers_of_pools_that_follow_each_other_are_not_added,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_small_worker_is_not_one_of_the_large_ones, begin, end),
        cmocka_unit_test_setup_teardown(what_workers_map_and_touch_is_theirs, begin, end),
        cmocka_unit_test_setup_teardown(pages_that_workers_copied_are_told, begin, end),
        cmocka_unit_test_setup_teardown(workers_of_a_fork_server_are_told, begin, end),
        cmocka_unit_test_setup_teardown(workers_that_differ_and_other_children_are_fine, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
