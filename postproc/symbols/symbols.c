/* Remembers every address that was asked for. */
#include "symbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "demangle.h"
#include "generated.h"
#include "index.h"
#include "mpf/slot.h"
#include "opened.h"
#include "stored.h"

enum { MOST = 64, LONGEST = MPF_DATA_MAX }; /* inlined calls at an address; bytes of a name */

/* What an address was found to be. */
struct entry {
    struct mpr_symbol *symbol;
    uint32_t count, cap;
};

struct object {
    bool asked;
    struct mpr_opened *file;
    bool asked_beside;
    uint32_t stored; /* its number in the file beside the log; 0: none, or not asked */
    enum mpr_symbols_state state;
    struct mpr_index of_pc; /* entry + 1 */
};

struct mpr_symbols {
    struct object *object; /* by number */
    uint32_t objects;
    struct entry *entry;
    uint32_t entries, cap;
    const char *log; /* NULL: nothing is beside it */
    uint8_t id[16];
    struct mpr_stored *stored;
    enum mpr_symbols_beside beside;
    struct mpr_generated *map;
    enum mpr_symbols_beside map_beside;
    struct mpr_index generated; /* entry + 1, by address */
};

struct mpr_symbols *mpr_symbols_new(const char *log, const uint8_t id[16])
{
    struct mpr_symbols *s = mpr_alloc(1, sizeof *s);
    s->log = log;
    if (log) memcpy(s->id, id, sizeof s->id);
    return s;
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
    for (uint32_t i = 0; i < s->entries; i++) free_entry(&s->entry[i]);
    for (uint32_t i = 0; i < s->objects; i++) {
        mpr_index_free(&s->object[i].of_pc);
        mpr_opened_put(s->object[i].file);
    }
    mpr_stored_free(s->stored);
    mpr_generated_free(s->map);
    mpr_index_free(&s->generated);
    free(s->object);
    free(s->entry);
    free(s);
}

/* ---- objects */

static bool not_installed; /* in this run */

bool mpr_symbols_not_installed(void) { return not_installed; }

enum mpr_symbols_beside mpr_symbols_look_beside(struct mpr_symbols *s)
{
    if (s->log && s->beside == MPR_SYMBOLS_NOT_LOOKED)
        s->stored = mpr_stored_open(s->log, s->id, &s->beside);
    return s->beside;
}

enum mpr_symbols_beside mpr_symbols_beside(const struct mpr_symbols *s) { return s->beside; }

/* Of a file that is here only what is of its build id. */
static uint32_t stored_of(struct mpr_symbols *s, struct object *o,
                          const struct mpr_binary *described)
{
    if (o->asked_beside || (o->file && !described->build_id_bytes)) return o->stored;
    o->asked_beside = true;
    mpr_symbols_look_beside(s);
    if (s->stored) o->stored = mpr_stored_object(s->stored, described);
    return o->stored;
}

static struct object *object_of(struct mpr_symbols *s, uint32_t number,
                                const struct mpr_binary *described)
{
    MPR_REACH(s->object, number, s->objects);
    struct object *o = &s->object[number];
    if (!o->asked) {
        o->asked = true;
        o->file = mpr_opened_get(described, &o->state);
        if (!o->file && stored_of(s, o, described)) o->state = MPR_SYMBOLS_STORED;
        not_installed |= o->state == MPR_SYMBOLS_NOT_INSTALLED;
    }
    return o;
}

enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number)
{
    return number < s->objects && s->object[number].asked ? s->object[number].state
                                                          : MPR_SYMBOLS_NOT_ASKED;
}

/* ---- addresses */

/* Before a character, not inside of it. */
static char *cut(char *name)
{
    if (strlen(name) <= LONGEST) return name;
    size_t end = LONGEST;
    while (end && ((unsigned char)name[end] & 0xc0) == 0x80) end--;
    name[end] = 0;
    return name;
}

