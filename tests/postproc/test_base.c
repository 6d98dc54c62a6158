/* Arrays grow, numbers are found by key, and a program that runs out of memory ends with a
 * message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "amount.h"
#include "arena.h"
#include "bisect.h"
#include "index.h"
#include "nearest.h"
#include "utf8.h"

/* Requests that are too large fail as without AddressSanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static jmp_buf ended;
static void end(void) { longjmp(ended, 1); }

/* True if the code ends the process because memory ran out. */
#define ENDS(...)                                                                                  \
    ({                                                                                             \
        volatile bool ends = true;                                                                 \
        mpr_alloc_on_failure(end);                                                                 \
        if (!setjmp(ended)) {                                                                      \
            __VA_ARGS__;                                                                           \
            ends = false;                                                                          \
        }                                                                                          \
        ends;                                                                                      \
    })

/* ---- characters */

static void characters_invalid_in_xml_or_terminals_are_unsafe(void **state)
{
    (void)state;
    static const uint32_t unsafe[] = { 0, 0x1f, 0x7f, 0x9f, 0x202e, 0xfff9, 0xfffe, 0xffff };
    static const uint32_t safe[] = { ' ', 0xe9, 0x5c64, 0xfffc, 0xfffd, 0x10000, 0x1f600 };
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        assert_true(mpr_utf8_unsafe(unsafe[i]));
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) assert_false(mpr_utf8_unsafe(safe[i]));
}

/* ---- memory */

static void allocated_memory_is_zeroed(void **state)
{
    (void)state;
    static const char zeros[512];
    char *dirty = mpr_resize(NULL, 1, 512);
    memset(dirty, 0xff, 512);
    free(dirty);
    char *memory = mpr_alloc(64, 8), *nothing = mpr_alloc(0, 8);
    assert_memory_equal(memory, zeros, 512);
    assert_non_null(nothing);
    assert_non_null(nothing = mpr_resize(nothing, 0, 8));
    free(memory);
    free(nothing);
}

static void texts_are_copied(void **state)
{
    (void)state;
    char *whole = mpr_text_copy("abcd"), *part = mpr_text_copy_part("abcd", 2),
         *made = mpr_text_format("%s-%d", "a", 12), *written;
    size_t bytes;
    FILE *stream = mpr_text_open(&written, &bytes);
    fputs("stream", stream);
    mpr_text_close(stream);
    assert_string_equal(whole, "abcd");
    assert_string_equal(part, "ab");
    assert_string_equal(made, "a-12");
    assert_string_equal(written, "stream");
    free(whole);
    free(part);
    free(made);
    free(written);
}

static void a_request_for_too_much_memory_ends_the_process(void **state)
{
    (void)state;
    assert_true(ENDS(mpr_alloc(SIZE_MAX / 4, 2)));
    assert_true(ENDS(mpr_alloc(SIZE_MAX / 4 + 2, 4))); /* 4 bytes if the product overflowed */
    assert_true(ENDS(mpr_resize(NULL, SIZE_MAX / 4 + 2, 4)));
}

static void the_message_can_name_a_file(void **state)
{
    (void)state;
    assert_null(mpr_alloc_path());
    mpr_alloc_set_path("a.zst");
    assert_string_equal(mpr_alloc_path(), "a.zst");
    mpr_alloc_set_path(NULL);
    assert_null(mpr_alloc_path());
}

/* ---- arrays */

static void an_array_grows_by_doubling(void **state)
{
    (void)state;
    uint64_t *array = NULL;
    size_t cap = 0, times = 0;
    for (uint32_t count = 0; count < 100000; count++) {
        const size_t before = cap;
        MPR_GROW(array, count, cap);
        times += cap != before;
        array[count] = count;
    }
    for (uint32_t i = 0; i < 100000; i++) assert_int_equal(array[i], i);
    assert_in_range(times, 10, 17); /* amortised */
    assert_true(cap >= 100000 && cap < 200000);
    free(array);
}

/* The element count has 8 bits. */
static void an_array_has_at_most_the_elements_that_its_count_can_represent(void **state)
{
    (void)state;
    static uint32_t *array;
    static uint8_t count, cap;
    for (; count < UINT8_MAX; count++) {
        MPR_GROW(array, count, cap);
        array[count] = count;
    }
    assert_int_equal(cap, UINT8_MAX);
    assert_true(ENDS(MPR_GROW(array, count, cap)));
    free(array);
}

static void an_array_that_cannot_grow_keeps_its_elements(void **state)
{
    (void)state;
    static char(*array)[1 << 20];
    static size_t count = 1, cap;
    array = mpr_resize(NULL, 1, sizeof *array);
    array[0][0] = 'x';
    /* Twice as many elements exceed the largest size. */
    count = cap = SIZE_MAX / sizeof *array / 2 + 1;
    assert_true(ENDS(MPR_GROW(array, count, cap)));
    assert_int_equal(cap, count);
    assert_int_equal(array[0][0], 'x');
    free(array);
}

