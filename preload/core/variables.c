#include "core/variables.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "core/say.h"

static const char prefix[] = "MEMPROF_";
#define PREFIX (sizeof prefix - 1)

static const char *const known[] = {
#define MP_VARIABLE(name) "MEMPROF_" #name,
#include "core/variables.def"
#undef MP_VARIABLE
};
enum { KNOWN = sizeof known / sizeof *known, LENGTH_MAX = 32, PART_MIN = 3 };

static size_t length_of(const char *name) { return strcspn(name, "="); }

static bool is_known(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (length_of(name) == strlen(known[i]) && !strncmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the number of letters to add, remove or change to turn one into the other
 * (Levenshtein). */
static size_t distance(const char *a, size_t as, const char *b, size_t bs)
{
    size_t row[LENGTH_MAX + 1];
    for (size_t k = 0; k <= bs; k++) row[k] = k;
    for (size_t i = 0; i < as; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < bs; k++) {
            const size_t above = row[k + 1], changed = diagonal + (a[i] != b[k]);
            row[k + 1] = min_size(changed, min_size(above, row[k]) + 1);
            diagonal = above;
        }
    }
    return row[bs];
}

/* Returns true if at most two letters differ, and fewer than are equal, or if one is the beginning
 * of the other (OUTPUT, JOURNAL). */
static bool is_near(const char *a, size_t as, const char *b, size_t bs, size_t letters)
{
    const size_t shorter = min_size(as, bs);
    return (letters <= 2 && 2 * letters < bs) || (shorter >= PART_MIN && !strncmp(a, b, shorter));
}

const char *mp_variables_nearest(const char *name)
{
    const size_t length = length_of(name);
    const char *nearest = NULL;
    size_t fewest = SIZE_MAX;
    if (length <= PREFIX || length > LENGTH_MAX) return NULL;
    for (size_t i = 0; i < KNOWN; i++) {
        const char *a = name + PREFIX, *b = known[i] + PREFIX;
        const size_t letters = distance(a, length - PREFIX, b, strlen(b));
        if (letters >= fewest || !is_near(a, length - PREFIX, b, strlen(b), letters)) continue;
        fewest = letters;
        nearest = known[i];
    }
    return nearest;
}

/* A name may contain any bytes, and the line is printed to a terminal. */
static void add_name(struct mp_text *t, const char *name)
{
    const size_t length = length_of(name);
    for (size_t i = 0; i < length && i < 2 * LENGTH_MAX; i++)
        mp_text_bytes(t, name[i] > ' ' && name[i] < 0x7f ? name + i : "?", 1);
}

/* Other tools may have variables with this prefix, so all of them share one line. */
static void say(const char *name, const char *suggestion, size_t others)
{
    char line[256];
    struct mp_text t = MP_TEXT(line);
    mp_text_str(&t, "memprof: ");
    add_name(&t, name);
    mp_text_str(&t, suggestion ? " is not a variable of memprof; did you mean "
                               : " is not a variable of memprof and has no effect");
    if (suggestion) mp_text_str(&t, suggestion);
    if (suggestion) mp_text_str(&t, "?");
    if (others) mp_text_str(&t, " (and ");
    if (others) mp_text_u64(&t, others);
    if (others) mp_text_str(&t, " more)");
    mp_text_str(&t, "\n");
    mp_say_line(&t);
}

void mp_variables_check(char *const *environment)
{
    const char *first = NULL, *suggestion = NULL;
    size_t count = 0;
    for (; environment && *environment; environment++) {
        const char *name = *environment;
        if (strncmp(name, prefix, PREFIX) != 0 || is_known(name)) continue;
        count++;
        const char *nearest = suggestion ? NULL : mp_variables_nearest(name);
        if (first && !nearest) continue;
        first = name;
        suggestion = nearest;
    }
    if (first) say(first, suggestion, count - 1);
}
