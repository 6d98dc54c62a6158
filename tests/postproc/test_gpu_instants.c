/* Snapshots at instants that are spread over a run are the same as those of a replay up to each
 * instant. There are never more than requested, and some are always kept. */
#include "gpu.h"
#include "gpu_test.h"

enum { PLACES = 24, STEPS = 3000, MOST = 16, GRAPHS = MOST / 4 };
enum { ROOM = MOST + 1 + MPF_GPUS };

/* times of the newest run: when a graph was captured, and the peak of PyTorch */
static uint64_t captured[GRAPHS], torch_peak;

static uint64_t place(int i) { return A + (uint64_t)i * 64 * MIB; }

/* Memory with a handle, which may exist without an address. */
static void change_handle(bool *made, int i)
{
    const uint64_t handle = 100 + (uint64_t)i, at = place(PLACES + i);
    if (!*made) {
        event(1, MPF_OP_HANDLE_NEW, D, handle, 2 * MIB);
        WORDS(1, MPF_OP_HANDLE_MAP, 0, handle, at, 2 * MIB, 0);
    } else {
        event(1, MPF_OP_HANDLE_UNMAP, 0, at, 2 * MIB);
        event(1, MPF_OP_HANDLE_DROP, 0, handle, 0);
    }
    *made = !*made;
}

static void change_driver(bool *made, int i)
{
    if (*made) driver_free(1, place(i));
    else alloc(D, place(i), (1 + (uint64_t)rand() % 8) * MIB);
    *made = !*made;
}

static void change_torch(bool *made, int i)
{
    if (*made) event(1, MPF_OP_FREE, T, place(i), 0);
    else alloc(T, place(i), 1 + (uint64_t)rand() % (8 * MIB));
    *made = !*made;
}

static void capture(int graph)
{
    event(1, MPF_OP_CAPTURE_BEGIN, 0, 0x5, 0);
    event(1, MPF_OP_CAPTURE_END, 0, 0x5, 0);
    captured[graph] = replay.now;
}

static void note_torch(void)
{
    static uint64_t max_bytes;
    if (!torch_peak) max_bytes = 0;
    if (heap(T)->bytes <= max_bytes) return;
    max_bytes = heap(T)->bytes;
    torch_peak = replay.now;
}

static void run(unsigned seed)
{
    bool driver[PLACES] = { 0 }, torch[PLACES] = { 0 }, handle[PLACES] = { 0 };
    torch_peak = 0;
    srand(seed);
    WORDS(1, MPF_OP_GPU_DEVICE, D, 0, 0);
    for (int step = 0; step < STEPS; step++) {
        const int i = rand() % PLACES;
        switch (rand() % 4) {
        case 0: change_driver(&driver[i], i); break;
        case 1: change_handle(&handle[i], i); break;
        case 2: now += 1000000 * (uint64_t)(rand() % 5); break;
        default: change_torch(&torch[i], i); break;
        }
        if (step % (STEPS / GRAPHS) == 7) capture(step / (STEPS / GRAPHS));
        note_torch();
    }
}

static void same_blocks(const struct mpr_gpu_block *a, size_t as, const struct mpr_gpu_block *b,
                        size_t bs)
{
    assert_int_equal(as, bs);
    for (size_t i = 0; i < as; i++) {
        assert_int_equal(a[i].addr, b[i].addr);
        assert_int_equal(a[i].size, b[i].size);
        assert_int_equal(a[i].birth, b[i].birth);
        assert_int_equal(a[i].asleep, b[i].asleep);
    }
}

/* Compares a snapshot with that of a replay up to its instant. */
static void check_picture(unsigned seed, const struct mpr_device_snapshot *p)
{
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_AT(p->time) });
    run(seed);
    mpr_replay_finish(&replay);
    const struct mpr_device_snapshot *expected = &device()->peak;
    assert_int_equal(p->time, expected->time);
    assert_int_equal(p->tracked, expected->tracked);
    same_blocks(p->driver, p->drivers, expected->driver, expected->drivers);
    same_blocks(p->torch, p->torches, expected->torch, expected->torches);
    mpr_replay_free(&replay);
}

