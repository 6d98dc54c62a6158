/* Remembers every address that was looked up.
 *
 * The logs of a run share open object files: a file is opened, and its sections are unpacked, once
 * for each build id and path.  Up to MAX_UNUSED files that no log uses any more stay open, because
 * most logs of a run are of the same program.  A file is opened for the address that the object has
 * in the first log. */
#include "symbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "debug.h"
#include "demangle.h"
#include "index.h"
#include "mpf/slot.h"
#include "store.h"

enum { MAX_CALLS = 64 /* at one address */, MAX_NAME = MPF_DATA_MAX, MAX_UNUSED = 256 };

/* ---- shared object files */

struct file {
    struct mpr_debug *debug;
    enum mpr_symbols_state state;
    char *path;
    uint8_t *build_id;
    size_t build_id_bytes; /* 0 if the file is not shared */
    uint64_t from;
    size_t users;
};

/* Files without users are in the order in which they lost the last one. */
static struct file **files;
static size_t file_count, file_cap;

/* Opens an object file, or shares it if it has a build id and another log has opened it.  Returns
 * NULL if it cannot be used, and the reason in *state. */
static struct file *open_file(const struct mpr_binary *object, enum mpr_symbols_state *state)
{
    for (size_t i = 0; i < file_count; i++) {
        struct file *f = files[i];
        if (!f->build_id_bytes || f->build_id_bytes != object->build_id_bytes ||
            memcmp(f->build_id, object->build_id, f->build_id_bytes) != 0 ||
            strcmp(f->path, object->path) != 0)
            continue;
        *state = f->state;
        f->users++;
        return f;
    }
    struct mpr_debug *debug = mpr_debug_open(object, state);
    if (!debug) return NULL;
    struct file *f = mpr_alloc(1, sizeof *f);
    *f = (struct file){ .debug = debug, .state = *state, .from = object->from, .users = 1 };
    f->path = mpr_text_copy(object->path);
    f->build_id_bytes = object->build_id_bytes;
    f->build_id = mpr_alloc(f->build_id_bytes + 1, 1);
    if (f->build_id_bytes) memcpy(f->build_id, object->build_id, f->build_id_bytes);
    return *MPR_ADD(files, file_count, file_cap) = f;
}

static void remove_file(const struct file *f)
{
    size_t i = 0;
    while (files[i] != f) i++;
    memmove(&files[i], &files[i + 1], (--file_count - i) * sizeof *files);
}

static void destroy_file(struct file *f)
{
    remove_file(f);
    mpr_debug_close(f->debug);
    free(f->path);
    free(f->build_id);
    free(f);
}

static void release_file(struct file *f)
{
    if (!f || --f->users) return;
    if (!f->build_id_bytes) {
        destroy_file(f);
        return;
    }
    remove_file(f);
    files[file_count++] = f;
    struct file *oldest = NULL;
    size_t unused = 0;
    for (size_t i = file_count; i-- > 0;)
        if (!files[i]->users) oldest = files[i], unused++;
    if (unused > MAX_UNUSED) destroy_file(oldest);
}

/* ---- the objects of a log */

/* The calls at an address. */
struct entry {
    struct mpr_symbol *symbol;
    uint32_t count, cap;
};

struct object {
    bool was_opened; /* or could not be opened */
    struct file *file;
    bool stored_known; /* `stored` is set */
    uint32_t stored;   /* the object's number in LOG.symbols, or 0 */
    enum mpr_symbols_state state;
    struct mpr_index of_pc; /* from an address to the number of its entry + 1 */
};

struct mpr_symbols {
    struct object *object; /* by number */
    uint32_t objects;
    struct entry *entry;
    uint32_t entries, cap;
    const char *log; /* NULL if no files are kept with it */
    uint8_t id[16];
    struct mpr_stored *stored; /* LOG.symbols */
    enum mpr_symbols_stored_state stored_state;
    struct mpr_generated *map; /* LOG.perfmap */
    enum mpr_symbols_stored_state map_state;
    struct mpr_index generated; /* from an address of generated code to the number of its entry + 1
                                 */
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
        release_file(s->object[i].file);
    }
    mpr_stored_free(s->stored);
    mpr_generated_free(s->map);
    mpr_index_free(&s->generated);
    free(s->object);
    free(s->entry);
    free(s);
}

static bool not_installed; /* in this run */

bool mpr_symbols_not_installed(void) { return not_installed; }

enum mpr_symbols_stored_state mpr_symbols_stored_state(const struct mpr_symbols *s)
{
    return s->stored_state;
}

enum mpr_symbols_stored_state mpr_symbols_map_state(const struct mpr_symbols *s)
{
    return s->map_state;
}

enum mpr_symbols_stored_state mpr_symbols_read_stored(struct mpr_symbols *s)
{
    if (s->log && s->stored_state == MPR_SYMBOLS_FILE_NOT_READ)
        s->stored = mpr_stored_open(s->log, s->id, &s->stored_state);
    return s->stored_state;
}

enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number)
{
    return number < s->objects && s->object[number].was_opened ? s->object[number].state
                                                               : MPR_SYMBOLS_NOT_ASKED;
}

