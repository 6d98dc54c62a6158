/* When LOG.symbols is read, its text is split into fields in place, and names point into it.  The
 * addresses of one object are next to each other in one array, sorted by offset. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "file.h"
#include "index.h"
#include "mpf/header.h"
#include "mpf/slot.h"
#include "units.h"

#define VERSION      1u
#define TEXT_MAX     ((size_t)128 << 20) /* bytes of the unpacked text */
#define MAX_RATIO    1000u               /* maximum ratio of compression */
#define BUILD_ID_MAX 64u                 /* bytes of a build id that are stored */

enum { ZSTD_LEVEL = 9 };

/* Returns the build id in hex, or "" if the object has none. */
static const char *build_id_text(const struct mpr_binary *o, char text[2 * BUILD_ID_MAX + 1])
{
    const size_t bytes = o->build_id_bytes < BUILD_ID_MAX ? o->build_id_bytes : BUILD_ID_MAX;
    return mpr_units_hex(text, o->build_id, bytes);
}

/* ---- writing the text */

static const char last_line[] = "end\n";

struct mpr_store {
    FILE *out; /* writes to `text`, and is NULL after it is closed */
    char *text;
    size_t bytes;
};

struct mpr_store *mpr_store_new(const uint8_t id[16])
{
    struct mpr_store *s = mpr_alloc(1, sizeof *s);
    s->out = mpr_text_open(&s->text, &s->bytes);
    char hex[2 * 16 + 1];
    fprintf(s->out, "memprof symbols\t%u\nlog\t%s\n", VERSION, mpr_units_hex(hex, id, 16));
    return s;
}

void mpr_store_free(struct mpr_store *s)
{
    if (s->out) mpr_text_close(s->out);
    free(s->text);
    free(s);
}

/* Characters that would end a field or a line are escaped. */
static void write_field(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\t') fputs("\\t", out);
        else if (*text == '\n') fputs("\\n", out);
        else if (*text == '\\') fputs("\\\\", out);
        else fputc(*text, out);
    }
}

/* @characters: their number in the fields; each takes at most two bytes */
static bool has_room(struct mpr_store *s, size_t lines, size_t characters)
{
    enum { LINE = 64 + 2 * BUILD_ID_MAX };
    return (size_t)ftell(s->out) + lines * LINE + 2 * characters + sizeof last_line <= TEXT_MAX;
}

bool mpr_store_object(struct mpr_store *s, const struct mpr_binary *object)
{
    char build_id[2 * BUILD_ID_MAX + 1];
    if (!has_room(s, 1, strlen(object->path))) return false;
    fprintf(s->out, "object\t%s\t", build_id_text(object, build_id));
    write_field(s->out, object->path);
    fputc('\n', s->out);
    return true;
}

bool mpr_store_address(struct mpr_store *s, uint64_t offset, const struct mpr_symbol *symbol,
                       size_t count)
{
    size_t characters = 0;
    for (size_t i = 0; i < count; i++)
        characters += strlen(symbol[i].function) + (symbol[i].file ? strlen(symbol[i].file) : 0);
    if (!has_room(s, 1 + count, characters)) return false;
    fprintf(s->out, "at\t%" PRIx64 "\n", offset);
    for (size_t i = 0; i < count; i++) {
        fprintf(s->out, "call\t%u\t", symbol[i].line > INT_MAX ? 0 : symbol[i].line);
        write_field(s->out, symbol[i].file ? symbol[i].file : "");
        fputc('\t', s->out);
        write_field(s->out, symbol[i].function);
        fputc('\n', s->out);
    }
    return true;
}

/* ---- writing the file */

/* @log: the log's name in the directory; @path: its path, for messages */
static int replace_file(int directory, const char *log, const char *path, const void *data,
                        size_t bytes, struct mpr_error *error)
{
    struct stat st;
    struct mpr_atomic_file file;
    char name[NAME_MAX + 1];
    if (snprintf(name, sizeof name, "%s" MPR_STORED_ENDING, log) >= (int)sizeof name)
        return mpr_fail(error, "%s: the name is too long", path);
    const mode_t mode = fstatat(directory, log, &st, 0) == 0 ? st.st_mode & 0666 : 0600;
    int result = mpr_atomic_open(&file, directory, name, mode);
    if (result == 0) result = mpr_file_write(file.fd, data, bytes);
    if (result == 0) result = mpr_atomic_commit(&file);
    if (result != 0)
        mpr_fail(error, "%s" MPR_STORED_ENDING ": cannot write: %s", path,
                 mpr_file_part_error_text(errno));
    mpr_atomic_close(&file);
    return result;
}

