#include "nearest.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_LENGTH = 100, MAX_LETTERS = 2, MIN_PREFIX = 3 };

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the Levenshtein distance: the number of letters to add, remove or change that turns one
 * word into the other. */
static size_t distance(const char *a, size_t as, const char *b, size_t bs)
{
    size_t row[MAX_LENGTH + 1];
    for (size_t k = 0; k <= bs; k++) row[k] = k;
    for (size_t i = 0; i < as; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < bs; k++) {
            const size_t above = row[k + 1], changed = diagonal + (a[i] != b[k]);
            row[k + 1] = min(changed, min(above, row[k]) + 1);
            diagonal = above;
        }
    }
    return row[bs];
}

static bool differ_only_in_numbers(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    while (*a && *b) {
        const size_t in_a = strspn(a, digits), in_b = strspn(b, digits);
        if (!in_a != !in_b || (!in_a && *a != *b)) return false;
        a += in_a ? in_a : 1;
        b += in_b ? in_b : 1;
    }
    return !*a && !*b;
}

/* Returns false if the word is not near.  If a word is too long for the distance to be computed,
 * all its letters count as different. */
static bool compare(const char *text, const char *word, enum mpr_nearness *nearness,
                    size_t *letters)
{
    const size_t length = strlen(text), bytes = strlen(word);
    if (length >= MIN_PREFIX && strncmp(text, word, length) == 0) {
        *nearness = bytes == length ? MPR_NEAR_EQUAL : MPR_NEAR_PREFIX;
        *letters = bytes - length;
        return true;
    }
    const bool numbers = differ_only_in_numbers(text, word),
               short_enough = length <= MAX_LENGTH && bytes <= MAX_LENGTH;
    *letters = short_enough ? distance(text, length, word, bytes) : bytes;
    *nearness = !*letters ? MPR_NEAR_EQUAL : numbers ? MPR_NEAR_NUMBERS : MPR_NEAR_LETTERS;
    return numbers || (short_enough && *letters <= MAX_LETTERS && 2 * *letters < bytes);
}

void mpr_nearest_try(struct mpr_nearest *n, const char *word)
{
    enum mpr_nearness nearness;
    size_t letters;
    if (!compare(n->text, word, &nearness, &letters)) return;
    const bool nearer = nearness != n->nearness ? nearness < n->nearness : letters < n->letters;
    if (n->word && !nearer) return;
    n->word = word;
    n->nearness = nearness;
    n->letters = letters;
}
