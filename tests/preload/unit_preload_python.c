/* The reader of Python stacks checks layouts and objects before it uses them. The tests simulate
 * interpreters: layouts, and objects made of a test's bytes.
 *
 * The page after each object cannot be read, so reading one byte too many crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "emulated.h"
#include "python/python_frames.h"
#include "python/python_modules.h"

enum { ROUNDS = 20000, PAGE = 4096 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % n;
}

static void fill(uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)below(256);
}

/* ---- layouts */

/* The debug offsets of 3.13.0 and 3.14.10, grouped as in pycore_debug_offsets.h. */
#define COOKIE UINT64_C(0x7970677562656478)
// clang-format off
static const uint64_t told_313[] = {
    COOKIE, 0x30d00f0, 0,
    283320, 608, 632,                                                                       /* runtime */
    194968, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768, 7760,              /* interpreter */
    304, 0, 8, 16, 72, 152, 160, 232, 32,                                                   /* thread */
    80, 8, 0, 56, 72, 70,                                                                   /* frame */
    208, 112, 120, 128, 136, 68, 52, 96, 104, 200,                                          /* code */
    16, 8, 416, 24, 88, 168, 32, 24, 16, 40, 24, 16,                                        /* object, type, tuple, list */
    48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40, 240, 200,                   /* dict, float, int, bytes, text, gc */
};
// clang-format on
// clang-format off
static const uint64_t told_314[] = {
    COOKIE, 0x30e0af0, 0,
    316616, 784, 808,
    225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16, 7784, 0, 7800, 7792, 7992, 0,
    832, 0, 8, 16, 72, 152, 160, 232, 32,
    88, 8, 0, 56, 80, 74, 64, 0,
    216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0,
    16, 8, 416, 24, 88, 168, 40, 32, 16, 40, 24, 16,
    200, 24, 40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40,   /* set, dict, ... */
};
// clang-format on
enum {
    WORDS_313 = sizeof told_313 / sizeof *told_313,
    WORDS_314 = sizeof told_314 / sizeof *told_314
};

static const unsigned versions[] = { 0x309, 0x30a, 0x30b, 0x30c, 0x30d, 0x30e };
enum { VERSIONS = sizeof versions / sizeof *versions };

static const uint64_t *told_by(unsigned version) { return version == 0x30e ? told_314 : told_313; }

static struct mp_python_layout layout_of(unsigned version)
{
    struct mp_python_layout l;
    assert_true(mp_python_layout(version, told_by(version), &l));
    assert_int_equal(l.version, version);
    return l;
}

static void the_layout_is_read_from_the_interpreter(void **state)
{
    (void)state;
    const struct mp_python_layout old = layout_of(0x30d), l = layout_of(0x30e);
    assert_int_equal(old.frame_owner, 70);
    assert_int_equal(old.code_start, 200);
    assert_int_equal(old.items, 24);
    assert_int_equal(l.state_frame, 72);
    assert_int_equal(l.frame_code, 0);
    assert_int_equal(l.frame_previous, 8);
    assert_int_equal(l.frame_instr, 56);
    assert_int_equal(l.frame_locals, 80);
    assert_int_equal(l.frame_owner, 74);
    assert_int_equal(l.code_file, 112);
    assert_int_equal(l.code_name, 128);
    assert_int_equal(l.code_lines, 136);
    assert_int_equal(l.code_first_line, 68);
    assert_int_equal(l.code_arguments, 52);
    assert_int_equal(l.code_locals, 96);
    assert_int_equal(l.code_start, 208);
    assert_int_equal(l.items, 32);
}

