#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "error.h"
#include "nearest.h"

const char *const mpr_limit_words[] = {
    [MPR_LIMIT_HEAP] = "heap",           [MPR_LIMIT_RANGE] = "range",
    [MPR_LIMIT_THREAD] = "thread",       [MPR_LIMIT_ROLE] = "role",
    [MPR_LIMIT_LINE] = "line",           [MPR_LIMIT_RSS] = "rss",
    [MPR_LIMIT_CGROUP] = "cgroup",       [MPR_LIMIT_DEVICE] = "device",
    [MPR_LIMIT_COMMS] = "communicators", [MPR_LIMIT_GRAPHS] = "graphs"
};

void mpr_budget_add(struct mpr_budget *b, const struct mpr_limit *limit)
{
    MPR_GROW(b->limit, b->limits, b->cap);
    b->limit[b->limits] = *limit;
    b->limit[b->limits++].account = limit->kind == MPR_LIMIT_RSS      ? "rss"
                                    : limit->kind == MPR_LIMIT_CGROUP ? "cgroup"
                                                                      : mpr_heap_name(limit->heap);
}

enum mpr_limit_kind mpr_budget_kind(const char *name)
{
    return strcmp(name, "rss") == 0      ? MPR_LIMIT_RSS
           : strcmp(name, "cgroup") == 0 ? MPR_LIMIT_CGROUP
                                         : MPR_LIMIT_HEAP;
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

/* Returns the next word and moves *line after it. Returns NULL at the end of the line, or, with
 * *bad set, if a quote is not closed. */
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

/* The forms of a limit, by kind. */
static const struct form {
    size_t words;
    const char *form, *example;
} forms[] = { [MPR_LIMIT_HEAP] = { 3, "heap NAME SIZE", "heap host/heap 500MiB" },
              [MPR_LIMIT_RANGE] = { 4, "range \"PATH\" HEAP SIZE",
                                    "range \"step * > forward\" host/heap 500MiB" },
              [MPR_LIMIT_LINE] = { 4, "line \"TEXT\" HEAP SIZE",
                                   "line \"load (loader.py:*)\" host/heap 500MiB" },
              [MPR_LIMIT_THREAD] = { 4, "thread NAME HEAP SIZE",
                                     "thread loader* host/heap 500MiB" },
              [MPR_LIMIT_ROLE] = { 4, "role NAME HEAP SIZE", "role activations gpu0/torch 500MiB" },
              [MPR_LIMIT_RSS] = { 2, "rss SIZE", "rss 900MiB" },
              [MPR_LIMIT_CGROUP] = { 2, "cgroup SIZE", "cgroup 900MiB" } };

/* Returns NULL if no limit begins with that word. */
static const struct form *form_of(const char *word)
{
    for (size_t i = 0; word && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(mpr_limit_words[i], word) == 0) return &forms[i];
    return NULL;
}

static int fail_form(const char *from, const char *word, struct mpr_error *error)
{
    const struct form *form = form_of(word);
    if (form)
        return mpr_fail(
            error,
            "%s: expected %s, such as: %s (and optional after the size, if it may match nothing)",
            from, form->form, form->example);
    return mpr_fail(
        error,
        "%s: expected heap NAME SIZE, range \"PATH\" HEAP SIZE, line \"TEXT\" HEAP SIZE, thread NAME "
        "HEAP SIZE, role NAME HEAP SIZE, rss SIZE or cgroup SIZE, such as: heap host/heap 500MiB (and "
        "optional after the size, if it may match nothing)",
        from);
}

/* Removes "optional" and a comma before it from the end of the line. Returns false if the line
 * does not end with it. */
static bool take_optional(char **word, size_t *words)
{
    char *last = word[*words - 1], *comma = strrchr(last, ',');
    if (strcmp(comma ? comma + 1 : last, "optional") != 0) return false;
    if (comma && comma > last) {
        *comma = 0;
        return true;
    }
    last = word[--*words - 1];
    const size_t length = strlen(last);
    if (length && last[length - 1] == ',') last[length - 1] = 0;
    if (!*last) --*words;
    return true;
}

/* Joins "50" and "MB" at the end of the line to one word. Returns the number of words. */
static size_t join_unit(struct mpr_arena *arena, char **word, size_t words)
{
    double unit;
    if (words < 2) return words;
    char *number = word[words - 2];
    if (number[strspn(number, "0123456789.")] || !unit_of(word[words - 1], &unit)) return words;
    const char *size = mpr_arena_format(arena, "%s%s", number, word[words - 1]);
    word[words - 2] = (char *)size;
    return words - 1;
}

/* Returns "; did you mean activations?" if a role has a similar name, otherwise "". */
static const char *role_hint(struct mpr_arena *arena, const char *name)
{
    struct mpr_nearest nearest = { .text = name };
    for (enum mpr_role role = 0; role < MPR_ROLES; role++)
        mpr_nearest_try(&nearest, mpr_role_key(role));
    if (!nearest.word || nearest.nearness == MPR_NEAR_EQUAL)
        return ""; /* the role is right, so the heap is wrong */
    return mpr_arena_format(arena, "; did you mean %s?", nearest.word);
}

static int read_limit(struct mpr_arena *arena, char *const *word, size_t words, const char *from,
                      struct mpr_limit *limit, struct mpr_error *error)
{
    const struct form *form = form_of(word[0]);
    if (!form || form->words != words) return fail_form(from, word[0], error);
    limit->kind = (enum mpr_limit_kind)(form - forms);
    limit->name = words == 4 ? word[1] : "";
    limit->heap = mpr_heap_named(word[words - 2]);
    limit->role = mpr_role_named(limit->name);
    if (!limit->heap && form->words > 2)
        return mpr_fail(
            error,
            "%s: unknown heap '%s': expected host/heap, host/mmap, ... or a heap of a GPU, such as "
            "gpu0/device or gpu0/torch",
            from, word[words - 2]);
    if (!mpr_budget_size(word[words - 1], &limit->bytes))
        return mpr_fail(error, "%s: invalid size '%s': expected a number and a unit, such as: %s",
                        from, word[words - 1], form->example);
    if (limit->kind == MPR_LIMIT_ROLE &&
        (limit->role == MPR_ROLES || !mpr_heap_is_torch(limit->heap)))
        return mpr_fail(error,
                        "%s: expected a role of breakdown and a heap of PyTorch, such as: "
                        "role activations gpu0/torch 4GiB%s",
                        from, role_hint(arena, limit->name));
    return 0;
}

int mpr_budget_line(struct mpr_budget *b, char *line, const char *from, struct mpr_error *error)
{
    enum { WORDS_MAX = 7 }; /* kind, name, heap, number, unit, comma, optional */
    char *word[WORDS_MAX + 1] = { NULL };
    struct mpr_limit limit = { 0 };
    size_t words = 0;
    bool bad = false;
    while (words <= WORDS_MAX && (word[words] = next_word(&line, &bad))) words++;
    if (bad || words > WORDS_MAX) return fail_form(from, word[0], error);
    if (!words) return 0;
    limit.optional = words > 1 && take_optional(word, &words);
    if (!words) return fail_form(from, NULL, error);
    words = join_unit(&b->arena, word, words);
    if (read_limit(&b->arena, word, words, from, &limit, error) != 0) return -1;
    limit.name = mpr_arena_text(&b->arena, limit.name);
    limit.from = mpr_arena_text(&b->arena, from);
    mpr_budget_add(b, &limit);
    return 0;
}

int mpr_budget_read(struct mpr_budget *b, const char *path, struct mpr_error *error)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;
    int status = 0;
    if (!file) return mpr_fail_errno(error, path, "open");
    while (status == 0 && getline(&line, &room, file) >= 0)
        status =
            mpr_budget_line(b, line, mpr_arena_format(&b->arena, "%s:%zu", path, ++number), error);
    if (status == 0 && ferror(file)) status = mpr_fail_errno(error, path, "read");
    free(line);
    fclose(file);
    return status;
}
