/* The MEMPROF_* variables have the documented values and defaults, and the log's path follows its
 * template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/process.h"
#include "core/variables.h"

static struct mp_process process = { .pid = 4242, .start.real = UINT64_C(1700000000123456789) };

static int clear(void **state)
{
    (void)state;
    static const char *const names[] = { "MEMPROF_OUT",     "MEMPROF_JOURNAL_DIR", "MEMPROF_LEVEL",
                                         "MEMPROF_PROGRAM", "MEMPROF_MIN_RSS",     "RANK" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    setenv("MEMPROF_QUIET", "1", 1);
    mp_process = &process;
    return 0;
}

static const char *path(const char *template)
{
    static char out[PATH_MAX];
    setenv("MEMPROF_OUT", template, 1);
    mp_config_read();
    return mp_config_path(out, sizeof out) == 0 ? out : "(too long)";
}

static void defaults_are_those_of_the_manual(void **state)
{
    (void)state;
    mp_config_read();
    assert_string_equal(mp_config.out, "memprof.%h.%p.zst");
    assert_int_equal(mp_config.level, -1);
    assert_int_equal(mp_config.min_rss, 16 << 20);
    assert_true(mp_config_wants("anything", "anything"));
}

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "0", 0 },
                 { "123", 123 },
                 { "4K", 4096 },
                 { "2M", 2 << 20 },
                 { "3g", (uint64_t)3 << 30 },
                 { "1MiB", 1 << 20 } };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        setenv("MEMPROF_MIN_RSS", good[i].text, 1);
        mp_config_read();
        assert_int_equal(mp_config.min_rss, good[i].bytes);
    }
}

static void a_wrong_value_leaves_the_default(void **state)
{
    (void)state;
    static const char *const bad[] = { "x",           "-1", "12Q", "M", "99999999999999999999999",
                                       "99999999999T" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("MEMPROF_MIN_RSS", bad[i], 1);
        mp_config_read();
        assert_int_equal(mp_config.min_rss, 16 << 20);
    }
    static const char *const no_level[] = { "10", "0", "-", "-0", "-10", "--1", "+1" };
    for (size_t i = 0; i < sizeof no_level / sizeof *no_level; i++) {
        setenv("MEMPROF_LEVEL", no_level[i], 1);
        mp_config_read();
        assert_int_equal(mp_config.level, -1);
    }
    setenv("MEMPROF_JOURNAL_DIR", "relative", 1);
    mp_config_read();
    assert_string_equal(mp_config.journal_dir, "");
}

static void levels_are_those_of_zstd(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int level;
    } level[] = { { "1", 1 }, { "9", 9 }, { "-1", -1 }, { "-9", -9 } };
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        setenv("MEMPROF_LEVEL", level[i].text, 1);
        mp_config_read();
        assert_int_equal(mp_config.level, level[i].level);
    }
}

static void template_is_expanded(void **state)
{
    (void)state;
    setenv("RANK", "7", 1);
    setenv("WHERE", "a/b", 1);
    assert_string_equal(path("/t/%p.%r.%t.%%.zst"), "/t/4242.7.1700000000.%.zst");
    assert_string_equal(path("/t/%q{WHERE}.%q{NO_SUCH}.zst"), "/t/a_b..zst");
    assert_string_equal(path("/t/%z%"), "/t/%z%");
    assert_string_equal(path("/t/%e"), "/t/unit_preload_config");
}

static void relative_path_becomes_absolute(void **state)
{
    (void)state;
    const char *p = path("x.zst");
    assert_int_equal(p[0], '/');
    assert_string_equal(strrchr(p, '/'), "/x.zst");
}

static void program_is_a_glob(void **state)
{
    (void)state;
    setenv("MEMPROF_PROGRAM", "python3*", 1);
    mp_config_read();
    assert_true(mp_config_wants("python3.11", "python3.11"));
    assert_false(mp_config_wants("bash", "sh"));
    setenv("MEMPROF_PROGRAM", "python3", 1);
    mp_config_read();
    assert_true(mp_config_wants("python3.11", "python3"));
    assert_true(mp_config_wants("python3", "link"));
}

static void values_in_a_path_cannot_leave_its_folder(void **state)
{
    (void)state;
    static const struct {
        const char *value, *template, *path;
    } cases[] = {
        { "..", "/l/%q{V}/x", "/l/_./x" },     { ".", "/l/%q{V}/x", "/l/_/x" },
        { "", "/l/%q{V}/x", "/l/_/x" },        { ".", "/l/.%q{V}/x", "/l/._/x" },
        { "..", "/l/%q{V}%q{V}", "/l/_..." },  { "../../etc", "/l/%q{V}", "/l/_._.._etc" },
        { "a..b", "/l/%q{V}/x", "/l/a..b/x" }, { "", "/l/a%q{V}.zst", "/l/a.zst" },
        { "..", "/l/%r/x", "/l/_./x" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("V", cases[i].value, 1);
        setenv("RANK", cases[i].value, 1);
        assert_string_equal(path(cases[i].template), cases[i].path);
    }
    unsetenv("V");
    assert_string_equal(path("/l/%q{V}/x"), "/l/_/x");
}

static void a_misspelt_variable_has_a_suggestion(void **state)
{
    (void)state;
    static const struct {
        const char *name, *nearest_name;
    } cases[] = {
        { "MEMPROF_STAKS=all", "MEMPROF_STACKS" },
        { "MEMPROF_STAKCS=", "MEMPROF_STACKS" },
        { "MEMPROF_QUITE=1", "MEMPROF_QUIET" },
        { "MEMPROF_OUTPUT=x", "MEMPROF_OUT" },
        { "MEMPROF_JOURNAL=/x", "MEMPROF_JOURNAL_DIR" },
        { "MEMPROF_LVEL=9", "MEMPROF_LEVEL" },
        { "MEMPROF_=1", NULL },
        { "MEMPROF_LOG=1", NULL },
        { "MEMPROF_SESSION=1", NULL },
        { "MEMPROF_OUT_OF_ALL_THAT_MAY_BE_SET_HERE=1", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = mp_variables_nearest(cases[i].name);
        if (cases[i].nearest_name) assert_string_equal(nearest, cases[i].nearest_name);
        else assert_null(nearest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_are_those_of_the_manual, clear),
        cmocka_unit_test_setup(sizes_have_units, clear),
        cmocka_unit_test_setup(a_wrong_value_leaves_the_default, clear),
        cmocka_unit_test_setup(levels_are_those_of_zstd, clear),
        cmocka_unit_test_setup(template_is_expanded, clear),
        cmocka_unit_test_setup(relative_path_becomes_absolute, clear),
        cmocka_unit_test_setup(program_is_a_glob, clear),
        cmocka_unit_test_setup(values_in_a_path_cannot_leave_its_folder, clear),
        cmocka_unit_test_setup(a_misspelt_variable_has_a_suggestion, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
