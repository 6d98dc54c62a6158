/* Random programs, and events in the wrong order, have the same peaks and end after thinning. */
#include <stdbool.h>
#include <stdio.h>

#include "testlog.h"
#include "thin_test.h"

enum { THREADS = 4 };

/* ---- programs */

enum { PLACES = 200, NAMES = 6, REGIONS = 30 };

struct program {
    struct testlog *log;
    uint64_t now, size[PLACES]; /* of live blocks */
    uint32_t depth[THREADS];
    bool region[REGIONS]; /* set if live */
};

static uint64_t address(unsigned place) { return 0x100000 + place * UINT64_C(0x10000); }

static unsigned heap_of(unsigned place)
{
    return place % 3 ? MPF_HEAP_HOST : mpf_heap_gpu(MPF_HEAP_TORCH, 0);
}

static void add_event(struct program *p, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
                      uint64_t size)
{
    testlog_event(p->log, p->now += (uint64_t)rand() % 3 * 400000, thread, op, heap, addr, size);
}

static void make_range(struct program *p, uint32_t thread)
{
    uint32_t *depth = &p->depth[thread - 1];
    if (*depth && rand() % 2) {
        add_event(p, thread, MPF_OP_POP, 0, 0, 0);
        --*depth;
    } else if (*depth < 5) {
        add_event(p, thread, MPF_OP_PUSH, 0, 3 + (uint64_t)rand() % NAMES, 0);
        ++*depth;
    }
}

static void resize(struct program *p, uint32_t thread, unsigned place)
{
    const unsigned to = (unsigned)rand() % PLACES;
    add_event(p, thread, MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, address(place), 0);
    if (to % 3 == 0 || (p->size[to] && to != place)) {
        if (rand() % 50) { /* realloc keeps the address */
            p->size[place] = 1 + (uint64_t)rand() % 5000;
            add_event(p, thread, MPF_OP_MOVE_END, MPF_HEAP_HOST, address(place), p->size[place]);
            return;
        }
        add_event(p, thread, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 1 << 20);
        return;
    }
    p->size[place] = 0;
    p->size[to] = 1 + (uint64_t)rand() % 5000;
    add_event(p, thread, MPF_OP_MOVE_END, MPF_HEAP_HOST, address(to), p->size[to]);
}

/* In some phases more blocks are allocated than freed, in others fewer. */
static void make_block(struct program *p, uint32_t thread, int phase)
{
    const unsigned place = (unsigned)rand() % PLACES;
    if (!p->size[place]) {
        if (rand() % 4 < (phase % 2 ? 1 : 3)) return;
        p->size[place] = 1 + (uint64_t)rand() % 5000;
        add_event(p, thread, MPF_OP_ALLOC, heap_of(place), address(place), p->size[place]);
    } else if (place % 3 && rand() % 4 == 0) resize(p, thread, place);
    else {
        p->size[place] = 0;
        add_event(p, thread, MPF_OP_FREE, heap_of(place), address(place), 0);
    }
}

/* An NVTX region, in a heap or in the process, at an address that blocks also have. */
static void make_region(struct program *p, uint32_t thread)
{
    const unsigned n = (unsigned)rand() % REGIONS;
    const uint64_t at = address(n), size = 1 + (uint64_t)rand() % 5000, in = n % 2 * address(0);
    if (rand() % 30 == 0) {
        add_event(p, thread, MPF_OP_NVTX_HEAP_END, MPF_HEAP_NVTX, in, 1);
        for (unsigned i = n % 2; i < REGIONS; i += 2) p->region[i] = false;
    } else if (!p->region[n]) {
        add_event(p, thread, MPF_OP_NVTX_IN, MPF_HEAP_NVTX, in, 0);
        add_event(p, thread, MPF_OP_ALLOC, MPF_HEAP_NVTX, at, size);
        p->region[n] = true;
    } else if (rand() % 3 == 0) {
        add_event(p, thread, MPF_OP_MOVE_BEGIN, MPF_HEAP_NVTX, at, 0);
        add_event(p, thread, MPF_OP_MOVE_END, MPF_HEAP_NVTX, at, size);
    } else {
        add_event(p, thread, MPF_OP_FREE, MPF_HEAP_NVTX, at, 0);
        p->region[n] = false;
    }
}

static void name(struct program *p)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char text[16];
        const int bytes = snprintf(text, sizeof text, "range %c", 'a' + i);
        testlog_data(p->log, 0, 1, MPF_OP_NAME, 3 + i, text, (uint64_t)bytes);
    }
}

static void make_random(const char *path, int events)
{
    struct program p = { .log = testlog_open(path, NULL) };
    name(&p);
    for (int i = 0; i < events; i++) {
        const uint32_t thread = 1 + (uint32_t)rand() % THREADS;
        if (rand() % 4 == 0) make_range(&p, thread);
        else if (rand() % 16 == 0) make_region(&p, thread);
        else make_block(&p, thread, i / 500);
        if (i % 300 == 299) testlog_flush(p.log);
    }
    testlog_close(p.log, "exit");
}

