/* Remembers every address that was asked for. */
#include "symbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"
#include "demangle.h"
#include "hash.h"

enum { FIRST_PLACES = 1024, MOST = 64 /* inlined calls at an address */ };

struct entry { uint64_t pc; uint32_t number; uint32_t count; struct mpr_symbol *symbol; };
struct object { struct mpr_debug *debug; enum mpr_symbols_state state; };

struct mpr_symbols {
    struct object *object;      /* by number */
    uint32_t objects;
    struct entry *entry;        /* open addressing by pc and number; symbol NULL: an empty place */
    size_t mask, entries;
};

struct mpr_symbols *mpr_symbols_new(void)
{
    struct mpr_symbols *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->mask = FIRST_PLACES - 1;
    s->entry = calloc(FIRST_PLACES, sizeof *s->entry);
    if (s->entry) return s;
    free(s);
    return NULL;
}

static void free_entry(struct entry *e)
{
    for (uint32_t i = 0; i < e->count; i++) {
        free((char *)e->symbol[i].function);
        free((char *)e->symbol[i].file);
    }
    free(e->symbol);
}

void mpr_symbols_free(struct mpr_symbols *s)
{
    if (!s) return;
    for (size_t i = 0; i <= s->mask; i++) free_entry(&s->entry[i]);
    for (uint32_t i = 0; i < s->objects; i++) mpr_debug_close(s->object[i].debug);
    free(s->object);
    free(s->entry);
    free(s);
}

/* ---- objects */

static struct object *object_of(struct mpr_symbols *s, uint32_t number, const struct mpr_binary *described)
{
    if (number >= s->objects) {
        const uint32_t count = number + 16;
        struct object *object = realloc(s->object, count * sizeof *object);
        if (!object) return NULL;
        for (uint32_t i = s->objects; i < count; i++) object[i] = (struct object){ NULL, MPR_SYMBOLS_NOT_ASKED };
        s->object = object;
        s->objects = count;
    }
    struct object *o = &s->object[number];
    if (o->state == MPR_SYMBOLS_NOT_ASKED) {
        o->state = MPR_SYMBOLS_GOOD;
        o->debug = mpr_debug_open(described, &o->state);
    }
    return o;
}

enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number)
{
    return number < s->objects ? s->object[number].state : MPR_SYMBOLS_NOT_ASKED;
}

/* ---- addresses */

static struct entry *place(const struct mpr_symbols *s, uint32_t number, uint64_t pc)
{
    size_t at = mpr_hash(mpr_hash(pc) + number) & s->mask;
    while (s->entry[at].symbol && (s->entry[at].pc != pc || s->entry[at].number != number)) at = (at + 1) & s->mask;
    return &s->entry[at];
}

static bool grow(struct mpr_symbols *s)
{
    const struct mpr_symbols old = *s;
    if (s->entries <= s->mask / 2) return true;
    s->mask = old.mask * 2 + 1;
    s->entry = calloc(s->mask + 1, sizeof *s->entry);
    if (!s->entry) {
        *s = old;
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++)
        if (old.entry[i].symbol) *place(s, old.entry[i].number, old.entry[i].pc) = old.entry[i];
    free(old.entry);
    return true;
}

static void add(void *arg, const char *function, const char *file, unsigned line)
{
    struct entry *e = arg;
    if (e->count == MOST) return;
    struct mpr_symbol symbol = { mpr_demangle(function), file ? strdup(file) : NULL, line };
    if (symbol.function) e->symbol[e->count++] = symbol;
    else free((char *)symbol.file);
}

const struct mpr_symbol *mpr_symbols_look(struct mpr_symbols *s, uint32_t number, const struct mpr_binary *described, uint64_t pc,
                                          size_t *count)
{
    *count = 0;
    const struct object *o = object_of(s, number, described);
    if (!o || !o->debug || !grow(s)) return NULL;
    struct entry *e = place(s, number, pc);
    if (!e->symbol) {
        struct entry made = { .pc = pc, .number = number, .symbol = calloc(MOST, sizeof *made.symbol) };
        if (!made.symbol) return NULL;
        mpr_debug_look(o->debug, pc - 1, add, &made);       /* the call, not what follows it */
        struct mpr_symbol *fitting = realloc(made.symbol, (made.count + 1) * sizeof *fitting);
        if (fitting) made.symbol = fitting;
        *e = made;
        s->entries++;
    }
    *count = e->count;
    return e->symbol;
}
