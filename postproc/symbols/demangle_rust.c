/* Rust's mangling of 2018 (RFC 2603, "v0").  A name is read from left to right and printed at the
 * same time; a back reference reads an earlier part again.  After an error, `failed` is set and all
 * functions read and print nothing.
 *
 * Libraries are not used, because the names in a log may be forged.  libiberty's rust_demangle (of
 * Debian 12), the only packaged one for C, prints real names as this file does, but only limits the
 * depth.  Forty back references in a name of 300 letters print 2^40 letters, and a binder of 30
 * letters in the path of an impl counts for years (tests/postproc/test_demangle.c has both).
 * longjmp from its callback could stop the first, but the second never calls it.  rustc-demangle is
 * limited, but written in Rust, or in C that would have to be copied here. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "demangle.h"

enum { TEXT_BYTES = 4096, MAX_DEPTH = 128, MAX_LIFETIMES = 1024 };

struct state {
    const char *start, *at; /* start: the character after "_R", from which back references count */
    unsigned depth;         /* of nested paths, types and constants */
    unsigned quiet;         /* not 0: text is not printed */
    uint64_t lifetimes;     /* declared by the enclosing binders */
    bool failed;
    size_t used;
    char text[TEXT_BYTES];
};

static void fail(struct state *s) { s->failed = true; }

static char peek(const struct state *s) { return s->failed ? 0 : *s->at; }

static bool eat(struct state *s, char c)
{
    if (!c || peek(s) != c) return false;
    s->at++;
    return true;
}

static char next(struct state *s)
{
    const char c = peek(s);
    if (c) s->at++;
    else fail(s);
    return c;
}

static void put_bytes(struct state *s, const char *text, size_t bytes)
{
    if (s->failed || s->quiet) return;
    if (bytes >= TEXT_BYTES - s->used) {
        fail(s);
        return;
    }
    memcpy(s->text + s->used, text, bytes);
    s->used += bytes;
}

static void put(struct state *s, const char *text) { put_bytes(s, text, strlen(text)); }

static void put_number(struct state *s, uint64_t n)
{
    char text[24];
    put_bytes(s, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n));
}

/* Begins a nested path, type or constant, which ends with s->depth--.  Returns false after an
 * error. */
static bool enter(struct state *s)
{
    if (s->depth++ >= MAX_DEPTH) fail(s);
    return !s->failed;
}

/* ---- Punycode (RFC 3492), in which Rust writes "_" instead of the last "-" */

/* The names and numbers of the RFC. */
enum {
    BASE = 36,
    TMIN = 1,
    TMAX = 26,
    SKEW = 38,
    DAMP = 700,
    INITIAL_BIAS = 72,
    INITIAL_N = 128,
    MAX_LETTERS = 256
};

static uint32_t adapt(uint32_t delta, uint32_t letters, bool first)
{
    uint32_t k = 0;
    delta /= first ? DAMP : 2;
    delta += delta / letters;
    for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE) delta /= BASE - TMIN;
    return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

/* Reads a delta of the RFC: it encodes the place and the value of the next letter.  Returns -1 if
 * it is not a number or is 2^31 or more. */
static int64_t punycode_delta(const char **at, const char *end, uint32_t bias)
{
    uint64_t sum = 0, weight = 1;
    for (uint32_t k = BASE; *at < end; k += BASE) {
        const char c = *(*at)++;
        const int digit = c >= 'a' && c <= 'z' ? c - 'a' : c >= '0' && c <= '9' ? c - '0' + 26 : -1;
        if (digit < 0) return -1;
        sum += (uint64_t)digit * weight;
        if (sum > INT32_MAX) return -1;
        const uint32_t t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
        if ((uint32_t)digit < t) return (int64_t)sum;
        weight *= BASE - t;
        if (weight > INT32_MAX) return -1;
    }
    return -1;
}

/* Writes a letter as UTF-8.  Returns its bytes, or 0 if it is not a letter. */
static size_t put_utf8(uint32_t c, char *out)
{
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    out[0] = (char)c;
    if (bytes == 1) return 1;
    for (size_t i = bytes; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> bytes & 0xf0) | c);
    return bytes;
}

/* Writes the decoded text as UTF-8 without a final zero.  Returns its bytes, or 0 if it is not
 * Punycode or does not fit. */
