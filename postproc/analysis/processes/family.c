#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "mpf/sample.h"
#include "numbered_names.h"
#include "outliers.h"
#include "processes.h"

enum { NUMBERS = 8 };

/* A process, or with `each_log` one of its programs. */
struct entry {
    struct mpr_family_line line;
    const char *pattern; /* the title with a mark in the place of each number */
    struct mpr_name_number number[NUMBERS];
    size_t numbers;
    size_t child, sibling; /* entries, or MPR_NO_PROCESS */
};

/* Entries that share a line. Their children are compared with each other. */
struct set {
    size_t *entry;
    size_t entries, depth;
};

struct family {
    struct mpr_arena *arena;
    const struct mpr_processes *all;
    bool each_log;
    const char *separate; /* a log, or NULL */
    struct entry *entry;
    size_t entries;
    size_t *entry_of; /* by process */
    struct set *open; /* sets that have no line yet; the last one is next */
    size_t opened, cap;
};

/* ---- entries */

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Returns the entry's title with these texts in the places of its numbers. */
static const char *title_with(const struct family *f, const struct entry *e,
                              const char *const *text)
{
    const struct mpr_frame *title = mpr_frame_named(f->arena, MPR_FRAME_LABEL, e->line.title);
    return mpr_numbers_replace(f->arena, title, e->number, text, e->numbers)->text;
}

static void make_entries(struct family *f)
{
    static const char *const mark[NUMBERS] = { "\1", "\1", "\1", "\1", "\1", "\1", "\1", "\1" };
    f->entry = mpr_alloc(f->all->count, sizeof *f->entry);
    f->entry_of = mpr_alloc(f->all->count, sizeof *f->entry_of);
    for (size_t i = 0; i < f->all->count; i++) {
        const struct mpr_process *p = &f->all->at[i];
        size_t *number = &f->entry_of[i];
        if (p->previous_program != MPR_NO_PROCESS && !f->each_log) {
            *number = f->entry_of[p->previous_program];
        } else {
            *number = f->entries++;
            f->entry[*number] = (struct entry){
                .line = { .processes = 1, .largest = p, .rss_bytes = MPF_UNKNOWN },
                .child = MPR_NO_PROCESS,
                .sibling = MPR_NO_PROCESS,
            };
        }
        struct mpr_family_line *l = &f->entry[*number].line;
        l->is_separate |= f->separate && strcmp(f->separate, p->summary.path) == 0;
        if (p->peak_bytes > l->largest->peak_bytes) l->largest = p;
        l->last = p;
        l->host_bytes = larger(l->host_bytes, p->host.peak_bytes);
        l->host_is_approximate |= p->host.is_approximate;
        l->gpu_bytes = larger(l->gpu_bytes, p->gpu.peak_bytes);
        if (l->rss_bytes == MPF_UNKNOWN) l->rss_bytes = p->rss_high;
        else if (p->rss_high != MPF_UNKNOWN) l->rss_bytes = larger(l->rss_bytes, p->rss_high);
        l->end_bytes = p->host.end_bytes;
        l->lived_ns += p->summary.duration_ns;
    }
    for (size_t i = 0; i < f->entries; i++) {
        struct entry *e = &f->entry[i];
        e->line.title = *e->line.last->title ? e->line.last->title : "unknown program";
        e->numbers = mpr_numbers_in_name(e->line.title, e->number, NUMBERS);
        e->pattern = title_with(f, e, mark);
    }
}

/* Sets children and siblings.  Returns the first entry without a parent. */
static size_t link_entries(struct family *f)
{
    size_t root = MPR_NO_PROCESS;
    for (size_t i = f->all->count; i-- > 0;) {
        const struct mpr_process *p = &f->all->at[i];
        if (p->previous_program != MPR_NO_PROCESS && !f->each_log) continue;
        const size_t number = f->entry_of[i];
        size_t *first =
            p->tree_parent == MPR_NO_PROCESS ? &root : &f->entry[f->entry_of[p->tree_parent]].child;
        f->entry[number].sibling = *first;
        *first = number;
    }
    return root;
}

/* ---- sets of similar entries */

static int by_similarity(const struct entry *a, const struct entry *b)
{
    const struct mpr_summary *x = &a->line.last->summary, *y = &b->line.last->summary;
    return mpr_compare(a->line.is_separate, b->line.is_separate)
               ?: strcmp(a->pattern, b->pattern) ?: mpr_compare(x->life, y->life)
               ?: mpr_compare(x->fate, y->fate) ?: mpr_compare(x->oom, y->oom)
               ?: mpr_compare((uint64_t)x->fate_status, (uint64_t)y->fate_status)
               ?: mpr_compare(x->end, y->end);
}

/* Largest first; equal ones by their starts. */
static int by_peak(const struct entry *a, const struct entry *b)
{
    return mpr_compare(b->line.largest->peak_bytes, a->line.largest->peak_bytes)
               ?: mpr_compare((uintptr_t)a->line.largest, (uintptr_t)b->line.largest);
}

static int by_similarity_and_peak(const void *left, const void *right, void *family)
{
    const struct family *f = family;
    const struct entry *a = &f->entry[*(const size_t *)left],
                       *b = &f->entry[*(const size_t *)right];
    return by_similarity(a, b) ?: by_peak(a, b);
}

