/* A thinned log says at its peaks, at failures and at the end what the whole one said, whatever is
 * thinned and however often; and of instances of a range their peaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folded.h"
#include "frames.h"
#include "hash.h"
#include "log.h"
#include "map.h"
#include "reader.h"
#include "testlog.h"
#include "thin.h"

static char whole[] = "/tmp/memprof-whole.XXXXXX", thinned[] = "/tmp/memprof-thin.XXXXXX";

static void make_files(void)
{
    strcpy(whole + strlen(whole) - 6, "XXXXXX");
    strcpy(thinned + strlen(thinned) - 6, "XXXXXX");
    close(mkstemp(whole));
    close(mkstemp(thinned));
}

static void remove_files(void)
{
    unlink(whole);
    unlink(thinned);
}

/* ---- thinning: what `compact` and `recover` do, in one */

static void put(int fd, const void *bytes, size_t count)
{
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
}

static void put_fold(int to, int from, const struct mpr_thinned *t, uint64_t seq)
{
    uint8_t mark_bytes[MPR_MARK_BYTES], *frames = malloc(t->bytes + 1);
    const struct mpr_mark mark = { seq, 0, t->until, t->removed, t->grain };
    const long length = mpr_mark_write(&mark, t->frames, mark_bytes);
    assert_true(length > 0);
    put(to, mark_bytes, (size_t)length);
    assert_int_equal(pread(from, frames, t->bytes, 0), (ssize_t)t->bytes);
    put(to, frames, t->bytes);
    free(frames);
}

/* `from` up to the share-th part of its frames of events (1: all), and the rest as it is. */
static struct mpr_thinned thin(const char *from, const char *to, unsigned share, uint64_t budget)
{
    struct mpr_map map = { 0 };
    struct mpr_frames frames;
    struct mpf_frame frame;
    struct mpr_error error;
    struct mpr_thinned out;
    uint64_t seq[256];
    size_t end[256], header = 0, count = 0;
    char part[] = "/tmp/memprof-part.XXXXXX";
    const int fd = open(to, O_WRONLY | O_TRUNC), scratch = mkstemp(part);
    unlink(part);
    assert_int_equal(mpr_map_open(&map, from, &error), 0);
    assert_int_equal(mpr_frames_open(&frames, &map), 0);
    while (mpr_frames_next(&frames, &frame) == 1) {
        if (frame.kind == MPF_FRAME_HEADER) header = frames.at;
        if (frame.kind != MPF_FRAME_EVENTS || count == 256) continue;
        seq[count] = frame.seq;
        end[count++] = frames.at;
    }
    assert_true(count > 0);
    const size_t last = (count + share - 1) / share - 1;
    if (mpr_thin(from, seq[last], budget, scratch, &out, &error) != 0) fail_msg("%s", error.text);
    put(fd, map.data, header);
    put_fold(fd, scratch, &out, seq[last]);
    put(fd, map.data + end[last], map.size - end[last]);
    mpr_frames_close(&frames);
    mpr_map_close(&map);
    close(scratch);
    close(fd);
    return out;
}

/* ---- what a log says */

static void read_log(struct mpr_reader *reader, const char *path, enum mpr_group by)
{
    static const struct mpr_progress none;
    struct mpr_error error;
    if (mpr_reader_run(reader, path, by, MPR_INSTANT_PEAK, &none, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(mpr_log_status(reader->log)->missing_frames, 0);
    assert_int_equal(mpr_log_status(reader->log)->damaged, 0);
}

static uint64_t hash_of_path(const struct mpr_replay *r, uint64_t node)
{
    uint64_t hash = 1;
    for (; node; node = r->ranges.node[node].parent) {
        size_t bytes;
        const char *name = mpr_texts_get(&r->ranges.names, r->ranges.node[node].name, &bytes);
        for (size_t i = 0; name && i < bytes; i++) hash = mpr_hash(hash + (uint8_t)name[i]);
        hash = mpr_hash(hash + r->ranges.node[node].domain);
    }
    return hash;
}

/* Of who has what, at the heap's peak and at the end: the same for the same, in any order. */
static uint64_t print_of(const struct mpr_replay *r, uint8_t heap)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        const uint64_t bytes = mpr_books_bytes_at_peak(&r->books, cell);
        if (cell->heap != heap || (!bytes && !cell->bytes)) continue;
        const uint64_t who =
            r->options.by == MPR_GROUP_THREAD ? cell->key : hash_of_path(r, cell->key);
        sum += mpr_hash(who + mpr_hash(bytes + mpr_hash(cell->bytes + mpr_hash(cell->blocks))));
    }
    return sum;
}