long mpr_store_write(struct mpr_store *s, const char *log, struct mpr_error *error)
{
    const char *name;
    fputs(last_line, s->out);
    mpr_text_close(s->out);
    s->out = NULL;
    const int directory = mpr_file_directory(log, &name, error);
    if (directory < 0) return -1;
    const size_t max = ZSTD_compressBound(s->bytes);
    void *data = mpr_alloc(max, 1);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    if (!z) mpr_alloc_fail();
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    const size_t bytes = ZSTD_compress2(z, data, max, s->text, s->bytes);
    ZSTD_freeCCtx(z);
    if (ZSTD_isError(bytes)) mpr_alloc_fail(); /* the only possible error */
    const int status =
        s->bytes / MAX_RATIO > bytes
            ? mpr_fail(
                  error,
                  "%s: no names were stored, because they compress so well that reports would refuse the file",
                  log)
            : replace_file(directory, name, log, data, bytes, error);
    free(data);
    close(directory);
    return status == 0 ? (long)bytes : -1;
}

/* ---- reading the file */

/* Reads a whole file that is kept with a log, if it can be trusted (file.h).
 * @ending: follows the log's name in the name of the file
 * @max: a file with more bytes is not read
 * Returns the contents with a zero after them, which the caller frees, and the number of bytes in
 * *bytes; or NULL, and the reason in *found. */
static char *read_file(const char *log, const char *ending, size_t max, size_t *bytes,
                       enum mpr_symbols_stored_state *found)
{
    char *path = mpr_text_format("%s%s", log, ending), *data = NULL;
    struct stat st;
    const int fd = mpr_file_open(AT_FDCWD, path, O_RDONLY, &st), failed = errno;
    const bool trusted = fd >= 0 && mpr_file_trusted(&st, log);
    *found = trusted            ? MPR_SYMBOLS_FILE_DAMAGED
             : fd >= 0          ? MPR_SYMBOLS_FILE_UNTRUSTED
             : failed == ENOENT ? MPR_SYMBOLS_FILE_MISSING
                                : MPR_SYMBOLS_FILE_UNREADABLE;
    *bytes = trusted ? (size_t)st.st_size : 0;
    if (trusted && *bytes <= max) {
        size_t got = 0;
        data = mpr_alloc(*bytes + 1, 1);
        for (ssize_t n; got < *bytes && (n = read(fd, data + got, *bytes - got)) != 0;) {
            if (n > 0) got += (size_t)n;
            else if (errno != EINTR) break;
        }
        if (got < *bytes) { /* the file was truncated */
            free(data);
            data = NULL;
        }
    }
    free(path);
    if (fd >= 0) close(fd);
    return data;
}

/* Unpacks the text.  Returns NULL if it is damaged; without a checksum that would not be noticed.
 * For a frame whose size is damaged or missing, zstd returns one above TEXT_MAX. */
static char *unpack(const char *data, size_t bytes)
{
    const unsigned long long size = ZSTD_getFrameContentSize(data, bytes);
    const bool has_checksum = bytes > 4 && data[4] & 4;
    if (!has_checksum || size > TEXT_MAX || size / MAX_RATIO > bytes ||
        ZSTD_findFrameCompressedSize(data, bytes) != bytes)
        return NULL;
    char *text = mpr_alloc((size_t)size + 1, 1);
    const size_t got = ZSTD_decompress(text, (size_t)size, data, bytes);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) mpr_alloc_fail();
    if (got == size && strlen(text) == size) return text;
    free(text);
    return NULL;
}

/* ---- reading the text */

struct object {
    const char *build_id, *path;
    uint32_t first, addresses;
};

struct address {
    uint64_t offset;
    uint32_t first, count; /* calls */
};

struct call {
    const char *function, *file; /* file: NULL if unknown */
    unsigned line;
};

struct mpr_stored {
    char *text;
    struct object *object; /* by number - 1 */
    uint32_t objects, object_cap;
    struct mpr_index of_object; /* by the hash of build id or path */
    struct address *address;
    uint32_t addresses, address_cap;
    struct call *call;
    uint32_t calls, call_cap;
};

void mpr_stored_free(struct mpr_stored *s)
{
    if (!s) return;
    mpr_index_free(&s->of_object);
    free(s->object);
    free(s->address);
    free(s->call);
    free(s->text);
    free(s);
}

/* Splits the next line into fields.  Returns their number, or -1 if the line is cut or has too many
 * fields. */
enum { FIELDS = 4 };
static int next_line(char **at, char *field[FIELDS])
{
    char *end = strchr(*at, '\n');
    int count = 0;
    if (!end) return -1;
    *end = 0;
    for (char *start = *at, *next; start; start = next) {
        if (count == FIELDS) return -1;
        next = strchr(start, '\t');
        if (next) *next++ = 0;
        field[count++] = start;
    }
    *at = end + 1;
    return count;
}