static void an_inconsistent_layout_is_refused(void **state)
{
    (void)state;
    // clang-format off
    static const struct { unsigned version, word; uint64_t value; } bad[] = {
        { 0x30d, 0, 0 }, { 0x30d, 1, 0x30e00f0 }, { 0x30d, 2, 1 }, { 0x30d, 23, 1000 }, { 0x30d, 23, 73 }, { 0x30d, 29, 80 }, { 0x30d, 30, 16 },
        { 0x30d, 31, 0 }, { 0x30d, 33, 80 }, { 0x30d, 35, 208 }, { 0x30d, 38, UINT64_MAX }, { 0x30d, 39, 70 }, { 0x30d, 43, 0 }, { 0x30d, 45, 16 },
        { 0x30e, 1, 0x30f00f0 }, { 0x30e, 26, 832 }, { 0x30e, 36, 88 }, { 0x30e, 44, 214 }, { 0x30e, 50, 24 }, { 0x30e, 75, 24 }, { 0x30e, 80, 48 },
    };
    // clang-format on
    struct mp_python_layout l;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t words[WORDS_314];
        memcpy(words, told_by(bad[i].version),
               bad[i].version == 0x30e ? sizeof told_314 : sizeof told_313);
        words[bad[i].word] = bad[i].value;
        assert_false(mp_python_layout(bad[i].version, words, &l));
    }
    assert_false(mp_python_layout(0x30d, told_314, &l));
    assert_false(mp_python_layout(0x30e, told_313, &l));
    assert_false(mp_python_layout(0x30e, NULL, &l));
    assert_false(mp_python_layout(0x308, told_313, &l));
    assert_false(mp_python_layout(0x30f, told_314, &l));
}

/* ---- objects */

static char type_code, type_text, type_bytes, type_tuple, type_dict, type_odict;

static struct mp_python python_of(unsigned version)
{
    return (struct mp_python){ layout_of(version), &type_code, &type_text, &type_bytes,
                               &type_tuple,        &type_dict, &type_odict };
}

/* Memory with a page at its end that cannot be read. Objects of any size are placed directly before
 * that page. */
struct fence {
    uint8_t *end;
};

static struct fence fence(void)
{
    uint8_t *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(mprotect(at + PAGE, PAGE, PROT_NONE), 0);
    return (struct fence){ at + PAGE };
}

static void drop(struct fence f) { munmap(f.end - PAGE, 2 * PAGE); }

static void put(void *object, size_t offset, const void *value)
{
    memcpy((char *)object + offset, &value, sizeof value);
}
static void put_word(void *object, size_t offset, uint64_t value)
{
    memcpy((char *)object + offset, &value, sizeof value);
}
static void put_int(void *object, size_t offset, uint32_t value)
{
    memcpy((char *)object + offset, &value, sizeof value);
}

static uint8_t *object(struct fence f, size_t bytes, const void *type)
{
    uint8_t *at = f.end - bytes;
    memset(at, 0, bytes);
    put(at, MP_PYTHON_TYPE, type);
    return at;
}

static uint8_t *random_text(struct fence f, const struct mp_python *py)
{
    const unsigned kind = 1u << below(3), ascii = kind == 1 && below(2),
                   head = ascii ? py->layout.ascii : py->layout.compact;
    const size_t length = below(40), bytes = head + length * kind;
    uint8_t *at = object(f, bytes, &type_text);
    put_word(at, MP_PYTHON_SIZE, length);
    put_int(at, MP_PYTHON_TEXT_STATE, kind << 2 | 1u << 5 | ascii << 6);
    fill(at + head, length * kind);
    return at;
}

static uint8_t *random_bytes(struct fence f)
{
    const size_t n = below(60);
    uint8_t *at = object(f, MP_PYTHON_BYTES + n, &type_bytes);
    put_word(at, MP_PYTHON_SIZE, n);
    fill(at + MP_PYTHON_BYTES, n);
    return at;
}

static void strings_of_any_bytes_are_read_within_their_bounds(void **state)
{
    (void)state;
    const struct fence in = fence(), out = fence();
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct mp_python py = python_of(versions[i % VERSIONS]);
        const size_t cap = 1 + below(64);
        static const uint32_t broken[] = { 0 << 2 | 1 << 5, 3 << 2 | 1 << 5, 7 << 2 | 1 << 5,
                                           1 << 2 }; /* of an invalid kind, or not compact */
        uint8_t *text = random_text(in, &py);
        const bool bad_state = below(8) == 0, bad_type = below(8) == 0;
        if (bad_state) put_int(text, MP_PYTHON_TEXT_STATE, broken[below(4)]);
        if (bad_type) put(text, MP_PYTHON_TYPE, &type_bytes);
        const size_t n = mp_python_text(&py, text, out.end - cap, cap);
        assert_true(n < cap && !(n && (bad_state || bad_type)));
        assert_int_equal(out.end[n - cap], 0);
    }
    drop(in);
    drop(out);
}

