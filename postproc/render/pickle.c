#include "pickle.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "utf8.h"

/* Of pickletools.py */
enum opcode {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_LIST = ']',
    APPEND = 'a',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    TUPLE2 = 0x86,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    MEMOIZE = 0x94,
    BINGET = 'h',
    LONG_BINGET = 'j'
};

static void put(struct mpr_pickle *p, enum opcode code) { fputc((int)code, p->out); }

/* Least byte first. */
static void put_bytes(struct mpr_pickle *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) fputc((int)(value >> 8 * i & 0xff), p->out);
}

void mpr_pickle_begin(struct mpr_pickle *p, FILE *out)
{
    enum { PROTOCOL = 4 };
    *p = (struct mpr_pickle){ .out = out };
    put(p, PROTO);
    put_bytes(p, PROTOCOL, 1);
}

void mpr_pickle_end(struct mpr_pickle *p) { put(p, STOP); }

void mpr_pickle_free(struct mpr_pickle *p) { mpr_index_free(&p->key); }

void mpr_pickle_list(struct mpr_pickle *p) { put(p, EMPTY_LIST); }

/* One by one: the viewer takes many at once for arguments of one call, and has no room for them. */
void mpr_pickle_append(struct mpr_pickle *p) { put(p, APPEND); }

void mpr_pickle_dict(struct mpr_pickle *p)
{
    put(p, EMPTY_DICT);
    put(p, MARK);
}

void mpr_pickle_dict_end(struct mpr_pickle *p) { put(p, SETITEMS); }

void mpr_pickle_pair(struct mpr_pickle *p) { put(p, TUPLE2); }

uint32_t mpr_pickle_keep(struct mpr_pickle *p)
{
    put(p, MEMOIZE);
    return p->kept++;
}

void mpr_pickle_again(struct mpr_pickle *p, uint32_t kept)
{
    put(p, kept < 256 ? BINGET : LONG_BINGET);
    put_bytes(p, kept, kept < 256 ? 1 : 4);
}

/* An integer has a sign, so that its highest bit is 0. */
void mpr_pickle_number(struct mpr_pickle *p, uint64_t number)
{
    unsigned bytes = 1;
    if (number > INT64_MAX) number = INT64_MAX;
    while (bytes < 8 && number >> (8 * bytes - 1)) bytes++;
    put(p, number < 256 ? BININT1 : number < 65536 ? BININT2 : bytes <= 4 ? BININT : LONG1);
    if (bytes > 4) put_bytes(p, bytes, 1);
    put_bytes(p, number, number < 256 ? 1 : number < 65536 ? 2 : bytes <= 4 ? 4 : bytes);
}

/* ---- texts */

static void put_text(struct mpr_pickle *p, const char *text, size_t bytes)
{
    const bool is_short = bytes < 256;
    put(p, is_short ? SHORT_BINUNICODE : BINUNICODE);
    put_bytes(p, bytes, is_short ? 1 : 4);
    fwrite(text, 1, bytes, p->out);
}

void mpr_pickle_word(struct mpr_pickle *p, const char *literal)
{
    const uint64_t key = (uintptr_t)literal;
    const uint32_t kept = mpr_index_get(&p->key, key);
    if (kept) {
        mpr_pickle_again(p, kept - 1);
        return;
    }
    put_text(p, literal, strlen(literal));
    mpr_index_set(&p->key, key, mpr_pickle_keep(p) + 1);
}

/* ---- members */

void mpr_pickle_member_word(struct mpr_pickle *p, const char *key, const char *literal)
{
    mpr_pickle_word(p, key);
    mpr_pickle_word(p, literal);
}

void mpr_pickle_member_text(struct mpr_pickle *p, const char *key, const char *text)
{
    size_t bytes;
    char *mended = mpr_utf8_mend(text, &bytes);
    mpr_pickle_word(p, key);
    put_text(p, mended ? mended : text, bytes);
    free(mended);
}

void mpr_pickle_member_number(struct mpr_pickle *p, const char *key, uint64_t number)
{
    mpr_pickle_word(p, key);
    mpr_pickle_number(p, number);
}

void mpr_pickle_member_flag(struct mpr_pickle *p, const char *key, bool flag)
{
    mpr_pickle_word(p, key);
    put(p, flag ? NEWTRUE : NEWFALSE);
}
