/* Cuts a text: each letter has a worth, and the piece with the least worth is omitted. */
#include "text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "bisect.h"
#include "utf8.h"

#define ELLIPSIS "…"
#define ARROW    " > "

/* Worth of a column. */
enum {
    WORTH = 2,
    WORTH_FIRST = 4,
    WORTH_LAST = 6,
    WORTH_METHOD = 10,
    WORTH_MODULE = 24,
    WORTH_PLACE = 30,
    WORTH_SET = 24,
    WORTH_MARKED = 1000
};

/* Additional costs of a cut at a place. */
enum { IN_A_NAME = 12, IN_A_NUMBER = 40, IN_A_SET = 1000, TOO_SHORT = 24, AT_THE_END = 400 };
enum {
    MIN_PART = 4, /* columns of a name or an end that are still useful */
    FIRST = 8,    /* letters of the beginning */
    SLACK = 12    /* letters that may be omitted in addition to those that must be */
};

/* A character with its combining marks, or the end of the text. */
struct letter {
    const char *at;
    size_t column;
    uint32_t worth;
    bool in_set;     /* inside "{0..15}", after the "{" */
    uint64_t before; /* worth of all letters before this one */
};

struct text {
    const char *text;
    struct mpr_parts parts;
    struct letter *letter;
    size_t letters; /* without the end */
};

/* ---- worth */

/* Returns the first letter at or after a position. */
static size_t letter_at(const struct text *t, const char *at)
{
    return MPR_COUNT_FIRST(i, t->letters, t->letter[i].at < at);
}

static void raise_to(const struct text *t, struct mpr_piece piece, uint32_t worth)
{
    const char *to = t->text + piece.to;
    for (size_t i = letter_at(t, t->text + piece.from); i < t->letters && t->letter[i].at < to; i++)
        if (t->letter[i].worth < worth) t->letter[i].worth = worth;
}

/* Raises the worth of sets of numbers, "{0..15}", but not of "{lambda()#1}". */
static void raise_sets(const struct text *t)
{
    for (const char *at = t->text; (at = strchr(at, '{')); at++) {
        const char *close = isdigit((unsigned char)at[1]) ? strchr(at, '}') : NULL;
        if (!close) continue;
        raise_to(t, (struct mpr_piece){ (size_t)(at - t->text), (size_t)(close + 1 - t->text) },
                 WORTH_SET);
        for (size_t i = letter_at(t, at + 1); t->letter[i].at <= close; i++)
            t->letter[i].in_set = true;
    }
}

/* Raises the worth of numbers of layers, batches and so on, but not of addresses. */
static void raise_numbers(const struct text *t, size_t end)
{
    for (size_t at = 0, to; at < end; at = to + (to == at)) {
        to = at + strspn(t->text + at, "0123456789");
        if (to > at && (!at || strchr(" .=[_:-", t->text[at - 1])))
            raise_to(t, (struct mpr_piece){ at, to }, WORTH_LAST);
    }
}

static void weigh(const struct text *t, const unsigned char *marked)
{
    const struct mpr_parts *p = &t->parts;
    const size_t end = strlen(t->text);
    const char *first = t->letter[t->letters < FIRST ? t->letters : FIRST].at;
    raise_to(t, (struct mpr_piece){ 0, end }, WORTH);
    raise_to(t, (struct mpr_piece){ 0, (size_t)(first - t->text) }, WORTH_FIRST);
    raise_to(t, (struct mpr_piece){ p->last, end }, WORTH_LAST);
    raise_numbers(t, end);
    raise_to(t, p->method, WORTH_METHOD);
    raise_to(t, p->module, WORTH_MODULE);
    raise_to(t, p->place, WORTH_PLACE);
    raise_sets(t);
    for (size_t i = 0; marked && i < t->letters; i++)
        if (marked[t->letter[i].at - t->text]) t->letter[i].worth += WORTH_MARKED;
    for (size_t i = 0; i < t->letters; i++)
        t->letter[i + 1].before = t->letter[i].before + t->letter[i].worth;
}

