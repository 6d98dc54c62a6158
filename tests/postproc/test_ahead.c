/* A log that a thread decodes ahead of its reader has the same events as one that is read
 * directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "testlog.h"

/* More than half a MiB of log; each NAMED-th event is a name. */
enum { EVENTS = 300000, NAMED = 7 };

static char folder[] = "/tmp/memprof-test-XXXXXX", log_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(log_path, sizeof log_path, "%s/log.zst", folder);
    return 0;
}

static int remove_log(void **state)
{
    (void)state;
    return unlink(log_path);
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static uint64_t dice(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void make_log(const char *end)
{
    char name[64];
    struct testlog *log = testlog_open(log_path, NULL);
    for (uint64_t i = 0; i < EVENTS; i++) {
        if (i % NAMED == 0) {
            const int bytes = snprintf(name, sizeof name, "name %.*s", (int)(dice() % 40),
                                       "a thread that goes by many, many names");
            testlog_data(log, i * 100, 1, MPF_OP_THREAD_NAME, 0, name, (uint64_t)bytes);
        } else
            testlog_event(log, i * 100, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, dice() & ~15ull,
                          dice() % 99999);
    }
    testlog_close(log, end);
}

/* ---- results of reading a log */

struct seen {
    uint64_t events, hash, position;
    long end;
    struct mpr_log_status status;
    struct mpr_error error;
};

static void add(uint64_t *hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) *hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static void add_events(struct seen *s, const struct mpf_event *event, long count)
{
    for (long i = 0; i < count; i++) {
        const struct mpf_event *e = &event[i];
        const uint64_t fields[] = { e->time, e->addr, e->size, e->thread, e->op, e->heap };
        add(&s->hash, fields, sizeof fields);
        if (e->data) add(&s->hash, e->data, e->size);
    }
    s->events += (uint64_t)count;
}

static struct seen read_directly(void)
{
    struct seen s = { 0 };
    struct mpr_log *log;
    const struct mpf_event *event;
    assert_int_equal(mpr_log_open(&log, log_path, &s.error), 0);
    while ((s.end = mpr_log_next(log, &event, &s.error)) > 0) add_events(&s, event, s.end);
    s.position = mpr_log_position(log);
    s.status = *mpr_log_status(log);
    mpr_log_close(log);
    return s;
}

/* @most: the reader stops after this number of events. */
static struct seen read_ahead(uint64_t max_events)
{
    struct seen s = { 0 };
    struct mpr_log *log;
    const struct mpf_event *event;
    assert_int_equal(mpr_log_open(&log, log_path, &s.error), 0);
    struct mpr_ahead *ahead = mpr_ahead_start(log);
    assert_non_null(ahead);
    while (s.events < max_events &&
           (s.end = mpr_ahead_next(ahead, &event, &s.position, &s.error)) > 0)
        add_events(&s, event, s.end);
    mpr_ahead_stop(ahead);
    s.status = *mpr_log_status(log);
    mpr_log_close(log);
    return s;
}

static void both_see_the_same(void)
{
    const struct seen directly = read_directly(), ahead = read_ahead(UINT64_MAX);
    assert_int_equal(ahead.events, directly.events);
    assert_int_equal(ahead.hash, directly.hash);
    assert_int_equal(ahead.end, directly.end);
    assert_int_equal(ahead.position, directly.position);
    assert_int_equal(ahead.status.events, directly.status.events);
    assert_int_equal(ahead.status.damaged, directly.status.damaged);
    assert_int_equal(ahead.status.good_ns, directly.status.good_ns);
    assert_int_equal(ahead.status.cut, directly.status.cut);
    if (directly.end < 0) assert_string_equal(ahead.error.text, directly.error.text);
}

static void overwrite(off_t at, const char *bytes, size_t size)
{
    FILE *file = fopen(log_path, "r+");
    assert_non_null(file);
    assert_int_equal(fseeko(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static off_t log_bytes(void)
{
    struct stat st;
    assert_int_equal(stat(log_path, &st), 0);
    return st.st_size;
}

/* ---- tests */

static void a_complete_log_is_the_same(void **state)
{
    (void)state;
    make_log("exit");
    assert_true(log_bytes() > 1 << 19);
    both_see_the_same();
    assert_int_equal(read_ahead(UINT64_MAX).events, EVENTS);
}

static void a_damaged_log_is_the_same(void **state)
{
    (void)state;
    make_log("exit");
    overwrite(log_bytes() / 2, "damage", 6);
    both_see_the_same();
    assert_int_not_equal(read_directly().status.damaged, 0);
}

static void a_truncated_log_is_the_same(void **state)
{
    (void)state;
    make_log(NULL);
    assert_int_equal(truncate(log_path, log_bytes() - 1000), 0);
    both_see_the_same();
    assert_true(read_directly().status.cut);
}

static void a_reader_may_stop_in_the_middle(void **state)
{
    (void)state;
    make_log("exit");
    for (uint64_t max_events = 1; max_events < EVENTS; max_events *= 5) {
        const struct seen s = read_ahead(max_events);
        assert_true(s.events >= max_events && s.end > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_complete_log_is_the_same, remove_log),
        cmocka_unit_test_teardown(a_damaged_log_is_the_same, remove_log),
        cmocka_unit_test_teardown(a_truncated_log_is_the_same, remove_log),
        cmocka_unit_test_teardown(a_reader_may_stop_in_the_middle, remove_log),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