/* Replaces "\t", "\n" and "\\" in place. */
static const char *unescape(char *text)
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

/* Returns true if the text is as short as names in a log must be. */
static bool is_name(const char *text) { return strlen(text) <= MPF_DATA_MAX; }

static bool read_number(const char *text, int base, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return end != text && !*end && !errno && *text != '-' && *text != '+' && *text != ' ';
}

static uint64_t object_key(const char *build_id, const char *path)
{
    return mpr_hash_text(*build_id ? build_id : path);
}

/* An object without a build id is identified by its path. */
static uint32_t find_object(const struct mpr_stored *s, const char *build_id, const char *path)
{
    MPR_INDEX_EACH(n, &s->of_object, object_key(build_id, path)) {
        const struct object *o = &s->object[n - 1];
        if (!strcmp(o->build_id, build_id) && (*build_id || !strcmp(o->path, path))) return n;
    }
    return 0;
}

static bool add_object(struct mpr_stored *s, const char *build_id, const char *path)
{
    if (!is_name(build_id) || !is_name(path) || find_object(s, build_id, path)) return false;
    *MPR_ADD(s->object, s->objects, s->object_cap) =
        (struct object){ build_id, path, s->addresses, 0 };
    mpr_index_add(&s->of_object, object_key(build_id, path), s->objects);
    return true;
}

static bool add_address(struct mpr_stored *s, const char *offset)
{
    uint64_t at;
    if (!s->objects || !read_number(offset, 16, &at)) return false;
    *MPR_ADD(s->address, s->addresses, s->address_cap) = (struct address){ at, s->calls, 0 };
    s->object[s->objects - 1].addresses++;
    return true;
}

static bool add_call(struct mpr_stored *s, char *const field[FIELDS])
{
    uint64_t line;
    if (!s->addresses || !read_number(field[1], 10, &line) || line > INT32_MAX) return false;
    const char *file = unescape(field[2]), *function = unescape(field[3]);
    if (!is_name(file) || !is_name(function)) return false;
    *MPR_ADD(s->call, s->calls, s->call_cap) =
        (struct call){ function, *file ? file : NULL, (unsigned)line };
    s->address[s->addresses - 1].count++;
    return true;
}

MPR_COMPARE(by_offset, struct address, mpr_compare(a->offset, b->offset))

/* Returns false if an object has an address twice. */
static bool sort_addresses(struct mpr_stored *s)
{
    for (const struct object *o = s->object; o < s->object + s->objects; o++) {
        struct address *address = s->address + o->first;
        if (o->addresses) qsort(address, o->addresses, sizeof *address, by_offset);
        for (uint32_t i = 1; i < o->addresses; i++)
            if (address[i - 1].offset == address[i].offset) return false;
    }
    return true;
}

/* Reads the first two lines. */
static enum mpr_symbols_stored_state read_head(char **at, const uint8_t id[16])
{
    char *field[FIELDS];
    uint64_t version;
    uint8_t log[16];
    if (next_line(at, field) != 2 || strcmp(field[0], "memprof symbols") != 0 ||
        !read_number(field[1], 10, &version) || !version)
        return MPR_SYMBOLS_FILE_DAMAGED;
    if (version > VERSION) return MPR_SYMBOLS_FILE_NEWER;
    if (next_line(at, field) != 2 || strcmp(field[0], "log") != 0 || !mpf_hex_read(field[1], log))
        return MPR_SYMBOLS_FILE_DAMAGED;
    return memcmp(log, id, sizeof log) ? MPR_SYMBOLS_FILE_FOREIGN : MPR_SYMBOLS_FILE_GOOD;
}

static enum mpr_symbols_stored_state read_lines(struct mpr_stored *s, const uint8_t id[16])
{
    char *at = s->text, *field[FIELDS];
    const enum mpr_symbols_stored_state head = read_head(&at, id);
    if (head != MPR_SYMBOLS_FILE_GOOD) return head;
    for (int fields; (fields = next_line(&at, field)) > 0;) {
        bool good = false;
        if (fields == 1 && !strcmp(field[0], "end"))
            return *at || !sort_addresses(s) ? MPR_SYMBOLS_FILE_DAMAGED : MPR_SYMBOLS_FILE_GOOD;
        if (fields == 3 && !strcmp(field[0], "object"))
            good = add_object(s, field[1], unescape(field[2]));
        if (fields == 2 && !strcmp(field[0], "at")) good = add_address(s, field[1]);
        if (fields == 4 && !strcmp(field[0], "call")) good = add_call(s, field);
        if (!good) break;
    }
    return MPR_SYMBOLS_FILE_DAMAGED;
}