/* ---- letters */

static void split(struct text *t)
{
    const char *at = t->text;
    size_t column = 0;
    t->letter = mpr_alloc(strlen(at) + 1, sizeof *t->letter);
    while (*at) {
        const char *const from = at;
        uint32_t code;
        mpr_utf8_next(&at, &code);
        const size_t width = mpr_utf8_width(code);
        if (width || !t->letters)
            t->letter[t->letters++] = (struct letter){ .at = from, .column = column };
        column += width;
    }
    t->letter[t->letters] = (struct letter){ .at = at, .column = column };
}

/* ---- the piece */

static bool begins_name(const struct text *t, size_t i)
{
    const char *at = t->letter[i].at;
    return !*at || strncmp(at, ARROW, strlen(ARROW)) == 0 || strncmp(at, " (", 2) == 0 ||
           *at == '[';
}

static bool ends_name(const struct text *t, size_t i)
{
    return i == 0 || begins_name(t, i) ||
           (i >= strlen(ARROW) &&
            strncmp(t->letter[i].at - strlen(ARROW), ARROW, strlen(ARROW)) == 0);
}

static bool in_a_number(const struct text *t, size_t i)
{
    return i && isdigit((unsigned char)*t->letter[i].at) &&
           isdigit((unsigned char)t->letter[i - 1].at[0]);
}

/* Returns the worth of a piece plus the costs of cutting there. */
static uint64_t cost_of_cut(const struct text *t, size_t from, size_t to)
{
    uint64_t sum = t->letter[to].before - t->letter[from].before;
    const size_t behind = t->letter[t->letters].column - t->letter[to].column;
    size_t name = from;
    while (name && !ends_name(t, name) && t->letter[name - 1].at[0] != ' ') name--;
    const size_t before = t->letter[from].column - t->letter[name].column;
    if (!begins_name(t, to)) sum += IN_A_NAME;
    if (from ? !ends_name(t, from) : !begins_name(t, to)) sum += from ? IN_A_NAME - 1 : IN_A_NAME;
    if (in_a_number(t, from)) sum += IN_A_NUMBER;
    if (in_a_number(t, to)) sum += IN_A_NUMBER;
    if (t->letter[from].in_set) sum += IN_A_SET;
    if (t->letter[to].in_set) sum += IN_A_SET;
    if (before && before < MIN_PART) sum += TOO_SHORT;
    if (!behind) sum += AT_THE_END;
    else if (behind < MIN_PART) sum += TOO_SHORT;
    return sum;
}

/* Finds the cheapest piece of at least this many columns.  It may have up to SLACK more letters if
 * it then ends before a name. */
static void choose_piece(const struct text *t, size_t columns, size_t *from, size_t *to)
{
    uint64_t min = UINT64_MAX;
    for (size_t a = 0, b = 0; a < t->letters; a++) {
        while (b < t->letters && t->letter[b].column < t->letter[a].column + columns) b++;
        if (t->letter[b].column < t->letter[a].column + columns) break;
        for (size_t end = b; end <= t->letters && end < b + SLACK; end++) {
            if (end > b && !begins_name(t, end)) continue;
            const uint64_t sum = cost_of_cut(t, a, end);
            if (sum >= min) continue;
            min = sum;
            *from = a;
            *to = end;
        }
    }
}

char *mpr_snip(const char *text, const struct mpr_parts *parts, size_t width,
               const unsigned char *marked)
{
    const size_t columns = mpr_utf8_columns(text);
    struct text t = { .text = text };
    size_t from = 0, to = 0;
    if (columns <= width) return mpr_text_copy(text);
    if (parts) t.parts = *parts;
    split(&t);
    weigh(&t, marked);
    to = t.letters;
    choose_piece(&t, columns - width + 1, &from, &to);
    char *cut = mpr_text_format("%.*s" ELLIPSIS "%s", (int)(t.letter[from].at - text), text,
                                t.letter[to].at);
    free(t.letter);
    return cut;
}
