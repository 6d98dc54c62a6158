#include "row.h"

#include <stdlib.h>
#include <string.h>

#include "amount.h"

uint64_t mpr_row_amount(const struct mpr_row *row, enum mpr_order order)
{
    switch (order) {
#define X(name, text, member)                                                                      \
    case MPR_ORDER_##name: return row->member;
        MPR_ORDERS(X)
#undef X
    case MPR_ORDERS_COUNT: break;
    }
    return 0;
}

int mpr_row_by(const struct mpr_row *a, const struct mpr_row *b, enum mpr_order order)
{
    int result = mpr_compare(mpr_row_amount(b, order), mpr_row_amount(a, order));
    if (!result) result = mpr_compare(b->bytes, a->bytes);
    return result ? result : mpr_compare(b->own_peak, a->own_peak);
}

int mpr_row_by_path(const struct mpr_row *a, const struct mpr_row *b)
{
    return mpr_frame_compare_paths(a->path, b->path);
}

int mpr_row_by_bytes(const void *left, const void *right)
{
    return mpr_compare(((const struct mpr_row *)right)->bytes,
                       ((const struct mpr_row *)left)->bytes);
}

/* ---- lines */

struct mpr_line mpr_line_of(const struct mpr_row *row)
{
    return (struct mpr_line){ .row = *row, .caller = "", .rows = 1, .own_peaks = row->own_peak };
}

/* The bytes of all rows existed at the same time, so their sum is a lower bound of the line's own
 * peak.  So is the largest own peak of a row. */
void mpr_line_add(struct mpr_line *line, const struct mpr_line *other)
{
    if (line->link && other->link) {
        struct mpr_row_link *next = line->link->next;
        line->link->next = other->link->next;
        other->link->next = next;
    }
    struct mpr_row *to = &line->row;
    const struct mpr_row *from = &other->row;
    to->bytes += from->bytes;
    to->blocks += from->blocks;
    to->allocations += from->allocations;
    to->end_bytes += from->end_bytes;
    const bool known = to->all_bytes != UINT64_MAX && from->all_bytes != UINT64_MAX;
    to->all_bytes = known ? to->all_bytes + from->all_bytes : UINT64_MAX;
    to->inherited += from->inherited;
    to->live_bytes += from->live_bytes;
    to->live_blocks += from->live_blocks;
    to->estimated |= from->estimated;
    to->at_least |= from->at_least;
    to->counted |= from->counted;
    mpr_variance_add(&to->variance, &from->variance);
    if (from->own_peak > to->own_peak) to->own_peak = from->own_peak;
    if (to->bytes > to->own_peak) to->own_peak = to->bytes;
    if (other->sibling_least < line->sibling_least) line->sibling_least = other->sibling_least;
    if (other->sibling_most > line->sibling_most) line->sibling_most = other->sibling_most;
    for (size_t i = 0; i < line->runs; i++)
        line->of_run[i] = mpr_signed_add(line->of_run[i], other->of_run[i]);
    line->own_peaks += other->own_peaks;
    line->rows += other->rows;
}

MPR_COMPARE(by_text, struct mpr_line,
            mpr_row_by_path(&a->row, &b->row) ?: strcmp(a->caller, b->caller))

static int by_order(const void *left, const void *right, void *order)
{
    const struct mpr_line *a = left, *b = right;
    const int result = mpr_row_by(&a->row, &b->row, *(const enum mpr_order *)order);
    return result ? result : by_text(left, right);
}

void mpr_lines_sort(struct mpr_line *line, size_t lines, enum mpr_order order)
{
    if (lines) qsort_r(line, lines, sizeof *line, by_order, &order);
}

size_t mpr_lines_merge(struct mpr_line *line, size_t lines)
{
    size_t kept = 0;
    if (lines) qsort(line, lines, sizeof *line, by_text);
    for (size_t i = 0; i < lines; i++) {
        if (kept && by_text(&line[kept - 1], &line[i]) == 0)
            mpr_line_add(&line[kept - 1], &line[i]);
        else line[kept++] = line[i];
    }
    mpr_lines_sort(line, kept, MPR_ORDER_BYTES);
    return kept;
}