struct mpr_stored *mpr_stored_open(const char *log, const uint8_t id[16],
                                   enum mpr_symbols_stored_state *found)
{
    size_t bytes;
    char *data = read_file(log, MPR_STORED_ENDING, TEXT_MAX, &bytes, found),
         *text = data ? unpack(data, bytes) : NULL;
    free(data);
    if (!text) return NULL;
    struct mpr_stored *s = mpr_alloc(1, sizeof *s);
    s->text = text;
    *found = read_lines(s, id);
    if (*found == MPR_SYMBOLS_FILE_GOOD) return s;
    mpr_stored_free(s);
    return NULL;
}

uint32_t mpr_stored_object(const struct mpr_stored *s, const struct mpr_binary *object)
{
    char build_id[2 * BUILD_ID_MAX + 1];
    return find_object(s, build_id_text(object, build_id), object->path);
}

bool mpr_stored_look(const struct mpr_stored *s, uint32_t object, uint64_t offset,
                     mpr_debug_each *each, void *arg)
{
    const struct object *o = &s->object[object - 1];
    const struct address key = { .offset = offset }, *found = NULL;
    if (o->addresses)
        found = bsearch(&key, s->address + o->first, o->addresses, sizeof key, by_offset);
    if (!found) return false;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct call *c = &s->call[found->first + i];
        each(arg, c->function, c->file, c->line);
    }
    return true;
}

/* ---- LOG.perfmap */

enum {
    FUNCTIONS_MAX = 1 << 21, /* lines of 32 bytes in a map of the largest size */
    SEARCHED_MAX = 4096
};

struct generated {
    uint64_t from, to;
    uint64_t max_to; /* the largest `to` of the functions up to this one: ends a search early */
    const char *name;
    uint32_t line;
};

struct mpr_generated {
    char *text;
    struct generated *function; /* sorted by address */
    uint32_t functions, cap;
};

void mpr_generated_free(struct mpr_generated *g)
{
    if (!g) return;
    free(g->function);
    free(g->text);
    free(g);
}

/* Reads lines like "1a2b 30 name" and skips all others.  A program that was killed may have written
 * only a part of the last line. */
static bool read_functions(struct mpr_generated *g)
{
    uint32_t number = 0;
    for (char *line = g->text, *line_end, *end; (line_end = strchr(line, '\n'));
         line = line_end + 1) {
        struct generated f = { .line = number++ };
        *line_end = 0;
        f.from = strtoull(line, &end, 16);
        if (end == line || *end != ' ') continue;
        const char *size = end + 1;
        const uint64_t bytes = strtoull(size, &end, 16);
        if (end == size || *end != ' ' || !end[1] || bytes > UINT64_MAX - f.from) continue;
        if (g->functions == FUNCTIONS_MAX) return false;
        f.to = f.from + bytes;
        f.name = end + 1;
        *MPR_ADD(g->function, g->functions, g->cap) = f;
    }
    return g->functions > 0;
}

MPR_COMPARE(by_address, struct generated,
            mpr_compare(a->from, b->from) ?: mpr_compare(a->line, b->line))

struct mpr_generated *mpr_generated_open(const char *log, enum mpr_symbols_stored_state *found)
{
    size_t bytes;
    char *text = read_file(log, MPR_PERF_MAP_ENDING, MPR_PERF_MAP_MAX, &bytes, found);
    if (!text) return NULL;
    struct mpr_generated *g = mpr_alloc(1, sizeof *g);
    g->text = text;
    if (!read_functions(g)) {
        mpr_generated_free(g);
        return NULL;
    }
    uint64_t max_to = 0;
    qsort(g->function, g->functions, sizeof *g->function, by_address);
    for (uint32_t i = 0; i < g->functions; i++) {
        if (g->function[i].to > max_to) max_to = g->function[i].to;
        g->function[i].max_to = max_to;
    }
    *found = MPR_SYMBOLS_FILE_GOOD;
    return g;
}

char *mpr_generated_name(const struct mpr_generated *g, uint64_t address)
{
    const struct generated *last = NULL;
    unsigned others = 0, searched = 0;
    /* backwards from the last function that begins at or before the address */
    for (size_t i = MPR_COUNT_FIRST(k, g->functions, g->function[k].from <= address);
         i-- > 0 && g->function[i].max_to > address && searched++ < SEARCHED_MAX;) {
        const struct generated *f = &g->function[i];
        if (address >= f->to) continue;
        others += last && strcmp(last->name, f->name) != 0;
        if (!last || f->line > last->line) last = f;
    }
    if (!last) return NULL;
    if (!others) return mpr_text_copy(last->name);
    return mpr_text_format("%s, or %u other%s", last->name, others, others > 1 ? "s" : "");
}
