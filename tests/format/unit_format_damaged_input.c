/* Decoders of damaged bytes end with an error or with wrong but bounded values, and stay in their
 * buffers (which the asan preset checks). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpf/columns.h"
#include "mpf/frame.h"
#include "mpf/journal.h"
#include "random.h"

enum { EVENTS = 400, ROUNDS = 20000 };

static size_t valid_body(uint8_t *out, size_t cap)
{
    const struct mpf_clock clock = { 1, 1, 1 };
    void *memory = calloc(1, mpf_columns_memory(EVENTS));
    struct mpf_columns *c = mpf_columns_init(memory, EVENTS, 10);
    uint64_t seed = 42;
    static const unsigned ops[] = { MPF_OP_ALLOC, MPF_OP_FREE, MPF_OP_MOVE_BEGIN, MPF_OP_MOVE_END,
                                    MPF_OP_MAP,   MPF_OP_PUSH, MPF_OP_NAME };
    mpf_columns_begin(c);
    for (int i = 0; i < EVENTS; i++) {
        const unsigned op = ops[below(&seed, sizeof ops / sizeof *ops)];
        const struct mpf_slot s = { (uint64_t)i * 700, below(&seed, 50) << 4,
                                    mpf_slot_head(op, 1, 0, below(&seed, 16)) };
        mpf_columns_add(c, &s, (uint32_t)below(&seed, 3), (const uint8_t *)"0123456789abcdef");
    }
    const long n = mpf_columns_finish(c, &clock, &clock, out, cap);
    free(memory);
    assert_true(n > 0);
    return (size_t)n;
}

static void mutate(uint8_t *bytes, size_t n, uint64_t *seed)
{
    for (uint64_t i = 1 + below(seed, 8); i > 0; i--) {
        const size_t at = below(seed, n);
        if (below(seed, 2)) bytes[at] ^= (uint8_t)(1u << below(seed, 8));
        else bytes[at] = (uint8_t)next_random(seed);
    }
}

/* Returns the number of decoded events, whatever they are. */
static uint64_t decode(const uint8_t *body, size_t bytes)
{
    static struct mpf_columns_reader r;
    struct mpf_event e[32];
    const long events = mpf_columns_events(body, bytes);
    if (events < 0) return 0;
    assert_true((size_t)events <= bytes);
    struct mpf_block *block = malloc(((size_t)(uint32_t)events + 1) * sizeof *block);
    uint64_t n = 0;
    if (mpf_columns_open(&r, body, bytes, 0, block, (uint32_t)events) == MPF_OK) {
        for (long got; (got = mpf_columns_next(&r, e, 32)) > 0; n += (uint64_t)got)
            for (long i = 0; i < got; i++) {
                if (mpf_op_class(e[i].op) == MPF_CLASS_DATA) assert_non_null(e[i].data);
                if (e[i].data)
                    assert_true(e[i].data >= body && e[i].data + e[i].size <= body + bytes);
            }
    }
    free(block);
    return n;
}

static void mutated_columns_do_no_harm(void **state)
{
    (void)state;
    static uint8_t good[1 << 16];
    const size_t n = valid_body(good, sizeof good);
    uint64_t seed = 99, whole = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t keep = below(&seed, 4) ? n : below(&seed, n + 1);
        uint8_t *bytes = malloc(keep + 1);
        memcpy(bytes, good, keep);
        if (keep) mutate(bytes, keep, &seed);
        const uint64_t events = decode(bytes, keep);
        assert_true(events <= n);
        whole += events == EVENTS;
        free(bytes);
    }
    assert_true(whole > 0 && whole < ROUNDS); /* some mutations are harmless, others are detected */
}

static void reading_on_after_an_error_stays_in_the_column(void **state)
{
    (void)state;
    static uint8_t body[1 << 16];
    static struct mpf_columns_reader r;
    static struct mpf_block block[EVENTS];
    const size_t n = valid_body(body, sizeof body);
    assert_int_equal(mpf_columns_open(&r, body, n, 0, block, EVENTS), MPF_OK);
    const uint8_t *end = r.op.end;
    memset(body + (r.op.at - body), 255, EVENTS); /* a pair that does not exist */
    struct mpf_event e;
    for (int i = 0; i < EVENTS; i++) assert_int_equal(mpf_columns_next(&r, &e, 1), MPF_ERR_DAMAGED);
    assert_int_equal(mpf_columns_next(&r, &e, 1), 0);
    assert_ptr_equal(r.op.at, end);
}

enum { HEAD = sizeof(struct mpf_journal), BYTES = HEAD + MPF_CHUNK_BYTES };

/* Writes a journal with one chunk in which every slot is committed. */
static void valid_journal(uint8_t *image, uint64_t *seed)
{
    static const unsigned ops[] = { MPF_OP_ALLOC, MPF_OP_FREE, MPF_OP_NAME, MPF_OP_CONT,
                                    MPF_OP_CONT };
    const struct mpf_journal head = { .magic = MPF_JOURNAL_MAGIC,
                                      .major = MPF_MAJOR,
                                      .head_bytes = HEAD,
                                      .chunk_bytes = MPF_CHUNK_BYTES,
                                      .slot_bytes = sizeof(struct mpf_slot),
                                      .chunks = 1 };
    struct mpf_chunk chunk = { .state = MPF_CHUNK_USED, .tag = 1 };
    for (uint32_t i = 0; i < MPF_CHUNK_SLOTS; i++)
        chunk.slot[i] = (struct mpf_slot){
            i, i, mpf_slot_head(ops[below(seed, sizeof ops / sizeof *ops)], 1, 1, below(seed, 40))
        };
    memcpy(image, &head, sizeof head);
    memcpy(image + HEAD, &chunk, sizeof chunk);
}

static void mutated_journals_do_no_harm(void **state)
{
    (void)state;
    static uint8_t image[BYTES];
    static struct mpf_recovered found[MPF_CHUNK_SLOTS];
    uint64_t seed = 4711, events = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct mpf_journal head;
        valid_journal(image, &seed);
        mutate(image, below(&seed, 2) ? BYTES : HEAD + MPF_CHUNK_HEAD, &seed);
        if (mpf_journal_check(image, BYTES, &head) != MPF_OK) {
            refused++;
            continue;
        }
        for (uint32_t index = 0; index < 3; index++) {
            uint32_t torn;
            const uint32_t n =
                mpf_journal_chunk(image, BYTES, &head, index, below(&seed, 3), found, &torn);
            assert_true(n <= MPF_CHUNK_SLOTS);
            for (uint32_t i = 0; i < n; i++) {
                uint8_t data[MPF_DATA_MAX];
                struct mpf_event e;
                events +=
                    mpf_journal_event(&found[i], &head.start, &head.last, 0, &e, data) == MPF_OK;
            }
        }
    }
    assert_true(events > 0 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_columns_do_no_harm),
        cmocka_unit_test(reading_on_after_an_error_stays_in_the_column),
        cmocka_unit_test(mutated_journals_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