static void assert_same_by(const char *a, const char *b, enum mpr_group by)
{
    struct mpr_reader was, is;
    read_log(&was, a, by);
    read_log(&is, b, by);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *x = &was.replay.books.heap[i], *y = &is.replay.books.heap[i];
        assert_int_equal(x->peak_bytes, y->peak_bytes);
        assert_int_equal(x->peak_blocks, y->peak_blocks);
        assert_int_equal(x->peak_time, y->peak_time);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->blocks, y->blocks);
        assert_int_equal(x->allocations, y->allocations);
        assert_int_equal(x->frees, y->frees);
        assert_int_equal(x->failures, y->failures);
        assert_int_equal(x->unmatched, y->unmatched);
        if (by != MPR_GROUP_STACK) /* whose numbers are the log's */
            assert_int_equal(print_of(&was.replay, (uint8_t)i), print_of(&is.replay, (uint8_t)i));
    }
    mpr_reader_close(&was);
    mpr_reader_close(&is);
}

static void assert_same(const char *a, const char *b)
{
    assert_same_by(a, b, MPR_GROUP_RANGE);
    assert_same_by(a, b, MPR_GROUP_THREAD);
    assert_same_by(a, b, MPR_GROUP_STACK);
}

/* ---- random programs */

enum { PLACES = 200, THREADS = 4, NAMES = 6, REGIONS = 30 };

struct program {
    struct testlog *log;
    uint64_t now, size[PLACES]; /* of what is live */
    uint32_t depth[THREADS];
    bool region[REGIONS]; /* is live */
};

static uint64_t address(unsigned place) { return 0x100000 + place * UINT64_C(0x10000); }

static unsigned heap_of(unsigned place)
{
    return place % 3 ? MPF_HEAP_HOST : mpf_heap_gpu(MPF_HEAP_TORCH, 0);
}

static void happen(struct program *p, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
                   uint64_t size)
{
    testlog_event(p->log, p->now += (uint64_t)rand() % 3 * 400000, thread, op, heap, addr, size);
}

static void make_range(struct program *p, uint32_t thread)
{
    uint32_t *depth = &p->depth[thread - 1];
    if (*depth && rand() % 2) {
        happen(p, thread, MPF_OP_POP, 0, 0, 0);
        --*depth;
    } else if (*depth < 5) {
        happen(p, thread, MPF_OP_PUSH, 0, 3 + (uint64_t)rand() % NAMES, 0);
        ++*depth;
    }
}

static void resize(struct program *p, uint32_t thread, unsigned place)
{
    const unsigned to = (unsigned)rand() % PLACES;
    happen(p, thread, MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, address(place), 0);
    if (to % 3 == 0 || (p->size[to] && to != place)) {
        if (rand() % 50) { /* it stays where it is */
            p->size[place] = 1 + (uint64_t)rand() % 5000;
            happen(p, thread, MPF_OP_MOVE_END, MPF_HEAP_HOST, address(place), p->size[place]);
            return;
        }
        happen(p, thread, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 1 << 20);
        return;
    }
    p->size[place] = 0;
    p->size[to] = 1 + (uint64_t)rand() % 5000;
    happen(p, thread, MPF_OP_MOVE_END, MPF_HEAP_HOST, address(to), p->size[to]);
}