/* Returns the object's number in LOG.symbols, or 0.  If its file is here and has no build id,
 * stored names are not used, because they could be of another version. */
static uint32_t find_stored(struct mpr_symbols *s, struct object *o,
                            const struct mpr_binary *described)
{
    if (o->stored_known || (o->file && !described->build_id_bytes)) return o->stored;
    o->stored_known = true;
    mpr_symbols_read_stored(s);
    if (s->stored) o->stored = mpr_stored_object(s->stored, described);
    return o->stored;
}

/* ---- the calls at an address */

/* Cuts a name to MAX_NAME bytes, before the beginning of a UTF-8 character. */
static char *cut(char *name)
{
    if (strlen(name) <= MAX_NAME) return name;
    size_t end = MAX_NAME;
    while (end && ((unsigned char)name[end] & 0xc0) == 0x80) end--;
    name[end] = 0;
    return name;
}

/* @function: freed with the entry */
static void add(struct entry *e, char *function, const char *file, unsigned line)
{
    *MPR_ADD(e->symbol, e->count, e->cap) =
        (struct mpr_symbol){ cut(function), file ? cut(mpr_text_copy(file)) : NULL, line };
}

static void add_found(void *arg, const char *function, const char *file, unsigned line)
{
    struct entry *e = arg;
    if (e->count < MAX_CALLS) add(e, mpr_demangle(function), file, line);
}

/* Stored names are already demangled.  They must not be demangled again, because a forged one could
 * unpack to gigabytes. */
static void add_stored(void *arg, const char *function, const char *file, unsigned line)
{
    struct entry *e = arg;
    if (e->count < MAX_CALLS) add(e, mpr_text_copy(function), file, line);
}

static bool has_line(const struct entry *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->symbol[i].line) return true;
    return false;
}

/* The debug information is searched for the byte before the return address, which belongs to the
 * call; LOG.symbols has return addresses. */
static void find_calls(struct mpr_symbols *s, struct object *o, const struct mpr_binary *described,
                       uint64_t pc, struct entry *e)
{
    struct file *f = o->file;
    if (f && !mpr_debug_look(f->debug, f->from + pc - 1 - described->from, add_found, e)) {
        /* The file was truncated.  A part of the names would mislead, so all are dropped, and other
         * logs must not share the file. */
        f->build_id_bytes = 0;
        free_entry(e);
        *e = (struct entry){ 0 };
        release_file(f);
        o->file = NULL;
        o->state = MPR_SYMBOLS_UNREADABLE;
    }
    if (has_line(e) || !find_stored(s, o, described)) return;
    /* The stored names may have more, because the file may have been stripped later. */
    struct entry stored = { 0 }, found = *e;
    if (!mpr_stored_look(s->stored, o->stored, pc - described->from, add_stored, &stored)) {
        if (!e->count) s->stored_state = MPR_SYMBOLS_FILE_INCOMPLETE;
        return;
    }
    const bool more = has_line(&stored) || (stored.count && !e->count);
    if (more) *e = stored, o->state = MPR_SYMBOLS_STORED;
    free_entry(more ? &found : &stored);
}

/* Returns the entry of an address, which is empty if it is new.  Valid until the next call. */
static struct entry *entry_of(struct mpr_symbols *s, struct mpr_index *of_pc, uint64_t pc,
                              bool *is_new)
{
    const uint32_t number = mpr_index_get(of_pc, pc);
    *is_new = !number;
    if (number) return &s->entry[number - 1];
    struct entry *e = MPR_ADD(s->entry, s->entries, s->cap);
    *e = (struct entry){ 0 };
    mpr_index_set(of_pc, pc, s->entries);
    return e;
}

const struct mpr_symbol *mpr_symbols_find(struct mpr_symbols *s, uint32_t number,
                                          const struct mpr_binary *described, uint64_t pc,
                                          size_t *count)
{
    *count = 0;
    MPR_REACH(s->object, number, s->objects);
    struct object *o = &s->object[number];
    if (!o->was_opened) {
        o->was_opened = true;
        o->file = open_file(described, &o->state);
        if (!o->file && find_stored(s, o, described)) o->state = MPR_SYMBOLS_STORED;
        not_installed |= o->state == MPR_SYMBOLS_NOT_INSTALLED;
    }
    if (!o->file && !o->stored) return NULL;
    bool is_new;
    struct entry *e = entry_of(s, &o->of_pc, pc, &is_new);
    if (is_new) find_calls(s, o, described, pc, e);
    *count = e->count;
    return e->symbol;
}

const struct mpr_symbol *mpr_symbols_find_generated(struct mpr_symbols *s, uint64_t pc,
                                                    size_t *count)
{
    bool is_new;
    *count = 0;
    if (s->log && s->map_state == MPR_SYMBOLS_FILE_NOT_READ)
        s->map = mpr_generated_open(s->log, &s->map_state);
    if (!s->map) return NULL;
    struct entry *e = entry_of(s, &s->generated, pc, &is_new);
    char *name = is_new ? mpr_generated_name(s->map, pc - 1) : NULL;
    if (name) add(e, name, NULL, 0);
    *count = e->count;
    return e->symbol;
}
