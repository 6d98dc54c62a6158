/* A log that grows while it is read is read completely. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "own_log.h"
#include "testlog.h"

static char folder[] = "/tmp/memprof-test-XXXXXX", whole_path[64], log_path[64], journal_path[64];
static pid_t recorded; /* the process of the log, which waits to be killed */

static int start(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(whole_path, sizeof whole_path, "%s/whole.zst", folder);
    snprintf(log_path, sizeof log_path, "%s/log.zst", folder);
    snprintf(journal_path, sizeof journal_path, "%s/log.zst.journal", folder);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int begin(void **state)
{
    (void)state;
    recorded = fork();
    if (recorded == 0)
        for (;;) pause();
    return recorded < 0 ? -1 : 0;
}

static void kill_recorded(void)
{
    if (recorded > 0) {
        kill(recorded, SIGKILL);
        waitpid(recorded, NULL, 0);
    }
    recorded = 0;
}

static int end(void **state)
{
    (void)state;
    kill_recorded();
    unlink(whole_path);
    unlink(log_path);
    unlink(journal_path);
    return 0;
}

/* ---- a log, and a part of it */

enum { FRAMES = 4, EACH = 100, EVENTS = FRAMES * EACH };

static uint64_t make_whole(const char *reason)
{
    struct own_pairs own;
    own_pairs_fill(&own, recorded, own_start(recorded), "1", journal_path);
    struct testlog *log = testlog_open(whole_path, own.pair);
    for (uint64_t i = 0; i < EVENTS; i++) {
        testlog_event(log, i * 100, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 + i * 64, i);
        if (i % EACH == EACH - 1) testlog_flush(log);
    }
    const uint64_t frames = testlog_frames(log);
    testlog_close(log, reason);
    return frames;
}

static size_t read_whole(uint8_t *bytes, size_t cap)
{
    FILE *file = fopen(whole_path, "r");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, cap, file);
    assert_in_range(size, 100, cap - 1);
    fclose(file);
    return size;
}

static void append(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(log_path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- a reader that follows the log */

struct followed {
    struct mpr_log *log;
    uint64_t events, sum;
};

static void read_on(struct followed *f)
{
    const struct mpf_event *event;
    struct mpr_error error;
    long count;
    while ((count = mpr_log_next(f->log, &event, &error)) > 0) {
        f->events += (uint64_t)count;
        for (long i = 0; i < count; i++) f->sum += event[i].size;
    }
    assert_int_equal(count, 0);
}

static struct followed follow(void)
{
    struct followed f = { 0 };
    struct mpr_error error;
    assert_int_equal(mpr_log_follow(&f.log, log_path, &error), 0);
    read_on(&f);
    return f;
}

static int read_more(struct followed *f)
{
    struct mpr_error error;
    const int result = mpr_log_more(f->log, &error);
    assert_int_not_equal(result, -1);
    if (result == MPR_LOG_MORE) read_on(f);
    return result;
}

static void is_whole(const struct followed *f)
{
    const struct mpr_log_status *s = mpr_log_status(f->log);
    assert_int_equal(f->events, EVENTS);
    assert_int_equal(f->sum, EVENTS * (EVENTS - 1) / 2);
    assert_int_equal(s->damaged, 0);
    assert_int_equal(s->missing_frames, 0);
    assert_int_equal(s->bad_offset, UINT64_MAX);
}

/* ---- tests */

static void reading_continues_wherever_the_log_was_cut(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    make_whole("exit");
    const size_t size = read_whole(bytes, sizeof bytes), first = 400;
    for (size_t step = 1; step < size; step = step * 3 + 1) {
        unlink(log_path);
        append(bytes, first);
        struct followed f = follow();
        assert_int_equal(mpr_log_status(f.log)->process.life, MPR_LIFE_RUNS);
        for (size_t at = first; at < size; at += step) {
            assert_false(mpr_log_status(f.log)->ended);
            append(bytes + at, size - at < step ? size - at : step);
            assert_int_equal(read_more(&f), MPR_LOG_MORE);
        }
        is_whole(&f);
        assert_true(mpr_log_status(f.log)->ended);
        assert_int_equal(read_more(&f), MPR_LOG_ENDED);
        mpr_log_close(f.log);
    }
}

static void an_idle_process_may_continue_later(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    make_whole(NULL);
    append(bytes, read_whole(bytes, sizeof bytes));
    struct followed f = follow();
    for (int i = 0; i < 3; i++) assert_int_equal(read_more(&f), MPR_LOG_MORE);
    is_whole(&f);
    mpr_log_close(f.log);
}

/* The journal of a killed process is read after its death, and not before. */
static void a_killed_process_ends_with_its_journal(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    const uint64_t frames = make_whole(NULL);
    append(bytes, read_whole(bytes, sizeof bytes));
    struct testjournal *j = testjournal_open(journal_path);
    testjournal_chunk(j, 1, 9, 0, frames, 0);
    testjournal_event(j, 50000, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xa000, 5);
    testjournal_close(j);
    own_journal_unlocked(journal_path);
    struct followed f = follow();
    assert_int_equal(read_more(&f), MPR_LOG_MORE);
    assert_int_equal(f.events, EVENTS);
    kill_recorded();
    assert_int_equal(read_more(&f), MPR_LOG_MORE);
    assert_int_equal(f.events, EVENTS + 1);
    assert_int_equal(mpr_log_status(f.log)->process.life, MPR_LIFE_ENDED);
    assert_int_equal(read_more(&f), MPR_LOG_ENDED);
    mpr_log_close(f.log);
}

static void another_file_with_the_same_name_is_detected(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    make_whole(NULL);
    const size_t size = read_whole(bytes, sizeof bytes);
    append(bytes, size / 2);
    struct followed f = follow();
    assert_int_equal(rename(whole_path, log_path), 0);
    assert_int_equal(read_more(&f), MPR_LOG_REPLACED);
    mpr_log_close(f.log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reading_continues_wherever_the_log_was_cut, begin, end),
        cmocka_unit_test_setup_teardown(an_idle_process_may_continue_later, begin, end),
        cmocka_unit_test_setup_teardown(a_killed_process_ends_with_its_journal, begin, end),
        cmocka_unit_test_setup_teardown(another_file_with_the_same_name_is_detected, begin, end),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