/* Now and then more is made than freed, and the other way round. */
static void make_block(struct program *p, uint32_t thread, int phase)
{
    const unsigned place = (unsigned)rand() % PLACES;
    if (!p->size[place]) {
        if (rand() % 4 < (phase % 2 ? 1 : 3)) return;
        p->size[place] = 1 + (uint64_t)rand() % 5000;
        happen(p, thread, MPF_OP_ALLOC, heap_of(place), address(place), p->size[place]);
    } else if (place % 3 && rand() % 4 == 0) resize(p, thread, place);
    else {
        p->size[place] = 0;
        happen(p, thread, MPF_OP_FREE, heap_of(place), address(place), 0);
    }
}

/* What a library tells NVTX of, at addresses that blocks have, too: in a heap or in the process. */
static void make_region(struct program *p, uint32_t thread)
{
    const unsigned n = (unsigned)rand() % REGIONS;
    const uint64_t at = address(n), size = 1 + (uint64_t)rand() % 5000, in = n % 2 * address(0);
    if (rand() % 30 == 0) {
        happen(p, thread, MPF_OP_NVTX_HEAP_END, MPF_HEAP_NVTX, in, 1);
        for (unsigned i = n % 2; i < REGIONS; i += 2) p->region[i] = false;
    } else if (!p->region[n]) {
        happen(p, thread, MPF_OP_NVTX_IN, MPF_HEAP_NVTX, in, 0);
        happen(p, thread, MPF_OP_ALLOC, MPF_HEAP_NVTX, at, size);
        p->region[n] = true;
    } else if (rand() % 3 == 0) {
        happen(p, thread, MPF_OP_MOVE_BEGIN, MPF_HEAP_NVTX, at, 0);
        happen(p, thread, MPF_OP_MOVE_END, MPF_HEAP_NVTX, at, size);
    } else {
        happen(p, thread, MPF_OP_FREE, MPF_HEAP_NVTX, at, 0);
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

static void random_programs_keep_what_they_said(void **state)
{
    uint64_t removed = 0;
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        srand(seed);
        make_files();
        make_random(whole, 500 + rand() % 6000);
        removed += thin(whole, thinned, 1 + seed % 3, seed % 2 ? 1 : UINT64_MAX).removed;
        assert_same(whole, thinned);
        remove_files();
    }
    assert_true(removed > 20000);
}

static void thinned_again_they_still_do(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        make_files();
        make_random(whole, 5000);
        char first[] = "/tmp/memprof-first.XXXXXX";
        close(mkstemp(first));
        thin(whole, first, 4, UINT64_MAX);
        thin(first, thinned, 2, UINT64_MAX);
        assert_same(whole, thinned);
        thin(thinned, first, 1, 1);
        assert_same(whole, first);
        unlink(first);
        remove_files();
    }
}

static void golden_logs_keep_what_they_said(void **state)
{
    static const char *const name[] = { "h100-spike",      "h100-gpt2",  "h100-sleep",
                                        "h200-graphs-oom", "h200-walk",  "python-leak",
                                        "h200-nccl-rank0", "host-large", "host-folded",
                                        "nvtx-pools" };
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, name[i]);
        make_files();
        thin(path, thinned, 1, 1);
        assert_same(path, thinned);
        remove_files();
    }
}

/* ---- steps */

/* In step n a block of n KiB comes and goes, and 8 bytes stay. */
enum { STEPS = 40 };
static void make_steps(const char *path)
{
    struct program p = { .log = testlog_open(path, NULL) };
    testlog_data(p.log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint64_t i = 1; i <= STEPS; i++) {
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 20, i << 10);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 + i * 16, 8);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 20, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        testlog_flush(p.log);
    }
    testlog_close(p.log, "exit");
}

/* The largest state of host/heap since the range before. */
struct steps {
    struct mpr_highs highs;
    uint64_t peak[STEPS + 1], steps;
};

