/* Texts of --keep and of windows are parsed or refused as documented. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/keep.h"
#include "mpf/window.h"

#define SECOND       UINT64_C(1000000000)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void valid_sizes_and_times_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes, ns;
    } read[] = {
        { "1K", 1 << 10, 0 },
        { "1KiB", 1 << 10, 0 },
        { "512M", UINT64_C(512) << 20, 0 },
        { "90MiB", UINT64_C(90) << 20, 0 },
        { "2G", UINT64_C(2) << 30, 0 },
        { "2GiB", UINT64_C(2) << 30, 0 },
        { "3T", UINT64_C(3) << 40, 0 },
        { "3TiB", UINT64_C(3) << 40, 0 },
        { "16777215T", UINT64_C(16777215) << 40, 0 },
        { "9s", 0, 9 * SECOND },
        { "30min", 0, 1800 * SECOND },
        { "12h", 0, 43200 * SECOND },
        { "2d", 0, 172800 * SECOND },
        { "18446744073s", 0, 18446744073 * SECOND },
    };
    for (size_t i = 0; i < COUNT(read); i++) {
        struct mpf_keep keep = { 1, 1 };
        assert_true(mpf_keep_read(read[i].text, &keep));
        assert_int_equal(keep.bytes, read[i].bytes);
        assert_int_equal(keep.ns, read[i].ns);
    }
}

static void invalid_sizes_and_times_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",
                                         "G",
                                         "0G",
                                         "2",
                                         "2m",
                                         "2 G",
                                         "-2G",
                                         "2Gi",
                                         "/G",
                                         ":G",
                                         "18446744074s",
                                         "16777216T",
                                         "2g",
                                         "2G:",
                                         "18446744073709551616K" };
    struct mpf_keep keep;
    for (size_t i = 0; i < COUNT(wrong); i++) assert_false(mpf_keep_read(wrong[i], &keep));
}

static void a_range_has_the_numbers_that_follow_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        uint64_t first, last;
    } read[] = {
        { "range:step", "step", 0, 0 },
        { "range:step:7", "step", 7, 7 },
        { "range:step:10:29", "step", 10, 29 },
        { "range:step:3:3", "step", 3, 3 },
        { "range:a:b", "a:b", 0, 0 },
        { "range:a:b:19:20", "a:b", 19, 20 },
        { "range:1:2:3:4", "1:2", 3, 4 },
        { "range:step:", "step:", 0, 0 },
        { "range:step:0", "step:0", 0, 0 },
        { "range:42", "42", 0, 0 },
        { "range::3", ":3", 0, 0 },
        { "range:a:5:0", "a:5:0", 0, 0 },
        { "range:step9", "step9", 0, 0 },
        { "range:x:999999999999999999", "x", UINT64_C(999999999999999999),
          UINT64_C(999999999999999999) },
        { "range:x:9999999999999999999", "x:9999999999999999999", 0, 0 },
    };
    for (size_t i = 0; i < COUNT(read); i++) {
        struct mpf_window w;
        assert_true(mpf_window_read(read[i].text, &w));
        assert_int_equal(w.by, MPF_WINDOW_RANGE);
        assert_int_equal(w.name_bytes, strlen(read[i].name));
        assert_memory_equal(w.name, read[i].name, w.name_bytes);
        assert_int_equal(w.first, read[i].first);
        assert_int_equal(w.last, read[i].last);
    }
}

static void a_time_window_has_a_delay_and_a_duration(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t delay, duration;
    } read[] = {
        { "delay:90s", 90 * SECOND, 0 },
        { "duration:2min", 0, 120 * SECOND },
        { "delay:1h,duration:5s", 3600 * SECOND, 5 * SECOND },
        { "delay:000000000000000000000000000005s", 5 * SECOND, 0 },
    };
    for (size_t i = 0; i < COUNT(read); i++) {
        struct mpf_window w;
        assert_true(mpf_window_read(read[i].text, &w));
        assert_int_equal(w.by, MPF_WINDOW_TIME);
        assert_int_equal(w.delay_ns, read[i].delay);
        assert_int_equal(w.duration_ns, read[i].duration);
    }
}

static void the_profiler_and_two_signals_open_a_window(void **state)
{
    (void)state;
    struct mpf_window w;
    assert_true(mpf_window_read("profiler", &w));
    assert_int_equal(w.by, MPF_WINDOW_PROFILER);
    assert_true(mpf_window_read("signal:USR1", &w));
    assert_int_equal(w.by, MPF_WINDOW_SIGNAL);
    assert_int_equal(w.signal, SIGUSR1);
    assert_true(mpf_window_read("signal:USR2", &w));
    assert_int_equal(w.signal, SIGUSR2);
}

static void invalid_windows_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",
                                         "profilers",
                                         "range:",
                                         "range:step:3:2",
                                         "signal:",
                                         "signal:USR3",
                                         "signal:KILL",
                                         "delay:",
                                         "delay:5",
                                         "delay:2G",
                                         "delay:1s,",
                                         "delay:1s,for:2s",
                                         "delay:1s,duration:",
                                         "delay:1s,duration:2G",
                                         "delay:0000000000000000000000000000005s",
                                         ",duration:1s",
                                         "duration:1s,delay:1s" };
    struct mpf_window w;
    for (size_t i = 0; i < COUNT(wrong); i++) assert_false(mpf_window_read(wrong[i], &w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_sizes_and_times_are_read),
        cmocka_unit_test(invalid_sizes_and_times_are_refused),
        cmocka_unit_test(a_range_has_the_numbers_that_follow_its_name),
        cmocka_unit_test(a_time_window_has_a_delay_and_a_duration),
        cmocka_unit_test(the_profiler_and_two_signals_open_a_window),
        cmocka_unit_test(invalid_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
