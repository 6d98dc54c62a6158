/* Rust's mangling of 2018 (RFC 2603, "v0").  A symbol is read from left to right and printed at
 * once; a back reference reads an earlier place again.
 *
 * Not a library's, for a log's names may be anybody's.  Of those that distributions package for C
 * there is one, libiberty's rust_demangle (Debian 12's was tried).  It prints real names as this
 * file does, but bounds depth only: forty back references, 300 letters, ask for 2^40 letters of
 * text and all memory, and a binder in an impl's path, 30 letters, is counted through for years
 * (tests/postproc/test_demangle.c has both).  Its callback can stop the first by longjmp, the
 * second never calls it. rustc-demangle is bounded, but is Rust's, or C that would have to be
 * copied here. */
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "rust_symbol.h"

static void path(struct state *s, bool is_value);
static void type(struct state *s);
static void constant(struct state *s);
static bool open_path(struct state *s);

/* Reads what is at an earlier place, once the "B" is eaten; what is not printed need not be read
 * again. */
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

/* Up to the "E", separated by commas; how many. */
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

/* Where an impl is written says nothing that its type does not. */
static void skip_impl(struct state *s)
{
    disambiguator(s);
    s->quiet++;
    path(s, false);
    s->quiet--;
}

static void put_self(struct state *s, bool has_trait)
{
    put(s, "<");
    type(s);
    if (has_trait) {
        put(s, " as ");
        path(s, false);
    }
    put(s, ">");
}

/* A value's generic arguments have "::" before them. */
static void path(struct state *s, bool is_value)
{
    if (enter(s)) {
        switch (next(s)) {
        case 'C':
            disambiguator(s);
            put_identifier(s, identifier(s));
            break;
        case 'M':
            skip_impl(s);
            put_self(s, false);
            break;
        case 'X':
            skip_impl(s);
            put_self(s, true);
            break;
        case 'Y': put_self(s, true); break;
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
    leave(s);
}

/* Leaves "<" open behind generic arguments: true. */
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
    leave(s);
    return open;
}

/* "Iterator<Item = u8>" */
static void dyn_trait(struct state *s)
{
    bool open = open_path(s);
    while (eat(s, 'p')) {
        put(s, open ? ", " : "<");
        open = true;
        put_identifier(s, identifier(s));
        put(s, " = ");
        type(s);
    }
    if (open) put(s, ">");
}

static void dyn(struct state *s)
{
    put(s, "dyn ");
    const uint64_t bound = binder(s);
    for (bool first = true; !s->failed && !eat(s, 'E'); first = false) {
        if (!first) put(s, " + ");
        dyn_trait(s);
    }
    s->lifetimes -= bound;
    if (!eat(s, 'L')) fail(s);
    const uint64_t lifetime = number_62(s);
    if (!lifetime) return;
    put(s, " + ");
    put_lifetime(s, lifetime);
}

/* A "-" in its name is "_" here. */
static void abi(struct state *s)
{
    const struct identifier name =
        eat(s, 'C') ? (struct identifier){ "C", 1, false } : identifier(s);
    put(s, "extern \"");
    for (size_t i = 0; !s->failed && i < name.bytes; i++)
        put_bytes(s, name.text[i] == '_' ? "-" : &name.text[i], 1);
    put(s, "\" ");
}

static void function(struct state *s)
{
    const uint64_t bound = binder(s);
    if (eat(s, 'U')) put(s, "unsafe ");
    if (eat(s, 'K')) abi(s);
    put(s, "fn(");
    list(s, type);
    put(s, ")");
    if (!eat(s, 'u')) {
        put(s, " -> ");
        type(s);
    }
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
    put(s, mutability);
    type(s);
}

static void compound(struct state *s, char tag)
{
    switch (tag) {
    case 'A':
        put(s, "[");
        type(s);
        put(s, "; ");
        constant(s);
        put(s, "]");
        break;
    case 'S':
        put(s, "[");
        type(s);
        put(s, "]");
        break;
    case 'T':
        put(s, "(");
        put(s, list(s, type) == 1 ? ",)" : ")");
        break;
    case 'R': reference(s, ""); break;
    case 'Q': reference(s, "mut "); break;
    case 'P':
        put(s, "*const ");
        type(s);
        break;
    case 'O':
        put(s, "*mut ");
        type(s);
        break;
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
    leave(s);
}

/* ---- constants */

/* Hexadecimal digits up to "_": how many; *n are the last 16. */
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

/* One of 128 bits stays hexadecimal. */
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

static void truth(struct state *s)
{
    if (eat(s, '0')) put(s, "false");
    else if (eat(s, '1')) put(s, "true");
    else fail(s);
    if (!eat(s, '_')) fail(s);
}

static void constant(struct state *s)
{
    if (enter(s)) {
        const char tag = next(s);
        if (tag == 'p') put(s, "_");
        else if (tag == 'B') BACK(s, constant(s));
        else if (tag == 'b') truth(s);
        else if (tag == 'c') character(s);
        else if (tag && strchr("aslxnihtmyoj", tag)) {
            if (eat(s, 'n')) put(s, "-");
            number(s);
        } else fail(s);
    }
    leave(s);
}

/* Behind the path may be the crate that made an instance of it, and what the compiler's vendor
 * adds. */
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
    char *text = s->failed ? NULL : mpr_text_part(s->text, s->used);
    free(s);
    return text;
}
