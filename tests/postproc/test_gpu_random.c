/* Replay of random device events has the same results as a simple model that keeps every block in a
 * list. */
#include "gpu_test.h"

/* ---- random traces and the model */

enum { PLACES = 40, STEPS = 4000, MODEL_HEAPS = 5 };

struct model_block {
    uint64_t bytes;
    unsigned heap;
};
static struct model_block model[PLACES], model_torch[PLACES];
static uint64_t model_largest[256], best_device, best_torch;

static uint64_t model_sum(unsigned code)
{
    uint64_t sum = 0;
    for (int i = 0; i < PLACES; i++) {
        if (model[i].heap == code) sum += model[i].bytes;
        if (model_torch[i].heap == code) sum += model_torch[i].bytes;
    }
    return sum;
}

static const unsigned model_heaps[MODEL_HEAPS] = { MPF_HEAP_DEVICE, MPF_HEAP_POOL, MPF_HEAP_MANAGED,
                                                   MPF_HEAP_PINNED, MPF_HEAP_TORCH };

static void check(void)
{
    for (int i = 0; i < MODEL_HEAPS; i++) {
        const unsigned code = model_heaps[i];
        const uint64_t sum = model_sum(code);
        if (sum > model_largest[code]) model_largest[code] = sum;
        assert_int_equal(heap(code)->bytes, sum);
        assert_int_equal(heap(code)->peak_bytes, model_largest[code]);
    }
    const uint64_t tracked = model_sum(MPF_HEAP_DEVICE), torch = model_sum(MPF_HEAP_TORCH);
    if (tracked > best_device || (tracked == best_device && torch > best_torch)) {
        best_device = tracked;
        best_torch = torch;
    }
}

static void change_driver(int i, uint64_t size)
{
    const unsigned code = model_heaps[rand() % 4];
    const uint64_t addr = A + (uint64_t)i * 64 * MIB;
    const uint32_t thread = 1 + (uint32_t)rand() % 3;
    if (!model[i].bytes) {
        event(thread, MPF_OP_ALLOC, code, addr, size);
        model[i] = (struct model_block){ size, code };
        return;
    }
    event(thread, MPF_OP_MOVE_BEGIN, D, addr, 0);
    check();
    if (rand() % 8 == 0) {
        event(thread, MPF_OP_FAIL, D, 1, 0);
        return;
    }
    event(thread, MPF_OP_MOVE_END, D, 0, 0);
    model[i] = (struct model_block){ 0 };
}

static void change_torch(int i, uint64_t size)
{
    const uint64_t addr = A + (uint64_t)i * 64 * MIB;
    if (model_torch[i].bytes) event(1, MPF_OP_FREE, T, addr, 0);
    else event(1, MPF_OP_ALLOC, T, addr, size);
    model_torch[i] = model_torch[i].bytes ? (struct model_block){ 0 }
                                          : (struct model_block){ size, MPF_HEAP_TORCH };
}

static uint64_t picture_sum(const struct mpr_gpu_block *b, size_t count, unsigned code)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (b[i].heap == code) sum += b[i].size;
        if (i) assert_true(b[i - 1].addr < b[i].addr);
    }
    return sum;
}

static void random_traces_agree_with_the_model(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        memset(model, 0, sizeof model);
        memset(model_torch, 0, sizeof model_torch);
        memset(model_largest, 0, sizeof model_largest);
        best_device = best_torch = 0;
        begin();
        for (int step = 0; step < STEPS; step++) {
            const uint64_t size = 1 + (uint64_t)rand() % (8 * MIB);
            if (rand() % 2) change_driver(rand() % PLACES, size);
            else change_torch(rand() % PLACES, size);
            check();
        }
        end();
        assert_int_equal(device()->best.used, best_device);
        assert_int_equal(device()->best.torch, best_torch);
        const struct mpr_device_snapshot *p = &device()->peak;
        assert_int_equal(p->tracked, best_device);
        assert_int_equal(picture_sum(p->driver, p->drivers, D), best_device);
        assert_int_equal(picture_sum(p->torch, p->torches, T), best_torch);
        mpr_replay_free(&replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
