#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "numbered_names.h"

enum {
    PLACES = 16, /* of a path */
    IN_A_NAME = 8,
    MAX_PIECES = 6, /* of a listed set */
    MAX_PATH = 4096 /* bytes */
};

/* A number in a path, or the set of numbers that replaces it. */
struct place {
    uint64_t number;
    const char *exact, *shown; /* for comparing, and for people */
};

/* A line, its skeleton, which is the path with a mark for each number, and the numbers. */
struct item {
    struct mpr_line line;
    const char *skeleton;
    size_t places;
    struct place at[PLACES];
};

/* Lines of one skeleton, and the place whose numbers are grouped. */
struct grouping {
    struct mpr_arena *arena;
    struct item *item;
    size_t items, at;
    bool same[PLACES];  /* places whose numbers are always those at `at` */
    bool other[PLACES]; /* all other places whose numbers vary */
};

/* ---- sets */

static size_t run_of(const uint64_t *number, size_t numbers)
{
    size_t run = 1;
    while (run < numbers && number[run] == number[0] + run) run++;
    return run;
}

/* Three and more consecutive numbers are shown as "0..15", and of a set with many pieces only the
 * first and the last number. */
static struct place set_of(struct mpr_arena *arena, const uint64_t *number, size_t numbers)
{
    char *text = NULL;
    size_t bytes, pieces = 0;
    bool has_runs = false;
    for (size_t i = 0; i < numbers && !has_runs; i++)
        has_runs = run_of(number + i, numbers - i) > 2;
    FILE *out = mpr_text_open(&text, &bytes);
    for (size_t i = 0; i < numbers; pieces++) {
        const size_t run = run_of(number + i, numbers - i);
        fprintf(out, "%s%" PRIu64, !i ? "{" : has_runs ? ", " : ",", number[i]);
        if (run > 2) fprintf(out, "..%" PRIu64, number[i + run - 1]);
        i += run > 2 ? run : 1;
    }
    fputc('}', out);
    mpr_text_close(out);
    const char *exact = mpr_arena_text(arena, text), *shown = exact;
    free(text);
    if (pieces > MAX_PIECES)
        shown = mpr_arena_format(arena, "{%" PRIu64 "..%" PRIu64 ", %zu of them}", number[0],
                                 number[numbers - 1], numbers);
    return (struct place){ number[0], exact, shown };
}

const char *mpr_number_set(struct mpr_arena *arena, const uint64_t *number, size_t numbers)
{
    return set_of(arena, number, numbers).shown;
}

/* ---- skeletons */

/* Finds the numbers of a frame.  @before: how many the frames before it have */
static size_t find_places(const struct mpr_frame *frame, size_t before,
                          struct mpr_name_number *place)
{
    const size_t room = PLACES - before;
    return mpr_numbers_find(frame, place, room < IN_A_NAME ? room : IN_A_NAME);
}

/* Writes the text with a mark for each number, and after the path of a module also the call. */
static void write_skeleton(FILE *out, const struct mpr_frame *frame, struct item *i)
{
    struct mpr_name_number place[IN_A_NAME];
    const size_t found = find_places(frame, i->places, place);
    const char *text = found ? mpr_frame_numbered(frame) : frame->text;
    size_t at = 0;
    for (size_t k = 0; k < found; k++) {
        fwrite(text + at, 1, place[k].from - at, out);
        fputc('\1', out);
        i->at[i->places++].number = place[k].number;
        at = place[k].to;
    }
    fputs(text + at, out);
    if (found && *frame->module)
        fprintf(out, "\3%d%s (%s:%" PRIu64, frame->is_backward, frame->name, frame->file,
                frame->line);
    fputc('\2', out);
}

/* Sets the skeleton and the numbers of an item. */
static void read_path(struct mpr_arena *arena, struct item *i)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = mpr_text_open(&text, &bytes);
    const struct mpr_path path = i->line.row.path;
    /* A path with the bytes that serve as marks is not grouped, and neither is a very long one. */
    size_t depth = path.depth, length = 0;
    for (size_t k = 0; k < depth; k++) {
        length += strlen(path.frame[k]->text);
        if (length > MAX_PATH || strpbrk(path.frame[k]->text, "\1\2\3")) depth = 0;
    }
    for (size_t k = 0; k < depth; k++) write_skeleton(out, path.frame[k], i);
    fputs(i->line.caller, out);
    mpr_text_close(out);
    i->skeleton = i->places ? mpr_arena_text(arena, text) : "";
    free(text);
    for (size_t k = 0; k < i->places; k++)
        i->at[k].exact = i->at[k].shown = mpr_arena_format(arena, "%" PRIu64, i->at[k].number);
}