static void an_array_grows_to_any_index_with_zeros_between(void **state)
{
    (void)state;
    uint32_t *array = NULL, count = 0;
    const uint32_t index[] = { 3, 2, 1000, 15, 1001 };
    for (size_t i = 0; i < sizeof index / sizeof *index; i++) {
        MPR_REACH(array, index[i], count);
        assert_true(count > index[i]);
        assert_int_equal(array[index[i]], 0);
        array[index[i]] = index[i];
    }
    for (uint32_t i = 0, n = 0; i < count; i++)
        assert_true(array[i] == 0 || (array[i] == i && ++n <= 5));
    assert_int_equal(array[3] + array[2] + array[1000] + array[15] + array[1001], 2021);
    free(array);
    static uint16_t *shorts;
    static uint8_t places;
    MPR_REACH(shorts, 200, places);
    assert_int_equal(places, 201);
    MPR_REACH(shorts, 254, places);
    assert_int_equal(places, UINT8_MAX);
    const size_t too_large = UINT8_MAX;
    assert_true(ENDS(MPR_REACH(shorts, too_large, places)));
    free(shorts);
}

/* ---- numbers by key */

static void numbers_are_found_by_key(void **state)
{
    (void)state;
    struct mpr_index index = { 0 };
    assert_int_equal(mpr_index_get(&index, 7), 0);
    mpr_index_set(&index, 7, 0);
    assert_null(index.at);
    for (uint32_t i = 0; i < 10000; i++) mpr_index_set(&index, (uint64_t)i << 40, i + 1);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(mpr_index_get(&index, (uint64_t)i << 40), i + 1);
    assert_int_equal(mpr_index_get(&index, 1), 0);
    mpr_index_set(&index, 0, 77);
    assert_int_equal(mpr_index_get(&index, 0), 77);
    assert_int_equal(index.count, 10000);
    assert_true(index.count <= (index.mask + 1) / 2);
    mpr_index_free(&index);
    assert_int_equal(mpr_index_get(&index, 0), 0);
}

/* Keys are their own hashes, so keys with the same residue start at the same place. */
static int plain_hash(void **state)
{
    (void)state;
    mpr_hash_secret = (struct mpr_hash_secret){ 0, 1 };
    return 0;
}

/* Compares with an array, at random: runs of displaced entries, also around the end of the
 * table. */
static void keys_that_collide_are_distinguished(void **state)
{
    (void)state;
    enum { KEYS = 30, STEPS = 100000 };
    struct mpr_index index = { 0 };
    uint32_t value[KEYS] = { 0 }, live = 0, random = 1;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        const uint32_t n = random >> 16 & 31, set = random >> 8 & 1 ? random >> 24 : 0;
        if (n >= KEYS) continue;
        const uint64_t key = n % 5 * 64 + 60 + n / 5; /* in a table with 64 places */
        live = live + (set != 0) - (value[n] != 0);
        mpr_index_set(&index, key, value[n] = set);
        for (uint32_t i = 0; i < KEYS; i++)
            assert_int_equal(mpr_index_get(&index, i % 5 * 64 + 60 + i / 5), value[i]);
        assert_int_equal(index.count, live);
    }
    assert_int_equal(index.mask, 63);
    mpr_index_free(&index);
}

static void entries_with_one_key_are_returned_one_by_one(void **state)
{
    (void)state;
    struct mpr_index index = { 0 };
    uint32_t found = 0, broken = 0, others = 0;
    MPR_INDEX_EACH(number, &index, 5) others += number;
    for (uint32_t i = 1; i <= 300; i++) mpr_index_add(&index, 5 + 64 * (i % 3), i);
    MPR_INDEX_EACH(number, &index, 5 + 64) {
        assert_int_equal(number % 3, 1);
        found++;
    }
    assert_int_equal(found, 100);
    MPR_INDEX_EACH(number, &index, 5 + 64) {
        broken++;
        break;
    }
    assert_int_equal(broken, 1);
    MPR_INDEX_EACH(number, &index, 5 + 64 * 3) others += number;
    assert_int_equal(others, 0);
    mpr_index_free(&index);
}

/* ---- searches and comparisons */

static void a_search_counts_the_elements_before_a_bound(void **state)
{
    (void)state;
    static const int sorted[] = { 1, 3, 3, 3, 8 };
    static const size_t before[] = { 0, 0, 1, 1, 4, 4, 4, 4, 4, 5 };
    for (int bound = 0; bound < 10; bound++)
        for (size_t count = 0; count <= 5; count++)
            assert_int_equal(MPR_COUNT_FIRST(i, count, sorted[i] < bound),
                             before[bound] < count ? before[bound] : count);
}

struct pair {
    uint64_t first, second;
};
MPR_COMPARE(by_pair, struct pair,
            mpr_compare(b->first, a->first) ?: mpr_compare(a->second, b->second))

static void equal_elements_are_sorted_by_the_second_comparison(void **state)
{
    (void)state;
    static const uint64_t sorted[] = { 0, 5, 2, 7 };
    struct pair pair[] = { { 1, 7 }, { UINT64_MAX, 5 }, { 1, 2 }, { UINT64_MAX, 0 } };
    qsort(pair, 4, sizeof *pair, by_pair);
    for (size_t i = 0; i < 4; i++) assert_int_equal(pair[i].second, sorted[i]);
}