static size_t decode_punycode(const char *text, size_t bytes, char *out, size_t cap)
{
    uint32_t letter[MAX_LETTERS], count = 0, n = INITIAL_N, place = 0, bias = INITIAL_BIAS;
    const char *end = text + bytes, *plain_end = memrchr(text, '_', bytes);
    bool first = true;
    if (bytes > MAX_LETTERS) return 0;
    for (; plain_end && text < plain_end; text++) letter[count++] = (uint8_t)*text;
    if (plain_end) text++;
    while (text < end) {
        const int64_t delta = punycode_delta(&text, end, bias);
        if (delta < 0) return 0;
        bias = adapt((uint32_t)delta, count + 1, first);
        first = false;
        const uint64_t to = place + (uint64_t)delta;
        n += (uint32_t)(to / (count + 1)); /* cannot overflow: delta is below 2^31 */
        place = (uint32_t)(to % (count + 1));
        if (n > 0x10ffff) return 0;
        memmove(&letter[place + 1], &letter[place], (count - place) * sizeof *letter);
        letter[place++] = n;
        count++;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = cap - used < 4 ? 0 : put_utf8(letter[i], out + used);
        if (!length) return 0;
        used += length;
    }
    return used;
}

/* ---- numbers, identifiers and lifetimes */

static int digit_of_62(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 36;
    return -1;
}

/* "_" is 0, "0_" is 1. */
static uint64_t number_62(struct state *s)
{
    uint64_t n = 0;
    if (eat(s, '_')) return 0;
    while (!s->failed && !eat(s, '_')) {
        const int digit = digit_of_62(next(s));
        if (digit < 0 || n > (UINT64_MAX - 61) / 62) fail(s);
        else n = n * 62 + (unsigned)digit;
    }
    return n + 1;
}

static uint64_t optional_62(struct state *s, char tag)
{
    return eat(s, tag) ? number_62(s) + 1 : 0;
}

