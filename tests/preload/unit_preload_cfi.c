/* The reader of damaged call frame information reads nothing outside of its segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "stacks/cfi.h"

enum { PAGE = 4096, HEADER = 12, ROWS = 40, RECORD = 160 };

/* A copy of this program's tables. Pages that cannot be read are next to it: one begins at its end,
 * and one ends less than a page before its start. */
static struct mp_cfi_tables tables, copy;

/* The tables are next to other data. Gaps that AddressSanitizer inserts between them do not
 * matter. */
__attribute__((no_sanitize("address"))) static void copy_bytes(uint8_t *to, const uint8_t *from,
                                                               size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) ((volatile uint8_t *)to)[i] = from[i];
}

static void make_copy(void)
{
    const size_t bytes = (size_t)(tables.to - tables.from), pages = (bytes + PAGE - 1) / PAGE;
    uint8_t *memory = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + PAGE, pages * PAGE, PROT_READ | PROT_WRITE), 0);
    uint8_t *to = memory + (pages + 1) * PAGE, *from = to - bytes;
    copy_bytes(from, tables.from, bytes);
    copy = (struct mp_cfi_tables){ from, to, from + (tables.header - tables.from) };
}

/* Code addresses are relative to the tables. */
static struct mp_frame_rule rule_of(uintptr_t pc)
{
    return mp_cfi_rule_in(&copy, (uintptr_t)copy.header + (pc - (uintptr_t)tables.header));
}

static int first(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }
static void second(void) { qsort((uint8_t[]){ 2, 1 }, 2, 1, first); }

static void look_at_all(void)
{
    rule_of((uintptr_t)first + 8);
    rule_of((uintptr_t)second + 8);
    rule_of((uintptr_t)make_copy + 8);
}

static void change(uint8_t *at, size_t bytes, uint32_t to)
{
    uint8_t before[sizeof to];
    memcpy(before, at, bytes);
    memcpy(at, &to, bytes);
    look_at_all();
    memcpy(at, before, bytes);
}

static void change_every_byte(uint8_t *from, const uint8_t *to)
{
    for (uint8_t *at = from; at < to; at++) {
        for (unsigned value = 0; value < 256; value++) change(at, 1, value);
        static const uint32_t word[] = { 0,          1,          0x7fffffff, 0x80000000,
                                         0xfffffffe, 0xffffffff, 0x00ffffff };
        for (size_t i = 0; at + sizeof *word <= to && i < sizeof word / sizeof *word; i++)
            change(at, sizeof *word, word[i]);
    }
}

static int setup(void **state)
{
    (void)state;
    if (!mp_cfi_init() || !mp_cfi_tables((uintptr_t)first, &tables)) return 0;
    make_copy();
    return 0;
}

static void need_tables(void)
{
    if (!copy.header) skip();
}

static void a_copy_of_the_tables_has_the_same_rules(void **state)
{
    (void)state;
    need_tables();
    for (uintptr_t pc = (uintptr_t)first; pc < (uintptr_t)first + 32; pc++) {
        const struct mp_frame_rule a = mp_cfi_rule(pc), b = rule_of(pc);
        assert_memory_equal(&a, &b, sizeof a);
        if (pc == (uintptr_t)first) assert_int_equal(a.kind, MP_FRAME_SP);
    }
}

static void a_changed_byte_of_the_header_does_no_harm(void **state)
{
    (void)state;
    need_tables();
    uint8_t *header = (uint8_t *)(uintptr_t)copy.header;
    change_every_byte(header, header + HEADER + ROWS * 8);
}

/* Records of functions in this file. Their rows in the table are found by their addresses, which
 * are relative to the header. */
static void a_changed_byte_of_a_record_does_no_harm(void **state)
{
    (void)state;
    need_tables();
    uint32_t count;
    int32_t row[2];
    memcpy(&count, copy.header + 8, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(row, copy.header + HEADER + (size_t)i * sizeof row, sizeof row);
        const uintptr_t pc = (uintptr_t)tables.header + (uintptr_t)(intptr_t)row[0];
        if (pc != (uintptr_t)first && pc != (uintptr_t)second) continue;
        uint8_t *record = (uint8_t *)(uintptr_t)copy.header + row[1];
        change_every_byte(record, record + RECORD < copy.to ? record + RECORD : copy.to);
    }
}

/* The first record is the CIE of most functions. */
static void a_changed_byte_of_the_common_record_does_no_harm(void **state)
{
    (void)state;
    need_tables();
    int32_t to;
    memcpy(&to, copy.header + 4, sizeof to);
    uint8_t *frame = (uint8_t *)(uintptr_t)copy.header + 4 + to;
    change_every_byte(frame, frame + RECORD);
}

/* The segment contains only the first bytes of the tables. */
static void truncated_tables_do_no_harm(void **state)
{
    (void)state;
    need_tables();
    const struct mp_cfi_tables whole = copy;
    const size_t bytes = (size_t)(whole.to - whole.header);
    for (size_t keep = 0; keep < bytes && keep < 600; keep++) {
        copy.header = copy.to - keep;
        memmove((uint8_t *)(uintptr_t)copy.header, whole.header, keep < HEADER ? keep : HEADER);
        look_at_all();
    }
    copy = whole;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_the_tables_has_the_same_rules),
        cmocka_unit_test(a_changed_byte_of_the_header_does_no_harm),
        cmocka_unit_test(a_changed_byte_of_a_record_does_no_harm),
        cmocka_unit_test(a_changed_byte_of_the_common_record_does_no_harm),
        cmocka_unit_test(truncated_tables_do_no_harm),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
