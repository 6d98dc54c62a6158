#include "instance_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arena.h"
#include "numbered_names.h"

#define ARROW " > "

/* Reads a number of at least 1, "1,234", and returns the text after it, or NULL without a number.
 */
static const char *number_of(const char *text, uint64_t *number)
{
    *number = 0;
    if (!isdigit((unsigned char)*text)) return NULL;
    for (; isdigit((unsigned char)*text) || (*text == ',' && isdigit((unsigned char)text[1]));
         text++)
        if (*text != ',' && (__builtin_mul_overflow(*number, 10, number) ||
                             __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number)))
            return NULL;
    return *number ? text : NULL;
}

static const char *text_after(const char *text, const char *what)
{
    return text && strncmp(text, what, strlen(what)) == 0 ? text + strlen(what) : NULL;
}

/* Returns true if nothing follows an instance, or only the position of a peak in it. */
static bool is_complete(const char *rest) { return rest && (!*rest || text_after(rest, ", in ")); }

/* Returns the last occurrence, because names may have any text. */
static const char *last(const char *text, const char *what)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, what)); at++) found = at;
    return found;
}

/* ---- numbers */

/* Each name of the path without its number. */
static char *without_numbers(const char *path)
{
    struct mpr_arena arena = { 0 };
    const char *text = "";
    while (*path) {
        const char *arrow = strstr(path, ARROW);
        const size_t bytes = arrow ? (size_t)(arrow - path) : strlen(path);
        const char *name =
            mpr_name_without_numbers(&arena, mpr_arena_format(&arena, "%.*s", (int)bytes, path));
        text = mpr_arena_format(&arena, "%s%s%s", text, *text ? ARROW : "", name);
        path += bytes + (arrow ? strlen(ARROW) : 0);
    }
    char *copy = mpr_text_copy(text);
    mpr_arena_free(&arena);
    return copy;
}

static bool named_itself(struct mpr_instance_name *n, const char *text, size_t bytes,
                         uint64_t number)
{
    if (!bytes) return false;
    n->literal = mpr_text_copy_part(text, bytes);
    n->range = without_numbers(n->literal);
    n->number = number;
    n->called = true;
    return true;
}

/* ---- forms */

/* "step:12", "step:12 of 30, in forward" */
static bool with_colon(const char *text, struct mpr_instance_name *n)
{
    for (const char *colon = text; (colon = strchr(colon, ':')); colon++) {
        uint64_t of;
        const char *to = number_of(colon + 1, &n->number), *said = text_after(to, " of ");
        if (said) said = number_of(said, &of);
        if (colon == text || !to || (*to && !is_complete(said))) continue;
        n->literal = mpr_text_copy_part(text, (size_t)(to - text));
        n->range = mpr_text_copy_part(text, (size_t)(colon - text));
        return true;
    }
    return false;
}

/* "step 7 (8 of 12), in forward" */
static bool with_share(const char *text, struct mpr_instance_name *n)
{
    for (const char *open = text; (open = strstr(open, " (")); open++) {
        uint64_t number, of;
        const char *rest = text_after(number_of(open + 2, &number), " of ");
        if (rest) rest = number_of(rest, &of);
        if (is_complete(text_after(rest, ")")))
            return named_itself(n, text, (size_t)(open - text), number);
    }
    return false;
}

/* "epoch > step 7 (no. 8)" */
static bool with_number(const char *text, struct mpr_instance_name *n)
{
    const char *open = last(text, " (no. ");
    uint64_t number;
    const char *to = open ? number_of(text_after(open, " (no. "), &number) : NULL;
    return to && strcmp(to, ")") == 0 && named_itself(n, text, (size_t)(open - text), number);
}

/* "step 7": a name that has a number in it, but is not a misspelled time. */
static bool alone(const char *text, struct mpr_instance_name *n)
{
    if (!strpbrk(text, "0123456789") || (strchr("+-.0123456789", *text) && !strchr(text, ' ')))
        return false;
    return named_itself(n, text, strlen(text), 0);
}

bool mpr_instance_name_parse(const char *text, struct mpr_instance_name *n)
{
    static const char end[] = ".end";
    *n = (struct mpr_instance_name){ .number = 0 };
    const size_t bytes = strlen(text);
    n->end = bytes > strlen(end) && strcmp(text + bytes - strlen(end), end) == 0;
    char *name = mpr_text_copy_part(text, bytes - (n->end ? strlen(end) : 0));
    const bool known =
        with_share(name, n) || with_number(name, n) || with_colon(name, n) || alone(name, n);
    free(name);
    return known;
}

void mpr_instance_name_free(struct mpr_instance_name *n)
{
    free(n->literal);
    free(n->range);
}