static uint64_t disambiguator(struct state *s) { return optional_62(s, 's'); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t decimal(struct state *s)
{
    size_t n = 0;
    if (!is_digit(peek(s))) fail(s);
    if (eat(s, '0')) return 0;
    while (is_digit(peek(s))) {
        n = n * 10 + (size_t)(next(s) - '0');
        if (n > TEXT_BYTES) fail(s);
    }
    return n;
}

struct identifier {
    const char *text;
    size_t bytes;
    bool is_punycode;
};

static struct identifier identifier(struct state *s)
{
    struct identifier i = { .is_punycode = eat(s, 'u') };
    i.bytes = decimal(s);
    eat(s, '_');
    i.text = s->at;
    if (s->failed || strnlen(s->at, i.bytes) < i.bytes) fail(s);
    else s->at += i.bytes;
    return i;
}

static void put_identifier(struct state *s, struct identifier i)
{
    char text[1024];
    if (s->failed) return;
    if (!i.is_punycode) {
        put_bytes(s, i.text, i.bytes);
        return;
    }
    const size_t bytes = decode_punycode(i.text, i.bytes, text, sizeof text);
    if (bytes) put_bytes(s, text, bytes);
    else fail(s);
}

/* Lifetimes are counted from the innermost that is declared; 0 is erased. */
static void put_lifetime(struct state *s, uint64_t index)
{
    if (index > s->lifetimes) fail(s);
    const uint64_t n = index ? s->lifetimes - index : 0;
    const char letter[] = { '\'', index ? (char)('a' + n % 26) : '_', 0 };
    put(s, letter);
    if (n >= 26) put_number(s, n / 26);
}

/* "for<'a, 'b> ".  Returns the number of lifetimes that it declares. */
static uint64_t binder(struct state *s)
{
    const uint64_t count = optional_62(s, 'G');
    if (count > MAX_LIFETIMES || s->lifetimes > MAX_LIFETIMES) fail(s);
    for (uint64_t i = 0; i < count && !s->failed; i++) {
        put(s, i ? ", " : "for<");
        s->lifetimes++;
        put_lifetime(s, 1);
    }
    if (count) put(s, "> ");
    return s->failed ? 0 : count;
}

/* ---- paths */

static void path(struct state *s, bool is_value);
static void type(struct state *s);
static void constant(struct state *s);
static bool open_path(struct state *s);

/* Reads a type, and prints text before and after it. */
static void type_in(struct state *s, const char *before, const char *after)
{
    put(s, before);
    type(s);
    put(s, after);
}

/* Reads a back reference after its "B": evaluates @read at the earlier place, unless nothing is
 * printed. */
#define BACK(s, read)                                                                              \
    do {                                                                                           \
        const char *here_ = s->at - 1;                                                             \
        const uint64_t to_ = number_62(s);                                                         \
        const char *after_ = s->at;                                                                \
        if (s->failed || to_ >= (uint64_t)(here_ - s->start)) fail(s);                             \
        else if (!s->quiet) {                                                                      \
            s->at = s->start + to_;                                                                \
            read;                                                                                  \
            s->at = after_;                                                                        \
        }                                                                                          \
    } while (0)

static void generic_argument(struct state *s)
{
    if (eat(s, 'L')) put_lifetime(s, number_62(s));
    else if (eat(s, 'K')) constant(s);
    else type(s);
}

/* Reads items up to "E" and separates them by commas.  Returns their number. */
static unsigned list(struct state *s, void (*one)(struct state *))
{
    unsigned n = 0;
    for (; !s->failed && !eat(s, 'E'); n++) {
        if (n) put(s, ", ");
        one(s);
    }
    return n;
}

/* "::name", "::{closure#0}" */
static void nested(struct state *s, bool is_value)
{
    const char space = next(s);
    path(s, is_value);
    const uint64_t number = disambiguator(s);
    const struct identifier name = identifier(s);
    if (space >= 'a' && space <= 'z') {
        if (name.bytes) put(s, "::");
        put_identifier(s, name);
    } else if (space >= 'A' && space <= 'Z') {
        put(s, "::{");
        if (space == 'C') put(s, "closure");
        else if (space == 'S') put(s, "shim");
        else put_bytes(s, &space, 1);
        if (name.bytes) put(s, ":");
        put_identifier(s, name);
        put(s, "#");
        put_number(s, number);
        put(s, "}");
    } else fail(s);
}

/* "<type>", "<type as trait>".  The path of the impl is not printed; the type says enough. */
static void self_type(struct state *s, bool has_impl, bool has_trait)
{
    if (has_impl) {
        disambiguator(s);
        s->quiet++;
        path(s, false);
        s->quiet--;
    }
    type_in(s, "<", has_trait ? " as " : "");
    if (has_trait) path(s, false);
    put(s, ">");
}

/* @is_value: "::" precedes its generic arguments */
static void path(struct state *s, bool is_value)
{
    if (enter(s)) {
        switch (next(s)) {
        case 'C':
            disambiguator(s);
            put_identifier(s, identifier(s));
            break;
        case 'M': self_type(s, true, false); break;
        case 'X': self_type(s, true, true); break;
        case 'Y': self_type(s, false, true); break;
        case 'N': nested(s, is_value); break;
        case 'I':
            path(s, is_value);
            put(s, is_value ? "::<" : "<");
            list(s, generic_argument);
            put(s, ">");
            break;
        case 'B': BACK(s, path(s, is_value)); break;
        default: fail(s);
        }
    }
    s->depth--;
}

/* Prints a path without the ">" of its generic arguments, and returns true if it has some. */
static bool open_path(struct state *s)
{
    bool open = false;
    if (enter(s)) {
        if (eat(s, 'B')) BACK(s, open = open_path(s));
        else if (eat(s, 'I')) {
            path(s, false);
            put(s, "<");
            list(s, generic_argument);
            open = true;
        } else path(s, false);
    }
    s->depth--;
    return open;
}

/* "dyn Iterator<Item = u8> + Send" */
static void dyn(struct state *s)
{
    put(s, "dyn ");
    const uint64_t bound = binder(s);
    for (bool first = true; !s->failed && !eat(s, 'E'); first = false) {
        if (!first) put(s, " + ");
        bool open = open_path(s);
        while (eat(s, 'p')) {
            put(s, open ? ", " : "<");
            open = true;
            put_identifier(s, identifier(s));
            type_in(s, " = ", "");
        }
        if (open) put(s, ">");
    }
    s->lifetimes -= bound;
    if (!eat(s, 'L')) fail(s);
    const uint64_t lifetime = number_62(s);
    if (!lifetime) return;
    put(s, " + ");
    put_lifetime(s, lifetime);
}

static void function(struct state *s)
{
    const uint64_t bound = binder(s);
    if (eat(s, 'U')) put(s, "unsafe ");
    if (eat(s, 'K')) { /* the ABI, whose name has "_" for "-" */
        const struct identifier name =
            eat(s, 'C') ? (struct identifier){ "C", 1, false } : identifier(s);
        put(s, "extern \"");
        for (size_t i = 0; !s->failed && i < name.bytes; i++)
            put_bytes(s, name.text[i] == '_' ? "-" : &name.text[i], 1);
        put(s, "\" ");
    }
    put(s, "fn(");
    list(s, type);
    put(s, ")");
    if (!eat(s, 'u')) type_in(s, " -> ", "");
    s->lifetimes -= bound;
}

static void reference(struct state *s, const char *mutability)
{
    put(s, "&");
    const uint64_t lifetime = eat(s, 'L') ? number_62(s) : 0;
    if (lifetime) {
        put_lifetime(s, lifetime);
        put(s, " ");
    }
    type_in(s, mutability, "");
}

static void compound(struct state *s, char tag)
{
    switch (tag) {
    case 'A':
        type_in(s, "[", "; ");
        constant(s);
        put(s, "]");
        break;
    case 'S': type_in(s, "[", "]"); break;
    case 'T':
        put(s, "(");
        put(s, list(s, type) == 1 ? ",)" : ")");
        break;
    case 'R': reference(s, ""); break;
    case 'Q': reference(s, "mut "); break;
    case 'P': type_in(s, "*const ", ""); break;
    case 'O': type_in(s, "*mut ", ""); break;
    case 'F': function(s); break;
    case 'D': dyn(s); break;
    case 'B': BACK(s, type(s)); break;
    default: s->at--; path(s, false);
    }
}

static void type(struct state *s)
{
    static const char *const basic[] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    if (enter(s)) {
        const char tag = next(s);
        const char *name = tag >= 'a' && tag <= 'z' ? basic[tag - 'a'] : NULL;
        if (name) put(s, name);
        else if (tag) compound(s, tag);
    }
    s->depth--;
}

/* ---- constants */

/* Reads hexadecimal digits up to "_".  Returns their number, and the last 16 in *n. */
static size_t hexadecimal(struct state *s, uint64_t *n)
{
    const char *from = s->at;
    for (*n = 0; !s->failed && !eat(s, '_');) {
        const int digit = digit_of_62(next(s));
        if (digit < 0 || digit > 15) fail(s);
        *n = *n << 4 | (unsigned)digit;
    }
    return s->failed ? 0 : (size_t)(s->at - 1 - from);
}

/* A number of 128 bits stays hexadecimal. */
static void number(struct state *s)
{
    const char *digits = s->at;
    uint64_t n;
    const size_t count = hexadecimal(s, &n);
    if (count > 16) {
        put(s, "0x");
        put_bytes(s, digits, count);
    } else put_number(s, n);
}

static void character(struct state *s)
{
    uint64_t n;
    char text[16];
    if (hexadecimal(s, &n) > 6) fail(s);
    const bool plain = n >= ' ' && n < 127 && n != '\'' && n != '\\';
    snprintf(text, sizeof text, plain ? "'%c'" : "'\\u{%x}'", (unsigned)n);
    put(s, text);
}

static void constant(struct state *s)
{
    if (enter(s)) {
        const char tag = next(s);
        if (tag == 'p') put(s, "_");
        else if (tag == 'B') BACK(s, constant(s));
        else if (tag == 'b') {
            if (eat(s, '0')) put(s, "false");
            else if (eat(s, '1')) put(s, "true");
            else fail(s);
            if (!eat(s, '_')) fail(s);
        } else if (tag == 'c') character(s);
        else if (tag && strchr("aslxnihtmyoj", tag)) {
            if (eat(s, 'n')) put(s, "-");
            number(s);
        } else fail(s);
    }
    s->depth--;
}

/* The path may be followed by the crate that instantiated it and a suffix of the compiler. */
char *mpr_demangle_rust(const char *name)
{
    struct state *s = mpr_alloc(1, sizeof *s);
    s->start = s->at = name + 2;
    path(s, true);
    if (peek(s) && *s->at != '.' && *s->at != '$') {
        s->quiet++;
        path(s, false);
    }
    if (peek(s) && *s->at != '.' && *s->at != '$') fail(s);
    char *text = s->failed ? NULL : mpr_text_copy_part(s->text, s->used);
    free(s);
    return text;
}
