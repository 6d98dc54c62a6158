/* Looks up names in LOG.symbols, either as the file on disk or as the text that it contains. */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "fuzz.h"
#include "store.h"

enum { AS_IT_IS = 1 }; /* in the first byte */

static const char *packed_file(const uint8_t *text, size_t size)
{
    static ZSTD_CCtx *zstd;
    const size_t bound = ZSTD_compressBound(size);
    uint8_t *data = malloc(bound);
    if (!zstd) zstd = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    const size_t bytes = ZSTD_compress2(zstd, data, bound, text, size);
    if (ZSTD_isError(bytes)) errx(1, "%s", ZSTD_getErrorName(bytes));
    const char *path = fuzz_file("log.zst.symbols", data, bytes);
    free(data);
    return path;
}

static void look(void *arg, const char *function, const char *file, unsigned line)
{
    size_t *bytes = arg;
    *bytes += strlen(function) + (file ? strlen(file) : 0);
    FUZZ_HOLDS(line <= INT32_MAX && (!file || *file));
}

/* Looks up each address in the text in the object named before it. */
static void look_all(const struct mpr_stored *s, char *text)
{
    uint32_t object = 0;
    size_t bytes = 0;
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *path = strrchr(line, '\t');
        if (strncmp(line, "object\t\t", 8) == 0)
            object = mpr_stored_object(s, &(struct mpr_binary){ .path = path + 1 });
        if (object && strncmp(line, "at\t", 3) == 0)
            mpr_stored_look(s, object, strtoull(line + 3, NULL, 16), look, &bytes);
    }
    if (object) mpr_stored_look(s, object, UINT64_MAX, look, &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t id[16];
    enum mpr_symbols_stored_state found = MPR_SYMBOLS_FILE_NOT_READ;
    if (!size) return 0;
    const char *path = *data & AS_IT_IS ? fuzz_file("log.zst.symbols", data + 1, size - 1)
                                        : packed_file(data + 1, size - 1);
    char *log = strndup(path, strlen(path) - strlen(MPR_STORED_ENDING)),
         *text = strndup((const char *)data + 1, size - 1);
    struct mpr_stored *s = mpr_stored_open(log, id, &found);
    FUZZ_HOLDS((s != NULL) == (found == MPR_SYMBOLS_FILE_GOOD) &&
               found != MPR_SYMBOLS_FILE_NOT_READ && found != MPR_SYMBOLS_FILE_MISSING);
    if (s) look_all(s, text);
    mpr_stored_free(s);
    free(text);
    free(log);
    return 0;
}