static void ascii_and_other_strings_are_read_as_utf8(void **state)
{
    (void)state;
    const struct fence in = fence();
    for (unsigned i = 0; i < VERSIONS; i++) {
        const struct mp_python py = python_of(versions[i]);
        uint8_t out[32], *text = object(in, py.layout.compact + 4 * sizeof(uint32_t), &type_text);
        put_word(text, MP_PYTHON_SIZE, 4);
        put_int(text, MP_PYTHON_TEXT_STATE, 4 << 2 | 1 << 5);
        memcpy(text + py.layout.compact, (const uint32_t[]){ 'a', 0xef, 0x20ac, 0x1f40d },
               4 * sizeof(uint32_t));
        assert_int_equal(mp_python_text(&py, text, out, sizeof out), 10);
        assert_string_equal((char *)out, "a\xc3\xaf\xe2\x82\xac\xf0\x9f\x90\x8d");
        assert_int_equal(mp_python_text(&py, NULL, out, sizeof out), 0);
    }
    drop(in);
}

static void tables_of_any_bytes_are_read_within_their_bounds(void **state)
{
    (void)state;
    const struct fence table = fence(), code = fence();
    unsigned lines = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct mp_python py = python_of(versions[i % VERSIONS]);
        uint8_t *c = object(code, 256, &type_code);
        put_int(c, py.layout.code_first_line,
                below(2) ? (uint32_t)below(1000) : (uint32_t)below(UINT32_MAX) * 2);
        uint8_t *t = random_bytes(table);
        const bool bad_type = below(8) == 0;
        if (bad_type) put(t, MP_PYTHON_TYPE, &type_text);
        put(c, py.layout.code_lines, t);
        const struct mp_python_place place = { c, below(4) ? below(200) : UINT64_MAX >> below(64),
                                               NULL };
        const uint64_t line = mp_python_line(&py, &place);
        assert_false(line && bad_type);
        lines += line > 0;
    }
    assert_in_range(lines, ROUNDS / 10, ROUNDS);
    drop(table);
    drop(code);
}

/* ---- frames */

enum { FRAMES = 12, FRAME_BYTES = 512 };

struct chain {
    struct fence frame[FRAMES], code, other, names, state;
};

static struct chain chain(void)
{
    struct chain c = { .code = fence(), .other = fence(), .names = fence(), .state = fence() };
    for (int i = 0; i < FRAMES; i++) c.frame[i] = fence();
    return c;
}

static void drop_chain(const struct chain *c)
{
    for (int i = 0; i < FRAMES; i++) drop(c->frame[i]);
    drop(c->code);
    drop(c->other);
    drop(c->names);
    drop(c->state);
}

/* Fills a frame with random bytes, except for pointers, which refer to objects of the right or of
 * another kind. */
static void random_frame(const struct chain *c, const struct mp_python *py, uint8_t *frame,
                         const uint8_t *code, const uint8_t *other)
{
    const struct mp_python_layout *l = &py->layout;
    const void *objects[] = { NULL, other, code, code, code, code };
    fill(frame, FRAME_BYTES);
    put(frame, l->frame_previous, below(FRAMES) ? c->frame[below(FRAMES)].end - FRAME_BYTES : NULL);
    put_word(frame, l->frame_code, (uintptr_t)objects[below(6)] + below(4) % 3);
    put_word(frame, l->frame_locals,
             below(4) == 0 ? below(1000) << 2 | 3 : (uintptr_t)objects[below(6)] + below(4) % 3);
    if (l->frame_owner) frame[l->frame_owner] = (uint8_t)below(6);
}

static void frames_in_a_cycle_do_not_hang(void **state)
{
    (void)state;
    const struct chain c = chain();
    struct mp_python_place place[64];
    unsigned longest = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct mp_python py = python_of(versions[i % VERSIONS]);
        uint8_t *code = object(c.code, 256, &type_code), *other = object(c.other, 64, &type_text),
                *names = object(c.names, py.layout.items + sizeof(void *), &type_tuple);
        put_int(code, py.layout.code_arguments, (uint32_t)below(2));
        put(code, py.layout.code_locals, below(2) ? names : other);
        for (int f = 0; f < FRAMES; f++)
            random_frame(&c, &py, c.frame[f].end - FRAME_BYTES, code, other);
        uint8_t *thread = object(c.state, 256, NULL), *first = c.frame[0].end - FRAME_BYTES;
        put(thread, py.layout.state_frame, py.layout.cframe ? thread : first);
        if (py.layout.cframe) put(thread, py.layout.cframe_frame, first);
        const unsigned max = 1 + (unsigned)below(64), n = mp_python_walk(&py, thread, place, max);
        assert_true(n <= max);
        if (n > longest) longest = n;
        for (unsigned p = 0; p < n; p++) assert_ptr_equal(place[p].code, code);
    }
    assert_int_equal(longest, 64);
    assert_int_equal(
        mp_python_walk(&(struct mp_python){ .layout = layout_of(0x30c) }, NULL, place, 64), 0);
    drop_chain(&c);
}

