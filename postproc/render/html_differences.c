#include "html_differences.h"

#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "diff.h"
#include "row.h"

enum { ROWS = 60 }; /* of an account; the rest is summed */

/* The largest change first, whichever way; of equals what grew, then by name. */
static int by_change(const void *left, const void *right)
{
    const struct mpr_diff_row *a = left, *b = right;
    const struct mpr_row of_a = { .path = a->path }, of_b = { .path = b->path };
    const int64_t x = llabs(a->change), y = llabs(b->change);
    if (x != y) return x > y ? -1 : 1;
    if (a->change != b->change) return a->change > b->change ? -1 : 1;
    const int order = mpr_row_by_path(&of_a, &of_b);
    return order ? order : strcmp(a->caller, b->caller);
}

static void row(struct mpr_json *j, const struct mpr_diff_row *r, enum mpr_group by)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_page_path(j, r->path, by);
    mpr_json_text(j, "caller", r->caller);
    mpr_json_signed(j, "base_bytes", r->base.is);
    mpr_json_signed(j, "new_bytes", r->now.is);
    mpr_json_flag(j, "estimated", r->estimated);
    mpr_json_close(j, '}');
}

static void rows(struct mpr_json *j, struct mpr_diff_row *r, size_t count, enum mpr_group by)
{
    int64_t base = 0, now = 0;
    if (count) qsort(r, count, sizeof *r, by_change);
    mpr_json_open(j, "rows", '[');
    for (size_t i = 0; i < count; i++) {
        if (i < ROWS) row(j, &r[i], by);
        else {
            base = mpr_plus(base, r[i].base.is);
            now = mpr_plus(now, r[i].now.is);
        }
    }
    mpr_json_close(j, ']');
    mpr_json_number(j, "others", count > ROWS ? count - ROWS : 0);
    mpr_json_signed(j, "others_base_bytes", base);
    mpr_json_signed(j, "others_new_bytes", now);
}

static void account(struct mpr_json *j, const struct mpr_diff *diff,
                    const struct mpr_diff_account *a, const struct mpr_naming *naming)
{
    struct mpr_arena arena = { 0 };
    size_t count;
    struct mpr_diff_row *r = mpr_diff_rows(&arena, diff, a, naming, &count);
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "name", a->name);
    mpr_json_flag(j, "peak", a->of == MPR_DIFF_DEVICE || a->of == MPR_DIFF_HEAP);
    mpr_json_signed(j, "base_bytes", a->base.is);
    mpr_json_signed(j, "new_bytes", a->now.is);
    rows(j, r, count, a->by);
    mpr_json_close(j, '}');
    mpr_arena_free(&arena);
}

void mpr_html_differences(struct mpr_json *j, const struct mpr_diff *diff,
                          const struct mpr_naming *naming)
{
    mpr_json_open(j, "differences", '[');
    for (size_t i = 0; diff && i < diff->accounts; i++)
        if (diff->account[i].rows) account(j, diff, &diff->account[i], naming);
    mpr_json_close(j, ']');
}