/* ---- quoting for a shell */

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    static const char *const word[][2] = {
        { "python3", "python3" },
        { "--path=/a/b-1.2,c:d@e%f+g", "--path=/a/b-1.2,c:d@e%f+g" },
        { "NAME=value", "'NAME=value'" },
        { "", "''" },
        { "two words", "'two words'" },
        { "it's; $HOME `x` \"q\" *", "'it'\\''s; $HOME `x` \"q\" *'" },
        { "~", "'~'" },
        { "gr\xc3\xbc\xc3\x9f", "'gr\xc3\xbc\xc3\x9f'" },
        { "import a\nb('c\\d')", "$'import a\\x0ab(\\'c\\\\d\\')'" },
        { "\xff\xe2\x80\xae", "$'\\xff\\xe2\\x80\\xae'" },
    };
    struct mpr_arena arena = { 0 };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        assert_string_equal(mpr_shell_word(&arena, word[i][0]), word[i][1]);
    mpr_arena_free(&arena);
}

/* bash reads the quoted word as the original. */
static void bash_reads_a_quoted_word_unchanged(void **state)
{
    (void)state;
    static const char *const word[] = { "a b",
                                        "it's",
                                        "x\ny'\\\t\x01\x7f",
                                        "$(id)!",
                                        "\xff\xe2\x80\xae",
                                        ("a\x01"
                                         "1") };
    struct mpr_arena arena = { 0 };
    if (system("bash -c : 2>/dev/null")) skip();
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        char read[64] = "";
        setenv("LINE", mpr_arena_format(&arena, "printf %%s %s", mpr_shell_word(&arena, word[i])),
               1);
        FILE *f = popen("bash -c \"$LINE\"", "r");
        assert_non_null(f);
        read[fread(read, 1, sizeof read - 1, f)] = 0;
        assert_int_equal(pclose(f), 0);
        assert_string_equal(read, word[i]);
    }
    mpr_arena_free(&arena);
}

static void the_middle_of_a_long_text_is_cut(void **state)
{
    struct mpr_arena arena = { 0 };
    (void)state;
    assert_string_equal(mpr_utf8_shortened(&arena, "0123456789", 10), "0123456789");
    assert_string_equal(mpr_utf8_shortened(&arena, "0123456789a", 10), "012...789a");
    assert_string_equal(mpr_utf8_shortened(&arena, "äöüäöüäöü", 11), "äö...öü");
    assert_string_equal(mpr_utf8_shortened(&arena, "\x80\x80\x80\x80\x80", 4), "...");
    mpr_arena_free(&arena);
}

static const char *nearest_of(const char *text, const char *const *word)
{
    struct mpr_nearest nearest = { .text = text };
    while (*word) mpr_nearest_try(&nearest, *word++);
    return nearest.word ? nearest.word : "";
}

static void a_name_that_begins_like_the_text_is_nearer_than_a_similar_name(void **state)
{
    static const char *const word[] = { "bs=64", "bs=96", "phase_one (a.py:7)", "phase_two", NULL };
    (void)state;
    assert_string_equal(nearest_of("bs=9", word), "bs=96");
    assert_string_equal(nearest_of("bs=97", word), "bs=96");
    assert_string_equal(nearest_of("bs=1024", word), "bs=64");
    assert_string_equal(nearest_of("phase_", word), "phase_two");
    assert_string_equal(nearest_of("phase_o", word), "phase_one (a.py:7)");
    assert_string_equal(nearest_of("phase_twi", word), "phase_two");
    assert_string_equal(nearest_of("phase_one (a.py:12)", word), "phase_one (a.py:7)");
    assert_string_equal(nearest_of("ph", word), "");
    assert_string_equal(nearest_of("other", word), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_invalid_in_xml_or_terminals_are_unsafe),
        cmocka_unit_test(the_middle_of_a_long_text_is_cut),
        cmocka_unit_test(allocated_memory_is_zeroed),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(a_request_for_too_much_memory_ends_the_process),
        cmocka_unit_test(the_message_can_name_a_file),
        cmocka_unit_test(an_array_grows_by_doubling),
        cmocka_unit_test(an_array_has_at_most_the_elements_that_its_count_can_represent),
        cmocka_unit_test(an_array_that_cannot_grow_keeps_its_elements),
        cmocka_unit_test(an_array_grows_to_any_index_with_zeros_between),
        cmocka_unit_test(numbers_are_found_by_key),
        cmocka_unit_test_setup(keys_that_collide_are_distinguished, plain_hash),
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(bash_reads_a_quoted_word_unchanged),
        cmocka_unit_test_setup(entries_with_one_key_are_returned_one_by_one, plain_hash),
        cmocka_unit_test(a_search_counts_the_elements_before_a_bound),
        cmocka_unit_test(equal_elements_are_sorted_by_the_second_comparison),
        cmocka_unit_test(a_name_that_begins_like_the_text_is_nearer_than_a_similar_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