/* ---- modules: a tree of objects of CPython 3.12 in one block of words, which is then damaged in
 * all ways */

enum {
    HEAP_WORDS = 512,
    NET = 8,
    LIST = 48,
    LEAF = 88,
    CLASS = 128,
    BASE = 192,
    BASES = 256,
    NET_DICT = 264,
    LIST_DICT = 304,
    NET_MODULES = 344,
    LIST_MODULES = 384,
    CLASS_DICT = 424,
    TEXTS = 464
};
enum { TEXT_WORDS = 9 };

struct heap {
    uint64_t word[HEAP_WORDS];
};

static uint64_t at(const struct heap *h, unsigned word) { return (uintptr_t)&h->word[word]; }

static void put_ascii(struct heap *h, unsigned word, const char *text)
{
    h->word[word + 1] = (uintptr_t)&type_text;
    h->word[word + 2] = strlen(text);
    h->word[word + 4] = 1 << 2 | 1 << 5 | 1 << 6;
    memcpy(&h->word[word + 5], text, strlen(text) + 1);
}

/* Writes a dict with one key. A table of a power of two of bytes precedes its entries. */
static void put_dict(struct heap *h, unsigned word, uint64_t key, uint64_t value)
{
    h->word[word + 1] = (uintptr_t)&type_dict;
    h->word[word + 4] = at(h, word + 8);
    h->word[word + 9] = 3 | 3 << 8 | 1 << 16;
    h->word[word + 11] = 1;
    h->word[word + 13] = key;
    h->word[word + 14] = value;
}

static void put_module(struct heap *h, unsigned word, uint64_t dict)
{
    h->word[word - 3] = dict;
    h->word[word + 1] = at(h, CLASS);
}

/* Net._modules["h"] is a list, whose _modules["2"] is a leaf. */
static void make_modules(struct heap *h)
{
    static const char *const names[] = { "_modules", "h", "2", "__module__" };
    memset(h, 0, sizeof *h);
    for (unsigned i = 0; i < 4; i++) put_ascii(h, TEXTS + i * TEXT_WORDS, names[i]);
    put_ascii(h, 500, "torch.nn.modules.module");
    put_module(h, NET, at(h, NET_DICT));
    put_module(h, LIST, at(h, LIST_DICT));
    put_module(h, LEAF, 0);
    put_dict(h, NET_DICT, at(h, TEXTS), at(h, NET_MODULES));
    put_dict(h, LIST_DICT, at(h, TEXTS), at(h, LIST_MODULES));
    put_dict(h, NET_MODULES, at(h, TEXTS + TEXT_WORDS), at(h, LIST));
    put_dict(h, LIST_MODULES, at(h, TEXTS + 2 * TEXT_WORDS), at(h, LEAF));
    put_dict(h, CLASS_DICT, at(h, TEXTS + 3 * TEXT_WORDS), at(h, 500));
    h->word[CLASS + 3] = (uintptr_t) "Block";
    h->word[CLASS + 168 / 8] = 1 << 4;
    h->word[CLASS + 344 / 8] = at(h, BASES);
    h->word[BASE + 3] = (uintptr_t) "Module";
    h->word[BASE + 264 / 8] = at(h, CLASS_DICT);
    h->word[BASES + 1] = (uintptr_t)&type_tuple;
    h->word[BASES + 2] = 2;
    h->word[BASES + 3] = at(h, CLASS);
    h->word[BASES + 4] = at(h, BASE);
}