/* Takes the function's name. */
static void add(struct entry *e, char *function, const char *file, unsigned line)
{
    MPR_GROW(e->symbol, e->count, e->cap);
    e->symbol[e->count++] =
        (struct mpr_symbol){ cut(function), file ? cut(mpr_text_copy(file)) : NULL, line };
}

static void add_found(void *arg, const char *function, const char *file, unsigned line)
{
    struct entry *e = arg;
    if (e->count < MOST) add(e, mpr_demangle(function), file, line);
}

/* Stored names are demangled, and what such a file says is not: a short one could be made to become
 * gigabytes. */
static void add_stored(void *arg, const char *function, const char *file, unsigned line)
{
    struct entry *e = arg;
    if (e->count < MOST) add(e, mpr_text_copy(function), file, line);
}

static bool has_line(const struct entry *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->symbol[i].line) return true;
    return false;
}

/* Takes what is stored where that says more: a file that is here may have been stripped since. */
static void fill_stored(struct mpr_symbols *s, struct object *o, const struct mpr_binary *described,
                        uint64_t pc, struct entry *e)
{
    struct entry stored = { 0 }, found = *e;
    if (!mpr_stored_look(s->stored, o->stored, pc - described->from, add_stored, &stored)) {
        if (!e->count) s->beside = MPR_SYMBOLS_OLD_BESIDE;
        return;
    }
    const bool more = has_line(&stored) || (stored.count && !e->count);
    if (more) *e = stored, o->state = MPR_SYMBOLS_STORED;
    free_entry(more ? &found : &stored);
}

/* The file is gone, and its names with it: some without the others would mislead. */
static void give_up(struct object *o, struct entry *e)
{
    free_entry(e);
    *e = (struct entry){ 0 };
    mpr_opened_put(o->file);
    o->file = NULL;
    o->state = MPR_SYMBOLS_UNREADABLE;
}

/* The call, not what follows it; where names are stored, what was asked for then. */
static void fill(struct mpr_symbols *s, struct object *o, const struct mpr_binary *described,
                 uint64_t pc, struct entry *e)
{
    if (o->file && !mpr_opened_look(o->file, pc - 1 - described->from, add_found, e)) give_up(o, e);
    if (!has_line(e) && stored_of(s, o, described)) fill_stored(s, o, described, pc, e);
}

/* Returns the entry of an address, which is empty if it is new.  Valid until the next one. */
static struct entry *entry_of(struct mpr_symbols *s, struct mpr_index *of_pc, uint64_t pc,
                              bool *is_new)
{
    const uint32_t at = mpr_index_get(of_pc, pc);
    *is_new = !at;
    if (at) return &s->entry[at - 1];
    MPR_GROW(s->entry, s->entries, s->cap);
    s->entry[s->entries] = (struct entry){ 0 };
    mpr_index_set(of_pc, pc, s->entries + 1);
    return &s->entry[s->entries++];
}

const struct mpr_symbol *mpr_symbols_look(struct mpr_symbols *s, uint32_t number,
                                          const struct mpr_binary *described, uint64_t pc,
                                          size_t *count)
{
    *count = 0;
    struct object *o = object_of(s, number, described);
    if (!o->file && !o->stored) return NULL;
    bool is_new;
    struct entry *e = entry_of(s, &o->of_pc, pc, &is_new);
    if (is_new) fill(s, o, described, pc, e);
    *count = e->count;
    return e->symbol;
}

/* ---- generated code */

const struct mpr_symbol *mpr_symbols_generated(struct mpr_symbols *s, uint64_t pc, size_t *count)
{
    bool is_new;
    *count = 0;
    if (s->log && s->map_beside == MPR_SYMBOLS_NOT_LOOKED)
        s->map = mpr_generated_open(s->log, &s->map_beside);
    if (!s->map) return NULL;
    struct entry *e = entry_of(s, &s->generated, pc, &is_new);
    char *name = is_new ? mpr_generated_name(s->map, pc - 1) : NULL;
    if (name) add(e, name, NULL, 0);
    *count = e->count;
    return e->symbol;
}

enum mpr_symbols_beside mpr_symbols_map(const struct mpr_symbols *s) { return s->map_beside; }