static void reports_of_random_programs_stay_the_same(void **state)
{
    uint64_t removed = 0;
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        srand(seed);
        make_files();
        make_random(whole_log, 500 + rand() % 6000);
        removed += thin(whole_log, thinned_log, 1 + seed % 3, seed % 2 ? 1 : UINT64_MAX).removed;
        assert_same(whole_log, thinned_log);
        remove_files();
    }
    assert_true(removed > 20000);
}

static void reports_stay_the_same_if_thinned_again(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        make_files();
        make_random(whole_log, 5000);
        char first[] = "/tmp/memprof-first.XXXXXX";
        close(mkstemp(first));
        thin(whole_log, first, 4, UINT64_MAX);
        thin(first, thinned_log, 2, UINT64_MAX);
        assert_same(whole_log, thinned_log);
        thin(thinned_log, first, 1, 1);
        assert_same(whole_log, first);
        unlink(first);
        remove_files();
    }
}

/* ---- order */

/* Threads pass addresses on, and their events are up to 8 us out of order. */
struct event {
    uint64_t time, addr, size;
    unsigned op;
    uint32_t thread;
};

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return a->time < b->time ? -1 : a->time > b->time;
}

enum { ADDRESSES = 12, LIVES = 60 };

static size_t make_lives(struct event *e, uint64_t addr)
{
    uint64_t now = 100000;
    size_t count = 0;
    for (int i = 0; i < LIVES; i++) {
        const uint32_t thread = 1 + (uint32_t)rand() % THREADS;
        now += (uint64_t)rand() % 4 ? (uint64_t)rand() % 4000 : (uint64_t)rand() % 4000000;
        e[count++] = (struct event){ now, addr, 1 + (uint64_t)rand() % 5000, MPF_OP_ALLOC, thread };
        now += (uint64_t)rand() % 4 ? (uint64_t)rand() % 9000 : (uint64_t)rand() % 4000000;
        e[count++] = (struct event){ now, addr, 0, MPF_OP_FREE, 1 + (uint32_t)rand() % THREADS };
    }
    for (size_t i = 0; i < count; i++) e[i].time += (uint64_t)rand() % 16000;
    return count;
}

static void make_disordered(const char *path)
{
    static struct event e[ADDRESSES * LIVES * 2];
    struct testlog *log = testlog_open(path, NULL);
    size_t count = 0;
    for (uint64_t i = 0; i < ADDRESSES; i++) count += make_lives(e + count, 0x1000 + i * 0x10000);
    qsort(e, count, sizeof *e, by_time);
    for (size_t i = 0; i < count; i++)
        testlog_event(log, e[i].time, e[i].thread, e[i].op, MPF_HEAP_HOST, e[i].addr, e[i].size);
    testlog_close(log, "exit");
}

static void events_in_the_wrong_order_are_kept(void **state)
{
    uint64_t removed = 0;
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        srand(seed);
        make_files();
        make_disordered(whole_log);
        removed += thin(whole_log, thinned_log, 1, seed % 2 ? 1 : UINT64_MAX).removed;
        assert_same(whole_log, thinned_log);
        remove_files();
    }
    assert_true(removed > 2000);
}

/* Two frees in the wrong order. Which one was first can be known only from a block that no kept
 * instant has, and that a realloc may use meanwhile. */
static void put_swap(struct testlog *log, uint64_t time, bool moves)
{
    const struct event e[] = {
        { time, 0x1000, 100, MPF_OP_ALLOC, 1 },
        { time + 100000, 0x1000, 0, moves ? MPF_OP_MOVE_BEGIN : MPF_OP_FREE, 2 },
        { time + 100400, 0x1000, 0, MPF_OP_FREE, 1 },
        { time + 100500, 0x1000, 100, MPF_OP_ALLOC, 1 },
        { time + 100600, 0, 0, moves ? MPF_OP_MOVE_END : MPF_OP_THREAD_END, 2 },
    };
    for (size_t i = 0; i < sizeof e / sizeof *e; i++)
        testlog_event(log, e[i].time, e[i].thread, e[i].op, MPF_HEAP_HOST, e[i].addr, e[i].size);
}

static void frees_in_the_wrong_order_are_kept(void **state)
{
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        make_files();
        struct testlog *log = testlog_open(whole_log, NULL);
        for (uint64_t i = 1; i <= 200; i++) {
            testlog_event(log, i * 1000000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x9000,
                          1000 * (i == 5));
            put_swap(log, i * 1000000 + 1000, moves);
            testlog_event(log, i * 1000000 + 500000, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x9000, 0);
        }
        testlog_close(log, "exit");
        assert_true(thin(whole_log, thinned_log, 1, 1).removed > 100);
        assert_same(whole_log, thinned_log);
        remove_files();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_of_random_programs_stay_the_same),
        cmocka_unit_test(reports_stay_the_same_if_thinned_again),
        cmocka_unit_test(events_in_the_wrong_order_are_kept),
        cmocka_unit_test(frees_in_the_wrong_order_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