static void places_of(const struct heap *h, struct mp_python_place *place)
{
    place[0] = (struct mp_python_place){ NULL, 0, &h->word[LEAF] };
    place[1] = (struct mp_python_place){ NULL, 0, NULL };
    place[2] = (struct mp_python_place){ NULL, 0, &h->word[NET] };
}

static void a_module_has_a_class_and_a_path(void **state)
{
    (void)state;
    if (emulator_lacks("process_vm_readv")) skip();
    static struct heap h;
    const struct mp_python py = python_of(0x30c);
    struct mp_python_place place[3];
    char text[16], small[3];
    make_modules(&h);
    places_of(&h, place);
    assert_true(mp_python_module_type(&py, &h.word[CLASS]));
    assert_false(mp_python_module_type(&py, &h.word[BASES]));
    assert_int_equal(mp_python_class(&py, &place[0], text, sizeof text), 5);
    assert_string_equal(text, "Block");
    assert_int_equal(mp_python_path(&py, place, 0, 3, text, sizeof text), 3);
    assert_string_equal(text, "h.2");
    assert_int_equal(mp_python_path(&py, place, 2, 3, text, sizeof text), 0);
    assert_int_equal(mp_python_path(&py, place, 0, 3, small, sizeof small), 1);
    assert_string_equal(small, "2");
}

/* The reader checks that objects referenced by a module exist, have the expected type, and form a
 * finite chain. */
static void broken_modules_do_no_harm(void **state)
{
    (void)state;
    if (emulator_lacks("process_vm_readv")) skip();
    static struct heap h;
    const struct fence gone = fence();
    const struct mp_python py = python_of(0x30c);
    struct mp_python_place place[3];
    char text[16];
    make_modules(&h);
    places_of(&h, place);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct heap whole = h;
        for (unsigned n = 1 + (unsigned)below(4); n--;) {
            const uint64_t values[] = { 0,
                                        below(64),
                                        UINT64_MAX >> below(64),
                                        at(&h, (unsigned)below(HEAP_WORDS)),
                                        (uintptr_t)gone.end - below(80),
                                        h.word[below(HEAP_WORDS)] };
            h.word[below(HEAP_WORDS)] = values[below(6)];
        }
        assert_true(mp_python_class(&py, &place[0], text, sizeof text) < sizeof text);
        assert_true(mp_python_path(&py, place, 0, 3, text, sizeof text) < sizeof text);
        assert_true(strlen(text) < sizeof text);
        mp_python_module_type(&py, (const void *)(uintptr_t)h.word[LEAF + 1]);
        h = whole;
    }
    assert_int_equal(mp_python_path(&py, place, 0, 3, text, sizeof text), 3);
    drop(gone);
}

/* A thousand entries all refer to the first module. The search ends before it has visited all of
 * them at each level. */
static void modules_in_a_cycle_do_not_hang(void **state)
{
    (void)state;
    enum { CHILDREN = 1000 };
    static struct {
        struct heap h;
        uint64_t dict[16 + 2 * CHILDREN];
    } s;
    const struct mp_python py = python_of(0x30c);
    struct mp_python_place place[3];
    char text[16];
    make_modules(&s.h);
    places_of(&s.h, place);
    memcpy(s.dict, &s.h.word[NET_MODULES], 8 * sizeof *s.dict);
    memcpy(s.dict + 8, &s.h.word[NET_MODULES + 8], 5 * sizeof *s.dict);
    s.dict[4] = (uintptr_t)&s.dict[8];
    s.dict[11] = CHILDREN;
    for (unsigned i = 0; i < CHILDREN; i++) {
        s.dict[13 + 2 * i] = at(&s.h, TEXTS);
        s.dict[14 + 2 * i] = at(&s.h, NET);
    }
    s.h.word[NET_DICT + 14] = (uintptr_t)s.dict;
    assert_int_equal(mp_python_path(&py, place, 0, 3, text, sizeof text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_read_from_the_interpreter),
        cmocka_unit_test(an_inconsistent_layout_is_refused),
        cmocka_unit_test(strings_of_any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(ascii_and_other_strings_are_read_as_utf8),
        cmocka_unit_test(tables_of_any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(frames_in_a_cycle_do_not_hang),
        cmocka_unit_test(a_module_has_a_class_and_a_path),
        cmocka_unit_test(broken_modules_do_no_harm),
        cmocka_unit_test(modules_in_a_cycle_do_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
