/* The text is cut into its fields where it lies: names point into it.  It is read once, front to
 * back.  Places are one array, in which those of an object stand together by offset, as they are
 * written; what another writer put in another order is sorted. */
#include "stored.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "alloc.h"
#include "beside.h"
#include "hex.h"
#include "index.h"
#include "mpf/header.h"
#include "mpf/slot.h"

struct object {
    const char *build_id, *path;
    uint32_t first, places;
};

struct place {
    uint64_t offset;
    uint32_t first, count; /* calls */
};

struct call {
    const char *function, *file; /* file NULL: not known */
    unsigned line;
};

struct mpr_stored {
    char *text;
    struct object *object; /* by number - 1 */
    uint32_t objects, object_cap;
    struct mpr_index of_object; /* by hash of build id or path */
    struct place *place;
    uint32_t places, place_cap;
    struct call *call;
    uint32_t calls, call_cap;
};

void mpr_stored_free(struct mpr_stored *s)
{
    if (!s) return;
    mpr_index_free(&s->of_object);
    free(s->object);
    free(s->place);
    free(s->call);
    free(s->text);
    free(s);
}

/* ---- the file */

/* zstd would believe a frame without a checksum unchecked. */
static bool has_checksum(const uint8_t *data, size_t bytes) { return bytes > 4 && data[4] & 4; }

static char *unpack(const void *data, size_t bytes)
{
    const unsigned long long size = ZSTD_getFrameContentSize(data, bytes);
    if (!has_checksum(data, bytes) || size > MPR_STORED_TEXT_MOST ||
        size / MPR_STORED_RATIO > bytes ||
        ZSTD_findFrameCompressedSize(data, bytes) != bytes) /* an error, or not known, is more, too
                                                             */
        return NULL;
    char *text = mpr_alloc((size_t)size + 1, 1);
    const size_t got = ZSTD_decompress(text, (size_t)size, data, bytes);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) mpr_alloc_end();
    if (got == size && strlen(text) == size) return text;
    free(text);
    return NULL;
}

static char *read_text(const char *log, enum mpr_symbols_beside *found)
{
    size_t bytes;
    char *data = mpr_beside_read(log, MPR_STORED_ENDING, MPR_STORED_TEXT_MOST, &bytes, found),
         *text = data ? unpack(data, bytes) : NULL;
    free(data);
    return text;
}

/* ---- fields */

/* The next line's fields, which end with it; their number, -1 where it does not end or has too
 * many. */
enum { FIELDS = 4 };
static int next_line(char **at, char *field[FIELDS])
{
    char *end = strchr(*at, '\n');
    int count = 0;
    if (!end) return -1;
    *end = 0;
    for (char *rest = *at, *next; rest; rest = next) {
        if (count == FIELDS) return -1;
        next = strchr(rest, '\t');
        if (next) *next++ = 0;
        field[count++] = rest;
    }
    *at = end + 1;
    return count;
}

/* "\t", "\n" and "\\" as they were. */
static const char *plain(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\\' && from[1])
            from++, *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
        else *to++ = *from;
    }
    *to = 0;
    return text;
}

/* As long as a name in a log may be. */
static bool is_name(const char *text) { return strlen(text) <= MPF_DATA_MAX; }

static bool number(const char *text, int base, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return end != text && !*end && !errno && *text != '-' && *text != '+' && *text != ' ';
}

/* ---- lines */

static uint64_t key_of(const char *build_id, const char *path)
{
    return mpr_hash_text(*build_id ? build_id : path);
}

/* Of an object without a build id the path is all that tells it. */
static uint32_t find_object(const struct mpr_stored *s, const char *build_id, const char *path)
{
    uint32_t n;
    for (struct mpr_probe p = mpr_index_probe(&s->of_object, key_of(build_id, path));
         (n = mpr_probe_next(&p));) {
        const struct object *o = &s->object[n - 1];
        if (!strcmp(o->build_id, build_id) && (*build_id || !strcmp(o->path, path))) return n;
    }
    return 0;
}

static bool add_object(struct mpr_stored *s, const char *build_id, const char *path)
{
    if (!is_name(build_id) || !is_name(path) || find_object(s, build_id, path)) return false;
    MPR_GROW(s->object, s->objects, s->object_cap);
    s->object[s->objects++] = (struct object){ build_id, path, s->places, 0 };
    mpr_index_add(&s->of_object, key_of(build_id, path), s->objects);
    return true;
}

static bool add_place(struct mpr_stored *s, const char *offset)
{
    uint64_t at;
    if (!s->objects || !number(offset, 16, &at)) return false;
    MPR_GROW(s->place, s->places, s->place_cap);
    s->place[s->places++] = (struct place){ at, s->calls, 0 };
    s->object[s->objects - 1].places++;
    return true;
}

