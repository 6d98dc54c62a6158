/* The text is a list of KEY:VALUE, separated by commas.  Blanks are ignored.  A value in brackets
 * is a list itself. */
#include "caching_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

struct mpr_caching_settings mpr_caching_settings_default(void)
{
    return (struct mpr_caching_settings){ .max_split_size = UINT64_MAX,
                                          .max_non_split_rounding = 20 * MIB };
}

/* ---- words */

enum { WORD = 64 };

struct parser {
    const char *at;
    char *error;
    size_t room;
};

static int fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parser *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(p->error, p->room, format, list);
    va_end(list);
    return -1;
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ') p->at++;
}

/* Returns true, and passes over the character, if it is the next one. */
static bool take(struct parser *p, char c)
{
    skip_blanks(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

/* Reads a key or a value.  A word that is too long is cut, and then unknown. */
static void read_word(struct parser *p, char word[WORD])
{
    size_t length = 0;
    for (; *p->at && !strchr(",:[]", *p->at); p->at++)
        if (*p->at != ' ' && length < WORD - 1) word[length++] = *p->at;
    word[length] = 0;
}

/* ---- values */

static int read_flag(struct parser *p, const char *key, bool *value)
{
    char word[WORD];
    read_word(p, word);
    *value = strcmp(word, "True") == 0;
    if (*value || strcmp(word, "False") == 0) return 0;
    return fail(p, "%s is '%s': expected True or False", key, word);
}

static int number_of(struct parser *p, const char *key, const char *word, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(word, &end, 10);
    if (*word >= '0' && *word <= '9' && !*end && !errno) return 0;
    return fail(p, "%s is '%s': expected a number", key, word);
}

static int read_megabytes(struct parser *p, const char *key, uint64_t *bytes)
{
    char word[WORD];
    uint64_t number;
    read_word(p, word);
    if (number_of(p, key, word, &number) != 0) return -1;
    if (number < 20) return fail(p, "%s is %s: PyTorch accepts 20 and more", key, word);
    *bytes = number > UINT64_MAX / MIB ? UINT64_MAX / MIB * MIB : number * MIB;
    return 0;
}

static int read_share(struct parser *p, const char *key, bool can_be_1, double *value)
{
    char word[WORD], *end;
    read_word(p, word);
    *value = strtod(word, &end);
    if (*word && !*end && *value > 0 && (*value < 1 || (can_be_1 && *value <= 1))) return 0;
    return fail(p, "%s is '%s': expected a number between 0 and 1", key, word);
}

/* ---- roundup_power2_divisions */

static int read_divisions(struct parser *p, const char *key, uint32_t *divisions)
{
    char word[WORD];
    uint64_t number;
    read_word(p, word);
    if (number_of(p, key, word, &number) != 0) return -1;
    if (number & (number - 1) || number > UINT32_MAX)
        return fail(p, "%s has %s divisions: expected 0 or a power of two", key, word);
    *divisions = (uint32_t)number;
    return 0;
}

static void fill(struct mpr_caching_settings *s, size_t from, size_t to, uint32_t divisions)
{
    for (size_t i = from; i < to; i++) s->power2_divisions[i] = divisions;
}

/* "[256:1,512:2,>:8]": sizes are in MB.  The first value also applies to smaller sizes, and that of
 * ">" from the last size on. */
static int read_intervals(struct parser *p, const char *key, struct mpr_caching_settings *s)
{
    size_t last = 0;
    bool first = true;
    do {
        char word[WORD];
        uint32_t divisions = 0;
        uint64_t size = 1;
        skip_blanks(p);
        read_word(p, word);
        const bool rest = strcmp(word, ">") == 0;
        if (!rest && number_of(p, key, word, &size) != 0) return -1;
        if (!size || size & (size - 1))
            return fail(p, "%s has the size %s: expected a power of two", key, word);
        if (!take(p, ':')) return fail(p, "%s: expected ':' after %s", key, word);
        if (read_divisions(p, key, &divisions) != 0) return -1;
        if (rest) {
            fill(s, last, MPR_CACHING_INTERVALS, divisions);
            continue;
        }
        size_t index = (size_t)(63 - __builtin_clzll(size));
        if (index > MPR_CACHING_INTERVALS - 1) index = MPR_CACHING_INTERVALS - 1;
        if (first) fill(s, 0, index, divisions);
        s->power2_divisions[index] = divisions;
        first = false;
        last = index;
    } while (take(p, ','));
    return take(p, ']') ? 0 : fail(p, "%s: ']' is missing", key);
}

static int read_roundup(struct parser *p, const char *key, struct mpr_caching_settings *s)
{
    uint32_t divisions = 0;
    if (take(p, '[')) return read_intervals(p, key, s);
    if (read_divisions(p, key, &divisions) != 0) return -1;
    if (!divisions) return fail(p, "%s is 0: expected a power of two", key);
    fill(s, 0, MPR_CACHING_INTERVALS, divisions);
    return 0;
}

/* ---- keys */

static int read_backend(struct parser *p)
{
    char word[WORD];
    read_word(p, word);
    if (strcmp(word, "native") == 0) return 0;
    return fail(p, "the backend %s is not the caching allocator, so its memory cannot be computed",
                word);
}

/* Settings that change no size and no address of device memory. */
static bool has_no_effect(const char *key)
{
    static const char *const keys[] = {
        "release_lock_on_cudamalloc",    "release_lock_on_hipmalloc",
        "pinned_use_cuda_host_register", "pinned_use_hip_host_register",
        "pinned_num_register_threads",   "pinned_use_background_threads",
        "pinned_reserve_segment_size_mb"
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static int read_value(struct parser *p, const char *key, struct mpr_caching_settings *s)
{
    char word[WORD];
    if (strcmp(key, "expandable_segments") == 0) return read_flag(p, key, &s->expandable_segments);
    if (strcmp(key, "max_split_size_mb") == 0) return read_megabytes(p, key, &s->max_split_size);
    if (strcmp(key, "max_non_split_rounding_mb") == 0)
        return read_megabytes(p, key, &s->max_non_split_rounding);
    if (strcmp(key, "garbage_collection_threshold") == 0)
        return read_share(p, key, false, &s->collect_above);
    if (strcmp(key, "per_process_memory_fraction") == 0)
        return read_share(p, key, true, &s->memory_fraction);
    if (strcmp(key, "roundup_power2_divisions") == 0) return read_roundup(p, key, s);
    if (strcmp(key, "backend") == 0) return read_backend(p);
    if (!has_no_effect(key)) return fail(p, "'%s' is not a setting that can be computed", key);
    read_word(p, word);
    return 0;
}

int mpr_caching_settings_parse(struct mpr_caching_settings *settings, const char *text, char *error,
                               size_t room)
{
    struct parser p = { text, error, room };
    struct mpr_caching_settings changed = *settings;
    char key[WORD];
    do {
        skip_blanks(&p);
        read_word(&p, key);
        if (!*key) return fail(&p, "a setting is missing: expected KEY:VALUE");
        if (!take(&p, ':')) return fail(&p, "expected ':' and a value after '%s'", key);
        skip_blanks(&p);
        if (read_value(&p, key, &changed) != 0) return -1;
    } while (take(&p, ','));
    skip_blanks(&p);
    if (*p.at) return fail(&p, "unexpected '%s' after the value of %s", p.at, key);
    *settings = changed;
    return 0;
}
