/* Letters, numbers and identifiers of a Rust symbol, and the text that comes of them.  What the
 * symbol cannot be is kept in `failed`: from then on everything reads and prints nothing.  Private
 * to demangle_rust.c. */
#ifndef MPR_RUST_SYMBOL_H
#define MPR_RUST_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "punycode.h"

enum { TEXT_BYTES = 4096, DEPTH = 128, LIFETIMES = 1024 };

struct state {
    const char *start, *at; /* behind "_R", where back references count from */
    unsigned depth;         /* of paths, types and constants in each other */
    unsigned quiet;         /* not 0: read and print nothing */
    uint64_t lifetimes;     /* that enclosing binders declare */
    bool failed;
    size_t used;
    char text[TEXT_BYTES];
};

static inline void fail(struct state *s) { s->failed = true; }

static inline char peek(const struct state *s) { return s->failed ? 0 : *s->at; }

static inline bool eat(struct state *s, char c)
{
    if (!c || peek(s) != c) return false;
    s->at++;
    return true;
}

static inline char next(struct state *s)
{
    const char c = peek(s);
    if (c) s->at++;
    else fail(s);
    return c;
}

static inline void put_bytes(struct state *s, const char *text, size_t bytes)
{
    if (s->failed || s->quiet) return;
    if (bytes >= TEXT_BYTES - s->used) {
        fail(s);
        return;
    }
    memcpy(s->text + s->used, text, bytes);
    s->used += bytes;
}

static inline void put(struct state *s, const char *text) { put_bytes(s, text, strlen(text)); }

static inline void put_number(struct state *s, uint64_t n)
{
    char text[24];
    put_bytes(s, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n));
}

static inline bool enter(struct state *s)
{
    if (s->depth++ >= DEPTH) fail(s);
    return !s->failed;
}

static inline void leave(struct state *s) { s->depth--; }

/* ---- numbers and identifiers */

static inline int digit_of_62(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 36;
    return -1;
}

/* "_" is 0, "0_" is 1. */
static inline uint64_t number_62(struct state *s)
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

static inline uint64_t optional_62(struct state *s, char tag)
{
    return eat(s, tag) ? number_62(s) + 1 : 0;
}

static inline uint64_t disambiguator(struct state *s) { return optional_62(s, 's'); }

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

static inline size_t decimal(struct state *s)
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

static inline struct identifier identifier(struct state *s)
{
    struct identifier i = { .is_punycode = eat(s, 'u') };
    i.bytes = decimal(s);
    eat(s, '_');
    i.text = s->at;
    if (s->failed || strnlen(s->at, i.bytes) < i.bytes) fail(s);
    else s->at += i.bytes;
    return i;
}

static inline void put_identifier(struct state *s, struct identifier i)
{
    char text[1024];
    if (s->failed) return;
    if (!i.is_punycode) {
        put_bytes(s, i.text, i.bytes);
        return;
    }
    const size_t bytes = mpr_punycode(i.text, i.bytes, text, sizeof text);
    if (bytes) put_bytes(s, text, bytes);
    else fail(s);
}

/* ---- lifetimes */

/* Counted from the innermost that is declared; 0 is erased. */
static inline void put_lifetime(struct state *s, uint64_t index)
{
    if (index > s->lifetimes) fail(s);
    const uint64_t n = index ? s->lifetimes - index : 0;
    const char letter[] = { '\'', index ? (char)('a' + n % 26) : '_', 0 };
    put(s, letter);
    if (n >= 26) put_number(s, n / 26);
}

/* "for<'a, 'b> ": how many it declares. */
static inline uint64_t binder(struct state *s)
{
    const uint64_t count = optional_62(s, 'G');
    if (count > LIFETIMES || s->lifetimes > LIFETIMES) fail(s);
    for (uint64_t i = 0; i < count && !s->failed; i++) {
        put(s, i ? ", " : "for<");
        s->lifetimes++;
        put_lifetime(s, 1);
    }
    if (count) put(s, "> ");
    return s->failed ? 0 : count;
}

#endif