static struct mpr_device_snapshots *run_with_instants(unsigned seed)
{
    struct mpr_device_snapshots *in = mpr_device_snapshots_new(MOST, 0, UINT64_MAX);
    begin();
    replay.gpu.instants = in;
    run(seed);
    mpr_replay_finish(&replay);
    mpr_device_snapshots_finish(in, &replay);
    return in;
}

static void each_snapshot_is_that_of_a_replay_to_its_instant(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++) {
        struct mpr_device_snapshots *in = run_with_instants(seed);
        struct mpr_device_snapshot snapshot[ROOM];
        const size_t count = mpr_device_snapshots_count(in);
        assert_in_range(count, MOST / 2, MOST + 2);
        for (size_t i = 0; i < count; i++) {
            snapshot[i] = mpr_device_snapshots_get(in, i, 0, &replay);
            assert_true(snapshot[i].valid);
            assert_true(!i || snapshot[i].time > snapshot[i - 1].time);
            assert_true(mpr_device_snapshots_since(in, i) < snapshot[i].time);
        }
        mpr_device_snapshots_free(in);
        mpr_replay_free(&replay);
        for (size_t i = 0; i < count; i++) {
            check_picture(seed, &snapshot[i]);
            mpr_device_snapshot_free(&snapshot[i]);
        }
    }
}

static bool is_kept(const struct mpr_device_snapshots *in, uint64_t since)
{
    for (size_t i = 0; i < mpr_device_snapshots_count(in); i++)
        if (mpr_device_snapshots_since(in, i) == since) return true;
    return false;
}

static void graphs_and_the_peak_of_PyTorch_stay(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++) {
        struct mpr_device_snapshots *in = run_with_instants(seed);
        assert_true(is_kept(in, torch_peak));
        for (int i = 0; i < GRAPHS; i++) assert_true(is_kept(in, captured[i]));
        mpr_device_snapshots_free(in);
        mpr_replay_free(&replay);
    }
}

/* At least half as many as fit are kept. The gaps between spread instants are equal. */
static void instants_are_spread_over_the_run(void **state)
{
    (void)state;
    struct mpr_device_snapshots *in = run_with_instants(3);
    const size_t count = mpr_device_snapshots_count(in);
    uint64_t longest = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        struct mpr_device_snapshot p = mpr_device_snapshots_get(in, i, 0, &replay);
        if (i && p.time - last > longest) longest = p.time - last;
        last = p.time;
        mpr_device_snapshot_free(&p);
    }
    assert_true(longest < now / (MOST / 4));
    mpr_device_snapshots_free(in);
    mpr_replay_free(&replay);
}

/* A run that is idle for a long time and busy for a short time at its end, like warm-up and
 * training. */
static void long_idle_times_keep_their_share_of_instants(void **state)
{
    enum { SLOW = 100, BUSY = 2000 };
    const uint64_t apart = UINT64_C(10000000000);
    (void)state;
    struct mpr_device_snapshots *in = mpr_device_snapshots_new(MOST, 0, UINT64_MAX);
    begin();
    replay.gpu.instants = in;
    WORDS(1, MPF_OP_GPU_DEVICE, D, 0, 0);
    for (int i = 0; i < SLOW + BUSY; i++) {
        bool made = i % 2;
        if (i < SLOW) now += apart;
        change_driver(&made, 0);
    }
    mpr_replay_finish(&replay);
    mpr_device_snapshots_finish(in, &replay);
    uint64_t last = 0;
    for (size_t i = 0; i < mpr_device_snapshots_count(in); i++) {
        struct mpr_device_snapshot p = mpr_device_snapshots_get(in, i, 0, &replay);
        assert_true(!i || p.time - last < SLOW * apart / (MOST / 4));
        last = p.time;
        mpr_device_snapshot_free(&p);
    }
    mpr_device_snapshots_free(in);
    mpr_replay_free(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_snapshot_is_that_of_a_replay_to_its_instant),
        cmocka_unit_test(graphs_and_the_peak_of_PyTorch_stay),
        cmocka_unit_test(instants_are_spread_over_the_run),
        cmocka_unit_test(long_idle_times_keep_their_share_of_instants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