static int by_offset(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool is_sorted(const struct place *place, uint32_t places)
{
    for (uint32_t i = 1; i < places; i++)
        if (place[i - 1].offset >= place[i].offset) return false;
    return true;
}

/* False: one stands there twice. */
static bool sort_places(struct mpr_stored *s)
{
    for (uint32_t i = 0; i < s->objects; i++) {
        const struct object *o = &s->object[i];
        struct place *place = s->place + o->first;
        if (is_sorted(place, o->places)) continue;
        qsort(place, o->places, sizeof *place, by_offset);
        if (!is_sorted(place, o->places)) return false;
    }
    return true;
}

static bool add_call(struct mpr_stored *s, char *const field[FIELDS])
{
    uint64_t line;
    if (!s->places || !number(field[1], 10, &line) || line > INT32_MAX) return false;
    const char *file = plain(field[2]), *function = plain(field[3]);
    if (!is_name(file) || !is_name(function)) return false;
    MPR_GROW(s->call, s->calls, s->call_cap);
    s->call[s->calls++] = (struct call){ function, *file ? file : NULL, (unsigned)line };
    s->place[s->places - 1].count++;
    return true;
}

static bool add_line(struct mpr_stored *s, char *const field[FIELDS], int fields)
{
    if (fields == 3 && !strcmp(field[0], "object")) return add_object(s, field[1], plain(field[2]));
    if (fields == 2 && !strcmp(field[0], "at")) return add_place(s, field[1]);
    return fields == 4 && !strcmp(field[0], "call") && add_call(s, field);
}

/* The first two lines. */
static enum mpr_symbols_beside read_head(char **at, const uint8_t id[16])
{
    char *field[FIELDS];
    uint64_t version;
    uint8_t of[16];
    if (next_line(at, field) != 2 || strcmp(field[0], "memprof symbols") != 0 ||
        !number(field[1], 10, &version) || !version)
        return MPR_SYMBOLS_DAMAGED_BESIDE;
    if (version > MPR_STORED_VERSION) return MPR_SYMBOLS_NEWER_BESIDE;
    if (next_line(at, field) != 2 || strcmp(field[0], "log") != 0 || !mpf_hex_read(field[1], of))
        return MPR_SYMBOLS_DAMAGED_BESIDE;
    return memcmp(of, id, sizeof of) ? MPR_SYMBOLS_FOREIGN_BESIDE : MPR_SYMBOLS_GOOD_BESIDE;
}

static enum mpr_symbols_beside parse(struct mpr_stored *s, const uint8_t id[16])
{
    char *at = s->text, *field[FIELDS];
    const enum mpr_symbols_beside head = read_head(&at, id);
    if (head != MPR_SYMBOLS_GOOD_BESIDE) return head;
    for (int fields; (fields = next_line(&at, field)) > 0;) {
        if (fields == 1 && !strcmp(field[0], "end"))
            return *at || !sort_places(s) ? MPR_SYMBOLS_DAMAGED_BESIDE : MPR_SYMBOLS_GOOD_BESIDE;
        if (!add_line(s, field, fields)) break;
    }
    return MPR_SYMBOLS_DAMAGED_BESIDE;
}

struct mpr_stored *mpr_stored_open(const char *log, const uint8_t id[16],
                                   enum mpr_symbols_beside *found)
{
    char *text = read_text(log, found);
    if (!text) return NULL;
    struct mpr_stored *s = mpr_alloc(1, sizeof *s);
    s->text = text;
    *found = parse(s, id);
    if (*found == MPR_SYMBOLS_GOOD_BESIDE) return s;
    mpr_stored_free(s);
    return NULL;
}

/* ---- looking */

const char *mpr_build_id_text(const struct mpr_binary *o, char text[2 * MPR_BUILD_ID_MOST + 1])
{
    return mpr_hex(text, o->build_id,
                   o->build_id_bytes < MPR_BUILD_ID_MOST ? o->build_id_bytes : MPR_BUILD_ID_MOST);
}

uint32_t mpr_stored_object(const struct mpr_stored *s, const struct mpr_binary *object)
{
    char build_id[2 * MPR_BUILD_ID_MOST + 1];
    return find_object(s, mpr_build_id_text(object, build_id), object->path);
}

bool mpr_stored_look(const struct mpr_stored *s, uint32_t object, uint64_t offset,
                     mpr_debug_each *each, void *arg)
{
    const struct object *o = &s->object[object - 1];
    const struct place wanted = { .offset = offset };
    const struct place *p =
        o->places ? bsearch(&wanted, s->place + o->first, o->places, sizeof *p, by_offset) : NULL;
    if (!p) return false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct call *c = &s->call[p->first + i];
        each(arg, c->function, c->file, c->line);
    }
    return true;
}
