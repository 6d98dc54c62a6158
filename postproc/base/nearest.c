#include "nearest.h"

#include <string.h>

enum { MOST = 100, LETTERS = 2 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters to add, remove or change make one of the other (Levenshtein). */
static size_t distance(const char *a, size_t as, const char *b, size_t bs)
{
    size_t row[MOST + 1];
    for (size_t k = 0; k <= bs; k++) row[k] = k;
    for (size_t i = 0; i < as; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < bs; k++) {
            const size_t above = row[k + 1], changed = diagonal + (a[i] != b[k]);
            row[k + 1] = least(changed, least(above, row[k]) + 1);
            diagonal = above;
        }
    }
    return row[bs];
}

void mpr_nearest_try(struct mpr_nearest *n, const char *word)
{
    const size_t length = strlen(n->text), bytes = strlen(word);
    if (length > MOST || bytes > MOST) return;
    const size_t letters = distance(n->text, length, word, bytes);
    if (letters > LETTERS || 2 * letters >= bytes || (n->word && letters >= n->letters)) return;
    n->word = word;
    n->letters = letters;
}