/* Replaces the numbers in the path of an item by their sets. */
static void set_path(struct mpr_arena *arena, struct item *i)
{
    const struct mpr_frame **path = mpr_arena_alloc(arena, i->line.row.path.depth * sizeof *path);
    for (size_t k = 0, before = 0; k < i->line.row.path.depth; k++) {
        struct mpr_name_number place[IN_A_NAME];
        const char *set[IN_A_NAME];
        const struct mpr_frame *frame = i->line.row.path.frame[k];
        const size_t places = find_places(frame, before, place);
        for (size_t n = 0; n < places; n++) set[n] = i->at[before + n].shown;
        path[k] = places ? mpr_numbers_replace(arena, frame, place, set, places) : frame;
        before += places;
    }
    if (!i->line.one.depth) i->line.one = i->line.row.path;
    i->line.row.path.frame = path;
}

/* ---- order */

MPR_COMPARE(by_skeleton, struct item,
            mpr_compare(a->places, b->places) ?: strcmp(a->skeleton, b->skeleton))

static int compare_others(const struct item *a, const struct item *b, const struct grouping *f)
{
    for (size_t k = 0; k < a->places; k++) {
        const int order = f->other[k] ? strcmp(a->at[k].exact, b->at[k].exact) : 0;
        if (order) return order;
    }
    return 0;
}

/* Compares outliers with other lines: both are grouped only among themselves. */
static int compare_outliers(const struct item *a, const struct item *b)
{
    return mpr_compare(a->line.sibling_most != 0, b->line.sibling_most != 0);
}

static int by_others(const void *left, const void *right, void *grouping)
{
    const struct item *a = left, *b = right;
    const struct grouping *f = grouping;
    return compare_others(a, b, f) ?: compare_outliers(a, b)
                                   ?: mpr_compare(a->at[f->at].number, b->at[f->at].number);
}

/* ---- one place */

/* Lines that differ only in the place that is grouped, and in the same ones. */
struct bucket {
    const struct item *item;
    size_t items;
};

/* Returns the bucket that follows `last`, or the first one if that is NULL, in the order of
 * by_others; its items are 0 at the end. */
static struct bucket next_bucket(const struct grouping *f, const struct bucket *last)
{
    const struct item *from = last ? last->item + last->items : f->item, *to = from,
                      *end = f->item + f->items;
    while (to < end && !compare_others(from, to, f) && !compare_outliers(from, to)) to++;
    return (struct bucket){ from, (size_t)(to - from) };
}

static struct bucket first_bucket(struct grouping *f)
{
    qsort_r(f->item, f->items, sizeof *f->item, by_others, f);
    return next_bucket(f, NULL);
}

uint64_t mpr_outlier_limit(uint64_t *bytes, size_t count)
{
    qsort(bytes, count, sizeof *bytes, mpr_compare_numbers);
    const uint64_t median = bytes[(count - 1) / 2];
    return median > UINT64_MAX / 2 ? UINT64_MAX : 2 * median;
}

/* Returns the bytes above which an item is an outlier.  Outliers have no limit. */
static uint64_t outlier_limit(const struct item *item, size_t items)
{
    if (item->line.sibling_most) return UINT64_MAX;
    uint64_t *bytes = mpr_alloc(items, sizeof *bytes);
    for (size_t i = 0; i < items; i++) bytes[i] = item[i].line.row.bytes;
    const uint64_t limit = mpr_outlier_limit(bytes, items);
    free(bytes);
    return limit;
}

/* Returns how many lines would be left. */
static size_t count_lines(struct grouping *f)
{
    size_t lines = 0;
    for (struct bucket b = first_bucket(f); b.items; b = next_bucket(f, &b)) {
        const uint64_t limit = outlier_limit(b.item, b.items);
        bool outliers = false;
        for (size_t i = 0; i < b.items; i++) outliers |= b.item[i].line.row.bytes > limit;
        lines += outliers ? 2 : 1;
    }
    return lines;
}

/* Returns one item for several that are sorted by number. */
static struct item merge(struct grouping *f, const struct item *item, size_t items)
{
    struct item sum = item[0];
    if (items == 1) return sum;
    uint64_t *number = mpr_alloc(items, sizeof *number);
    for (size_t i = 0; i < items; i++) {
        number[i] = item[i].at[f->at].number;
        if (i) mpr_line_add(&sum.line, &item[i].line);
    }
    sum.at[f->at] = set_of(f->arena, number, items);
    for (size_t k = 0; k < sum.places; k++)
        if (f->same[k]) sum.at[k].exact = sum.at[k].shown = "{same}";
    free(number);
    return sum;
}

/* Merges the outliers of a bucket, and all its other items.  Outliers get the range of the others'
 * bytes, except the larger one of two items.  Returns the number of items in @to: 1 or 2. */
static size_t group_bucket(struct grouping *f, const struct item *item, size_t items,
                           struct item *to)
{
    const uint64_t limit = outlier_limit(item, items);
    struct item *part = mpr_alloc(items, sizeof *part);
    size_t usual = 0, outliers = 0;
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < items; i++) {
        const uint64_t bytes = item[i].line.row.bytes;
        if (bytes > limit) continue;
        part[usual++] = item[i];
        if (bytes < min) min = bytes;
        if (bytes > max) max = bytes;
    }
    for (size_t i = 0; i < items; i++) {
        if (item[i].line.row.bytes <= limit) continue;
        struct item *outlier = &part[usual + outliers++];
        *outlier = item[i];
        if (items <= 2) continue;
        outlier->line.sibling_least = min;
        outlier->line.sibling_most = max;
    }
    to[0] = merge(f, part, usual);
    if (outliers) to[1] = merge(f, part + usual, outliers);
    free(part);
    return outliers ? 2 : 1;
}

