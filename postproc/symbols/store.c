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

#include "alloc.h"
#include "atomic_file.h"
#include "file.h"
#include "hex.h"
#include "stored.h"

enum { LEVEL = 9 };
static const char last_line[] = "end\n";

struct mpr_store {
    FILE *out; /* into text; NULL once it is closed */
    char *text;
    size_t bytes;
};

struct mpr_store *mpr_store_new(const uint8_t id[16])
{
    struct mpr_store *s = mpr_alloc(1, sizeof *s);
    s->out = mpr_text_open(&s->text, &s->bytes);
    char hex[2 * 16 + 1];
    fprintf(s->out, "memprof symbols\t%u\nlog\t%s\n", MPR_STORED_VERSION, mpr_hex(hex, id, 16));
    return s;
}

void mpr_store_free(struct mpr_store *s)
{
    if (s->out) mpr_text_close(s->out);
    free(s->text);
    free(s);
}

/* ---- lines */

/* So that a field has neither what ends it nor what ends its line. */
static void put(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\t') fputs("\\t", out);
        else if (*text == '\n') fputs("\\n", out);
        else if (*text == '\\') fputs("\\\\", out);
        else fputc(*text, out);
    }
}

/* A character of a field may take two places. */
static bool has_room(struct mpr_store *s, size_t lines, size_t fields)
{
    enum { LINE = 64 + 2 * MPR_BUILD_ID_MOST };
    return (size_t)ftell(s->out) + lines * LINE + 2 * fields + sizeof last_line <=
           MPR_STORED_TEXT_MOST;
}

bool mpr_store_object(struct mpr_store *s, const struct mpr_binary *object)
{
    char build_id[2 * MPR_BUILD_ID_MOST + 1];
    if (!has_room(s, 1, strlen(object->path))) return false;
    fprintf(s->out, "object\t%s\t", mpr_build_id_text(object, build_id));
    put(s->out, object->path);
    fputc('\n', s->out);
    return true;
}

static size_t characters(const struct mpr_symbol *symbol, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += strlen(symbol[i].function) + (symbol[i].file ? strlen(symbol[i].file) : 0);
    return sum;
}

bool mpr_store_address(struct mpr_store *s, uint64_t offset, const struct mpr_symbol *symbol,
                       size_t count)
{
    if (!has_room(s, 1 + count, characters(symbol, count))) return false;
    fprintf(s->out, "at\t%" PRIx64 "\n", offset);
    for (size_t i = 0; i < count; i++) {
        fprintf(s->out, "call\t%u\t", symbol[i].line > INT_MAX ? 0 : symbol[i].line);
        put(s->out, symbol[i].file ? symbol[i].file : "");
        fputc('\t', s->out);
        put(s->out, symbol[i].function);
        fputc('\n', s->out);
    }
    return true;
}

/* ---- the file */

static void *pack(struct mpr_store *s, size_t *bytes)
{
    const size_t most = ZSTD_compressBound(s->bytes);
    void *data = mpr_alloc(most, 1);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    if (!z) mpr_alloc_end();
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    *bytes = ZSTD_compress2(z, data, most, s->text, s->bytes);
    ZSTD_freeCCtx(z);
    if (ZSTD_isError(*bytes)) mpr_alloc_end(); /* it fails for nothing else */
    return data;
}

static int write_all(int fd, const char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(fd, data + done, bytes - done);
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

static int replace(int directory, const char *log, const char *path, const char *data, size_t bytes,
                   struct mpr_error *error)
{
    struct stat st;
    struct mpr_atomic_file file;
    char name[NAME_MAX + 1];
    if (snprintf(name, sizeof name, "%s" MPR_STORED_ENDING, log) >= (int)sizeof name)
        return mpr_fail(error, "%s: too long a name", path);
    const mode_t mode = fstatat(directory, log, &st, 0) == 0 ? st.st_mode & 0666 : 0600;
    int result = mpr_atomic_open(&file, directory, name, mode);
    if (result == 0) result = write_all(file.fd, data, bytes);
    if (result == 0) result = mpr_atomic_commit(&file);
    if (result != 0)
        mpr_fail(error, "%s" MPR_STORED_ENDING ": cannot write: %s", path,
                 mpr_file_part_reason(errno));
    mpr_atomic_close(&file);
    return result;
}

long mpr_store_write(struct mpr_store *s, const char *log, struct mpr_error *error)
{
    const char *name;
    size_t bytes;
    fputs(last_line, s->out);
    mpr_text_close(s->out);
    s->out = NULL;
    const int directory = mpr_file_directory(log, &name, error);
    if (directory < 0) return -1;
    void *data = pack(s, &bytes);
    const int status =
        s->bytes / MPR_STORED_RATIO > bytes
            ? mpr_fail(error, "%s: its names are all alike, and would not be read", log)
            : replace(directory, name, log, data, bytes, error);
    free(data);
    close(directory);
    return status == 0 ? (long)bytes : -1;
}