static void see_step(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct steps *s = arg;
    (void)r;
    (void)t;
    if (e->op == MPF_OP_POP) s->peak[s->steps++] = s->highs.heap[MPF_HEAP_HOST].bytes;
    if (e->op == MPF_OP_PUSH) s->highs.heap[MPF_HEAP_HOST].bytes = 0;
}

static void instances_keep_their_peaks(void **state)
{
    static const struct mpr_progress none;
    struct mpr_reader reader;
    struct mpr_error error;
    struct steps s = { 0 };
    (void)state;
    make_files();
    make_steps(whole);
    const struct mpr_thinned out = thin(whole, thinned, 1, 1);
    assert_true(out.removed >= STEPS);
    assert_same(whole, thinned);
    assert_int_equal(mpr_reader_open(&reader, thinned, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &error),
                     0);
    reader.replay.books.highs = &s.highs;
    reader.replay.watch = (struct mpr_watch){ see_step, &s };
    assert_int_equal(mpr_reader_replay(&reader, thinned, &none, &error), 0);
    assert_int_equal(s.steps, STEPS);
    for (uint64_t i = 1; i <= STEPS; i++) assert_int_equal(s.peak[i - 1], (i << 10) + 8 * i);
    mpr_reader_close(&reader);
    remove_files();
}

/* ---- what only some logs have */

static uint64_t count_events(const char *path, int op)
{
    const struct mpf_event *events;
    struct mpr_error error;
    struct mpr_log *log;
    uint64_t found = 0;
    long count;
    if (mpr_log_open(&log, path, &error) != 0) fail_msg("%s", error.text);
    while ((count = mpr_log_next(log, &events, &error)) > 0)
        for (long i = 0; i < count; i++) found += op < 0 || events[i].op == op;
    assert_int_equal(count, 0);
    mpr_log_close(log);
    return found;
}

static void what_is_gone_is_counted(void **state)
{
    static const char *const name[] = { "h100-spike", "h200-autograd", "h200-pytorch" };
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.zst", GOLDEN, name[i]);
        make_files();
        const uint64_t removed = thin(path, thinned, 1, 1).removed;
        assert_true(removed > 0);
        const uint64_t left = count_events(thinned, -1) - count_events(thinned, MPF_OP_FOLDED);
        assert_int_equal(count_events(path, -1) - left, removed);
        remove_files();
    }
}

