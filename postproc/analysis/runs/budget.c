#include "budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "error.h"
#include "nearest.h"

enum { WORDS = 6 }; /* in one line: kind, name, heap, number, unit, optional */

void mpr_budget_add(struct mpr_budget *b, const struct mpr_limit *limit)
{
    MPR_GROW(b->limit, b->limits, b->cap);
    b->limit[b->limits] = *limit;
    b->limit[b->limits++].account = mpr_heap_name(limit->heap);
}

void mpr_budget_free(struct mpr_budget *b)
{
    free(b->limit);
    mpr_arena_free(&b->arena);
}

/* ---- sizes */

static bool unit_of(const char *text, double *unit)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = { { "", 1 },          { "B", 1 },         { "KiB", 1024 },
                  { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "TiB", 1ull << 40 },
                  { "kB", 1e3 },      { "KB", 1e3 },      { "MB", 1e6 },
                  { "GB", 1e9 },      { "TB", 1e12 },     { "K", 1024 },
                  { "M", 1 << 20 },   { "G", 1 << 30 },   { "T", 1ull << 40 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, text) == 0) return *unit = units[i].bytes, true;
    return false;
}

bool mpr_budget_size(const char *text, uint64_t *bytes)
{
    char *end;
    double unit;
    if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.")] == 'x') return false;
    const double number = strtod(text, &end);
    end += strspn(end, " ");
    if (!unit_of(end, &unit) || number * unit >= 9e18) return false;
    *bytes = (uint64_t)(number * unit);
    return true;
}

/* ---- lines */

/* Cuts the next word off; NULL: there is none, or (with *bad) its quote does not end. */
static char *next_word(char **line, bool *bad)
{
    char *word = *line + strspn(*line, " \t\r\n");
    if (!*word || *word == '#') return NULL;
    const bool quoted = *word == '"';
    char *end = quoted ? strchr(++word, '"') : word + strcspn(word, " \t\r\n");
    if (!end) {
        *bad = true;
        return NULL;
    }
    *line = *end ? end + 1 : end;
    *end = 0;
    return word;
}

static size_t words_of(char *line, char *word[WORDS + 1])
{
    bool bad = false;
    size_t count = 0;
    while (count <= WORDS && (word[count] = next_word(&line, &bad))) count++;
    return bad ? WORDS + 1 : count;
}

/* False: the line is none. */
static bool limit_of(char *const *word, size_t words, struct mpr_limit *limit)
{
    static const struct {
        const char *word;
        enum mpr_limit_of of;
        size_t words;
    } kinds[] = { { "heap", MPR_LIMIT_HEAP, 3 },
                  { "range", MPR_LIMIT_RANGE, 4 },
                  { "line", MPR_LIMIT_LINE, 4 },
                  { "thread", MPR_LIMIT_THREAD, 4 },
                  { "role", MPR_LIMIT_ROLE, 4 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].words != words || strcmp(kinds[i].word, word[0]) != 0) continue;
        limit->of = kinds[i].of;
        limit->name = words == 4 ? word[1] : "";
        limit->heap = mpr_heap_named(word[words - 2]);
        limit->role = mpr_role_named(limit->name);
        return limit->heap && mpr_budget_size(word[words - 1], &limit->bytes);
    }
    return false;
}

/* "; is activations meant?" where a role has nearly the name, else "". */
static const char *role_hint(struct mpr_arena *arena, const char *name)
{
    struct mpr_nearest nearest = { .text = name };
    for (enum mpr_role role = 0; role < MPR_ROLES; role++)
        mpr_nearest_try(&nearest, mpr_role_key(role));
    if (!nearest.word || !nearest.letters) return ""; /* there is one: the heap is another one's */
    return mpr_arena_format(arena, "; is %s meant?", nearest.word);
}

/* "50 MB" is one word. */
static size_t join_unit(struct mpr_arena *arena, char **word, size_t words)
{
    double unit;
    if (words < 2 || words > WORDS) return words;
    char *number = word[words - 2];
    if (number[strspn(number, "0123456789.")] || !unit_of(word[words - 1], &unit)) return words;
    const char *size = mpr_arena_format(arena, "%s%s", number, word[words - 1]);
    word[words - 2] = (char *)size;
    return words - 1;
}

int mpr_budget_line(struct mpr_budget *b, char *line, const char *from, struct mpr_error *error)
{
    char *word[WORDS + 1];
    struct mpr_limit limit = { 0 };
    size_t words = words_of(line, word);
    if (!words) return 0;
    limit.optional = words <= WORDS && strcmp(word[words - 1], "optional") == 0;
    words = join_unit(&b->arena, word, words - limit.optional);
    if (words > 2 && words <= WORDS && !mpr_heap_named(word[words - 2]))
        return mpr_fail(error,
                        "%s: unknown heap %s: expected host/heap, host/mmap or, of a GPU, "
                        "gpu0/device, gpu0/torch, ...",
                        from, word[words - 2]);
    if (words > WORDS || !limit_of(word, words, &limit))
        return mpr_fail(
            error,
            "%s: expected heap NAME SIZE, range \"PATH\" HEAP SIZE, line \"TEXT\" HEAP SIZE, thread NAME HEAP SIZE "
            "or role NAME HEAP SIZE, such as: heap host/heap 500MiB, and after the size perhaps: optional",
            from);
    if (limit.of == MPR_LIMIT_ROLE && (limit.role == MPR_ROLES || !mpr_heap_is_torch(limit.heap)))
        return mpr_fail(error,
                        "%s: expected a role of breakdown and a heap of PyTorch, such as: "
                        "role activations gpu0/torch 4GiB%s",
                        from, role_hint(&b->arena, limit.name));
    limit.name = mpr_arena_text(&b->arena, limit.name);
    limit.from = mpr_arena_text(&b->arena, from);
    mpr_budget_add(b, &limit);
    return 0;
}

static int read_line(struct mpr_budget *b, char *line, const char *path, size_t number,
                     struct mpr_error *error)
{
    return mpr_budget_line(b, line, mpr_arena_format(&b->arena, "%s:%zu", path, number), error);
}

int mpr_budget_read(struct mpr_budget *b, const char *path, struct mpr_error *error)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;
    int status = 0;
    if (!file) return mpr_fail_errno(error, path, "open");
    while (status == 0 && getline(&line, &room, file) >= 0)
        status = read_line(b, line, path, ++number, error);
    if (status == 0 && ferror(file)) status = mpr_fail_errno(error, path, "read");
    free(line);
    fclose(file);
    return status;
}
