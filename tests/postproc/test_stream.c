/* The reader library returns the events of a log to other programs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mpr/stream.h"
#include "testlog.h"

static char path[] = "/tmp/memprof-stream-XXXXXX";

static int begin(void **state)
{
    (void)state;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

/* Writes a log with two blocks that live at 20 ns, one of them at the end, and a block of a
 * device. */
static void write_log(const char *reason)
{
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 10, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 1000);
    testlog_event(log, 20, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000, 500);
    testlog_event(log, 30, 2, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
    testlog_event(log, 40, 2, MPF_OP_ALLOC, mpf_heap_gpu(MPF_HEAP_DEVICE, 1), 0x9000, 1 << 20);
    testlog_close(log, reason);
}

static long read_all(struct mpr_stream *stream)
{
    const struct mpf_event *events;
    long count, all = 0;
    while ((count = mpr_stream_next(stream, &events)) > 0) all += count;
    return count < 0 ? count : all;
}

static void heaps_have_their_peaks(void **state)
{
    (void)state;
    write_log("exit");
    struct mpr_stream *stream = mpr_stream_open(path);
    struct mpr_stream_heap heap[8];
    assert_int_equal(mpr_stream_heaps(stream, heap, 8), 0);
    assert_false(mpr_stream_whole(stream)); /* the log has not been read yet */
    assert_int_equal(read_all(stream), 4);
    assert_int_equal(mpr_stream_heaps(stream, heap, 8), 2);
    assert_string_equal(heap[0].name, "host/heap");
    assert_int_equal(heap[0].peak_bytes, 1500);
    assert_int_equal(heap[0].peak_blocks, 2);
    assert_int_equal(heap[0].peak_ns, 20);
    assert_int_equal(heap[0].bytes, 500);
    assert_int_equal(heap[0].blocks, 1);
    assert_int_equal(heap[0].allocations, 2);
    assert_int_equal(heap[0].frees, 1);
    assert_string_equal(heap[1].name, "gpu1/device");
    assert_int_equal(heap[1].peak_bytes, 1 << 20);
    assert_true(mpr_stream_whole(stream));
    assert_string_equal(mpr_stream_error(stream), "");
    assert_int_equal(read_all(stream), 0); /* stays at its end */
    mpr_stream_close(stream);
}

static void results_fit_the_buffer_of_the_caller(void **state)
{
    (void)state;
    write_log("exit");
    struct mpr_stream *stream = mpr_stream_open(path);
    read_all(stream);
    struct mpr_stream_heap heap[2] = { { 0 }, { .name = "untouched" } };
    assert_int_equal(mpr_stream_heaps(stream, heap, 1), 2);
    assert_string_equal(heap[0].name, "host/heap");
    assert_string_equal(heap[1].name, "untouched");
    mpr_stream_close(stream);
}

static void the_fields_of_the_header_are_returned(void **state)
{
    (void)state;
    write_log("exit");
    struct mpr_stream *stream = mpr_stream_open(path);
    assert_string_equal(mpr_stream_header(stream, "pid"), "4242");
    assert_string_equal(mpr_stream_header(stream, "host"), TESTLOG_HOST);
    assert_null(mpr_stream_header(stream, "no such key"));
    mpr_stream_close(stream);
}

static void the_log_of_a_killed_process_without_journal_is_incomplete(void **state)
{
    (void)state;
    write_log(NULL);
    struct mpr_stream *stream = mpr_stream_open(path);
    assert_int_equal(read_all(stream), 4);
    assert_false(mpr_stream_whole(stream));
    mpr_stream_close(stream);
}

static void other_files_are_an_error(void **state)
{
    (void)state;
    struct mpr_stream *stream = mpr_stream_open("/no/such/log.zst");
    const struct mpf_event *events;
    assert_int_equal(mpr_stream_next(stream, &events), -1);
    assert_non_null(strstr(mpr_stream_error(stream), "/no/such/log.zst"));
    assert_int_equal(mpr_stream_heaps(stream, NULL, 0), 0);
    assert_null(mpr_stream_header(stream, "pid"));
    assert_false(mpr_stream_whole(stream));
    mpr_stream_close(stream);
    mpr_stream_close(NULL);
}

static void own_handler(int number) { (void)number; }

static bool is_own(void)
{
    struct sigaction now;
    sigaction(SIGBUS, NULL, &now);
    return now.sa_handler == own_handler;
}

static void the_handler_of_sigbus_is_restored(void **state)
{
    (void)state;
    write_log("exit");
    signal(SIGBUS, own_handler);
    struct mpr_stream *first = mpr_stream_open(path), *second = mpr_stream_open(path);
    assert_false(is_own());
    mpr_stream_close(first);
    assert_false(is_own());
    mpr_stream_close(second);
    assert_true(is_own());
    signal(SIGBUS, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(heaps_have_their_peaks, begin, end),
        cmocka_unit_test_setup_teardown(results_fit_the_buffer_of_the_caller, begin, end),
        cmocka_unit_test_setup_teardown(the_fields_of_the_header_are_returned, begin, end),
        cmocka_unit_test_setup_teardown(the_log_of_a_killed_process_without_journal_is_incomplete,
                                        begin, end),
        cmocka_unit_test(other_files_are_an_error),
        cmocka_unit_test_setup_teardown(the_handler_of_sigbus_is_restored, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
