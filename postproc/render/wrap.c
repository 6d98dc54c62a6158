#include "wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "utf8.h"

/* A word, or a phrase, behind so many blanks: at the end of the line, or on the next one. */
static void word(struct mpr_wrap *w, size_t blanks, const char *text)
{
    const size_t columns = mpr_utf8_columns(text);
    const bool wraps = w->width && blanks && columns && w->column > w->hang &&
                       w->column + blanks + columns > w->width;
    if (wraps) fprintf(w->out, "\n%*s", (int)w->hang, "");
    else fprintf(w->out, "%*s", (int)blanks, "");
    w->column = (wraps ? w->hang : w->column + blanks) + columns;
    fputs(text, w->out);
}

/* The bytes up to the next blank; where a short phrase begins, up to two of them. */
static size_t unit_of(const char *text, bool begins)
{
    enum { SHORT = 30 };
    const size_t bytes = strcspn(text, " ");
    const char *gap = strstr(text, "  ");
    const size_t phrase = gap ? (size_t)(gap - text) : strlen(text);
    return begins && phrase <= SHORT ? phrase : bytes;
}

void mpr_wrap_words(struct mpr_wrap *w, const char *text)
{
    char *const copy = mpr_text_copy(text), *at = copy;
    while (*at) {
        const size_t blanks = strspn(at, " ");
        char *const end = at + blanks + unit_of(at + blanks, blanks > 1), after = *end;
        *end = 0;
        word(w, blanks, at + blanks);
        *end = after;
        at = end;
    }
    free(copy);
}