/* A mark's payload is the mark's, whatever range was closed before it. */
static void marks_keep_their_payloads(void **state)
{
    struct program p = { .log = NULL };
    (void)state;
    make_files();
    p.log = testlog_open(whole, NULL);
    testlog_data(p.log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint64_t i = 1; i <= 100; i++) {
        happen(&p, 1, MPF_OP_PUSH, 0, 3, 0);
        happen(&p, 1, MPF_OP_PUSH, 0, 4, 0);
        happen(&p, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 100 * (i == 50) + 8);
        happen(&p, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
        happen(&p, 1, MPF_OP_POP, 0, 0, 0);
        happen(&p, 1, MPF_OP_MARK, 0, 3, 0);
        testlog_data(p.log, p.now, 1, MPF_OP_RANGE_DATA, 7, &i, sizeof i);
        happen(&p, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(p.log, "exit");
    assert_true(thin(whole, thinned, 1, 1).removed > 100);
    assert_int_equal(count_events(thinned, MPF_OP_MARK), 100);
    assert_int_equal(count_events(thinned, MPF_OP_RANGE_DATA), 100);
    remove_files();
}

/* Threads hand addresses on, and their events are up to 8 us off. */
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

static void what_was_seen_in_the_wrong_order_stays(void **state)
{
    uint64_t removed = 0;
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        srand(seed);
        make_files();
        make_disordered(whole);
        removed += thin(whole, thinned, 1, seed % 2 ? 1 : UINT64_MAX).removed;
        assert_same(whole, thinned);
        remove_files();
    }
    assert_true(removed > 2000);
}

/* Two frees that changed places: which ones tells a block that is at no instant of note, and that a
 * realloc may work on meanwhile. */
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

static void frees_that_changed_places_stay(void **state)
{
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        make_files();
        struct testlog *log = testlog_open(whole, NULL);
        for (uint64_t i = 1; i <= 200; i++) {
            testlog_event(log, i * 1000000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x9000,
                          1000 * (i == 5));
            put_swap(log, i * 1000000 + 1000, moves);
            testlog_event(log, i * 1000000 + 500000, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x9000, 0);
        }
        testlog_close(log, "exit");
        assert_true(thin(whole, thinned, 1, 1).removed > 100);
        assert_same(whole, thinned);
        remove_files();
    }
}

/* Of more instances than are measured the later ones go as others do. */
static void there_may_be_many_instances(void **state)
{
    enum { MANY = (1 << 17) + 200000 };
    struct program p = { .log = NULL };
    (void)state;
    make_files();
    p.log = testlog_open(whole, NULL);
    testlog_data(p.log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    testlog_data(p.log, 0, 1, MPF_OP_NAME, 4, "layer", 5);
    for (uint64_t i = 1; i <= MANY; i++) {
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_PUSH, 0, 4, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 64);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_POP, 0, 0, 0);
        if (i % 8000 == 0) testlog_flush(p.log);
    }
    testlog_close(p.log, "exit");
    thin(whole, thinned, 1, UINT64_MAX);
    assert_same(whole, thinned);
    assert_true(count_events(thinned, MPF_OP_PUSH) < (1 << 17) + 120000);
    remove_files();
}

/* A range that its thread leaves open is closed by the thread's end, and others are measured. */
static void threads_end_inside_their_ranges(void **state)
{
    static const struct mpr_progress none;
    struct mpr_reader reader;
    struct mpr_error error;
    struct steps s = { 0 };
    struct program p = { .log = NULL };
    (void)state;
    make_files();
    p.log = testlog_open(whole, NULL);
    testlog_data(p.log, 0, 1, MPF_OP_NAME, 3, "step", 4);
    for (uint32_t thread = 2; thread < 202; thread++) {
        testlog_event(p.log, p.now += 1000, thread, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(p.log, p.now += 1000, thread, MPF_OP_ALLOC, MPF_HEAP_HOST, thread << 20, 64);
        testlog_event(p.log, p.now += 1000, thread, MPF_OP_FREE, MPF_HEAP_HOST, thread << 20, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_THREAD_END, 0, thread, 0);
    }
    for (uint64_t i = 1; i <= STEPS; i++) {
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_PUSH, 0, 3, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 20, i << 10);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 20, 0);
        testlog_event(p.log, p.now += 1000, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(p.log, "exit");
    thin(whole, thinned, 1, 1);
    assert_same(whole, thinned);
    assert_int_equal(mpr_reader_open(&reader, thinned, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &error),
                     0);
    reader.replay.books.highs = &s.highs;
    reader.replay.watch = (struct mpr_watch){ see_step, &s };
    assert_int_equal(mpr_reader_replay(&reader, thinned, &none, &error), 0);
    assert_int_equal(s.steps, STEPS);
    for (uint64_t i = 1; i <= STEPS; i++) assert_int_equal(s.peak[i - 1], i << 10);
    mpr_reader_close(&reader);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_what_they_said),
        cmocka_unit_test(thinned_again_they_still_do),
        cmocka_unit_test(golden_logs_keep_what_they_said),
        cmocka_unit_test(instances_keep_their_peaks),
        cmocka_unit_test(what_is_gone_is_counted),
        cmocka_unit_test(marks_keep_their_payloads),
        cmocka_unit_test(what_was_seen_in_the_wrong_order_stays),
        cmocka_unit_test(frees_that_changed_places_stay),
        cmocka_unit_test(there_may_be_many_instances),
        cmocka_unit_test(threads_end_inside_their_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