/* ---- which place */

/* Chooses the place that is grouped.  @varying: places whose numbers are not always the same */
static void choose(struct grouping *f, size_t at, const bool *varying)
{
    f->at = at;
    for (size_t k = 0; k < f->item->places; k++) {
        f->same[k] = varying[k] && k != at;
        for (size_t i = 0; f->same[k] && i < f->items; i++)
            f->same[k] = strcmp(f->item[i].at[at].exact, f->item[i].at[k].exact) == 0;
        f->other[k] = varying[k] && k != at && !f->same[k];
    }
}

/* Groups at the place that leaves the fewest lines: of several, at the innermost, or the outermost
 * that always has the same number.  Returns false if none leaves fewer lines than there are. */
static bool group_best(struct grouping *f, const bool *grouped)
{
    bool varying[PLACES] = { false };
    size_t best = PLACES, fewest = f->items;
    for (size_t k = 0; k < f->item->places; k++)
        for (size_t i = 1; i < f->items && !varying[k]; i++)
            varying[k] = strcmp(f->item[i].at[k].exact, f->item[0].at[k].exact) != 0;
    for (size_t k = f->item->places; k-- > 0;) {
        if (!varying[k] || grouped[k]) continue;
        choose(f, k, varying);
        const size_t left = count_lines(f);
        if (left > fewest || (left == fewest && !(best < PLACES && f->same[best]))) continue;
        fewest = left;
        best = k;
    }
    if (best == PLACES) return false;
    choose(f, best, varying);
    size_t left = 0;
    for (struct bucket b = first_bucket(f); b.items; b = next_bucket(f, &b))
        left += group_bucket(f, b.item, b.items, &f->item[left]);
    f->items = left;
    return true;
}

static size_t group_similar(struct mpr_arena *arena, struct item *item, size_t items)
{
    struct grouping f = { .arena = arena, .item = item, .items = items };
    bool grouped[PLACES] = { false };
    if (items < 2 || !item->places || !group_best(&f, grouped)) return items;
    grouped[f.at] = true;
    for (size_t k = 0; k < PLACES; k++) grouped[k] |= f.same[k];
    if (f.items > 1) group_best(&f, grouped);
    for (size_t i = 0; i < f.items; i++) set_path(arena, &f.item[i]);
    return f.items;
}

/* ---- older and newer runs */

static size_t group_both_sides(struct mpr_arena *arena, struct item *item, size_t items,
                               size_t older)
{
    bool has_older = false, has_newer = false;
    for (size_t i = 0; i < items; i++)
        for (size_t run = 0; run < item[i].line.runs; run++)
            if (item[i].line.of_run[run]) *(run < older ? &has_older : &has_newer) = true;
    if (!item->places || !has_older || !has_newer) return items;
    struct item sum = item[0];
    uint64_t *number = mpr_alloc(items, sizeof *number);
    for (size_t i = 1; i < items; i++) mpr_line_add(&sum.line, &item[i].line);
    for (size_t k = 0; k < sum.places; k++) {
        size_t numbers = 0;
        for (size_t i = 0; i < items; i++) number[i] = item[i].at[k].number;
        qsort(number, items, sizeof *number, mpr_compare_numbers);
        for (size_t i = 0; i < items; i++)
            if (!i || number[i] != number[numbers - 1]) number[numbers++] = number[i];
        if (numbers > 1) sum.at[k] = set_of(arena, number, numbers);
    }
    free(number);
    set_path(arena, &sum);
    item[0] = sum;
    return 1;
}

/* ---- lines */

/* For mpr_lines_group there are 0 older runs. */
size_t mpr_lines_group_sides(struct mpr_arena *arena, struct mpr_line *line, size_t lines,
                             size_t older)
{
    struct item *item = mpr_alloc(lines, sizeof *item);
    size_t left = 0;
    for (size_t i = 0; i < lines; i++) {
        item[i].line = line[i];
        read_path(arena, &item[i]);
    }
    qsort(item, lines, sizeof *item, by_skeleton);
    for (size_t i = 0, to; i < lines; i = to) {
        for (to = i + 1; to < lines && by_skeleton(&item[i], &item[to]) == 0;) to++;
        const size_t kept = older ? group_both_sides(arena, &item[i], to - i, older)
                                  : group_similar(arena, &item[i], to - i);
        for (size_t k = 0; k < kept; k++) line[left++] = item[i + k].line;
    }
    free(item);
    return left;
}

size_t mpr_lines_group(struct mpr_arena *arena, struct mpr_line *line, size_t lines)
{
    const size_t left = mpr_lines_group_sides(arena, line, lines, 0);
    mpr_lines_sort(line, left, MPR_ORDER_BYTES);
    return left;
}