/* The largest set is last, because the last one is next. */
static int smaller_first(const void *left, const void *right, void *family)
{
    const struct family *f = family;
    const struct set *a = left, *b = right;
    return by_peak(&f->entry[*b->entry], &f->entry[*a->entry]);
}

static void open_set(struct family *f, const size_t *entry, size_t entries, size_t depth)
{
    MPR_GROW(f->open, f->opened, f->cap);
    struct set *set = &f->open[f->opened++];
    *set = (struct set){ mpr_alloc(entries, sizeof *entry), entries, depth };
    memcpy(set->entry, entry, entries * sizeof *entry);
}

/* Opens sets for the entries of several lists of siblings together: one for each group of
 * similar entries, and one for each outlier. @first: the first entry of each list. */
static void open_siblings(struct family *f, const size_t *first, size_t lists, size_t depth)
{
    const size_t opened = f->opened;
    size_t *entry = NULL, entries = 0, cap = 0;
    for (size_t i = 0; i < lists; i++) {
        for (size_t e = first[i]; e != MPR_NO_PROCESS; e = f->entry[e].sibling) {
            MPR_GROW(entry, entries, cap);
            entry[entries++] = e;
        }
    }
    if (entries) qsort_r(entry, entries, sizeof *entry, by_similarity_and_peak, f);
    uint64_t *peak = mpr_alloc(entries, sizeof *peak);
    for (size_t i = 0; i < entries; i++) peak[i] = f->entry[entry[i]].line.largest->peak_bytes;
    for (size_t i = 0, to; i < entries; i = to) {
        for (to = i + 1; to < entries && !by_similarity(&f->entry[entry[i]], &f->entry[entry[to]]);)
            to++;
        size_t similar = to; /* the first entry that is not an outlier */
        if (!f->each_log && to - i >= MPR_FAMILY_MIN)
            similar = i + mpr_outliers_above(&peak[i], to - i);
        for (; i < similar; i++) open_set(f, &entry[i], 1, depth);
        if (similar < to) open_set(f, &entry[similar], to - similar, depth);
    }
    free(entry);
    free(peak);
    if (f->opened > opened)
        qsort_r(f->open + opened, f->opened - opened, sizeof *f->open, smaller_first, f);
}

/* ---- lines */

/* Returns the common title of the entries, with all numbers of each place. */
static const char *title_of(const struct family *f, const struct set *s)
{
    const struct entry *e = &f->entry[s->entry[0]];
    const char *set[NUMBERS];
    if (s->entries == 1) return e->line.title;
    uint64_t *number = mpr_alloc(s->entries, sizeof *number);
    for (size_t place = 0; place < e->numbers; place++) {
        size_t numbers = 1;
        for (size_t i = 0; i < s->entries; i++)
            number[i] = f->entry[s->entry[i]].number[place].number;
        qsort(number, s->entries, sizeof *number, mpr_compare_numbers);
        for (size_t i = 1; i < s->entries; i++)
            if (number[i] != number[numbers - 1]) number[numbers++] = number[i];
        set[place] = numbers == 1 ? mpr_arena_format(f->arena, "%" PRIu64, number[0])
                                  : mpr_number_set(f->arena, number, numbers);
    }
    free(number);
    return title_with(f, e, set);
}

static struct mpr_family_line line_of(const struct family *f, const struct set *s)
{
    struct mpr_family_line sum = f->entry[s->entry[0]].line; /* the largest */
    sum.title = title_of(f, s);
    sum.depth = s->depth;
    sum.processes = s->entries;
    for (size_t i = 1; i < s->entries; i++) {
        const struct mpr_family_line *l = &f->entry[s->entry[i]].line;
        sum.host_bytes += l->host_bytes;
        sum.host_is_approximate |= l->host_is_approximate;
        sum.gpu_bytes += l->gpu_bytes;
        sum.end_bytes += l->end_bytes;
        sum.lived_ns = larger(sum.lived_ns, l->lived_ns);
        if (l->rss_bytes == MPF_UNKNOWN) continue;
        sum.rss_bytes = (sum.rss_bytes == MPF_UNKNOWN ? 0 : sum.rss_bytes) + l->rss_bytes;
    }
    return sum;
}

struct mpr_family_line *mpr_family(struct mpr_arena *arena, const struct mpr_processes *all,
                                   bool each_log, const char *separate, size_t *lines)
{
    struct family f = { .arena = arena, .all = all, .each_log = each_log, .separate = separate };
    struct mpr_family_line *line = mpr_arena_alloc(arena, all->count * sizeof *line);
    *lines = 0;
    make_entries(&f);
    const size_t root = link_entries(&f);
    open_siblings(&f, &root, 1, 0);
    while (f.opened) {
        const struct set s = f.open[--f.opened];
        line[(*lines)++] = line_of(&f, &s);
        for (size_t i = 0; i < s.entries; i++) s.entry[i] = f.entry[s.entry[i]].child;
        open_siblings(&f, s.entry, s.entries, s.depth + 1);
        free(s.entry);
    }
    free(f.open);
    free(f.entry);
    free(f.entry_of);
    return line;
}
