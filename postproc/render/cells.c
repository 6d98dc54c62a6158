#include "cells.h"

#include <inttypes.h>

#include "units.h"

/* Returns NULL for types that have no number. */
static const char *number_text(struct mpr_number *n, const struct mpr_table *t,
                               const struct mpr_value *v)
{
    switch (v->type) {
    case MPR_BYTES: return mpr_units_size(n, v->number);
    case MPR_SIGNED: return mpr_units_signed(n, v->amount);
    case MPR_CHANGE: return mpr_units_change(n, v->amount);
    case MPR_COUNT: return mpr_units_count(n, v->number);
    case MPR_TIME:
        return mpr_units_clock(n, v->lasting ? 0 : t->epoch, v->number,
                               t->tick ? t->tick : 1000000);
    case MPR_SPAN: return mpr_units_span(n, v->number);
    case MPR_ADDRESS: snprintf(n->text, sizeof n->text, "%#" PRIx64, v->number); return n->text;
    case MPR_SHARE: snprintf(n->text, sizeof n->text, "%.1f %%", v->percent); return n->text;
    case MPR_FLAG: return v->number ? "yes" : "no";
    default: return NULL;
    }
}

const char *mpr_cell_number(struct mpr_words *words, const struct mpr_table *t,
                            const struct mpr_value *v, bool estimated)
{
    struct mpr_number plain;
    if (v->state != MPR_KNOWN) return v->state == MPR_UNKNOWN ? "-" : "";
    const char *text = number_text(&plain, t, v);
    if (!text) return NULL;
    snprintf(words->text, sizeof words->text, "%s%s%s", v->at_least ? "≥" : "",
             estimated || v->about ? "~" : "", text);
    return words->text;
}

void mpr_cell_write(FILE *out, const struct mpr_cell_style *style, const struct mpr_table *t,
                    const struct mpr_value *v, bool estimated)
{
    struct mpr_words words;
    const char *number = mpr_cell_number(&words, t, v, estimated);
    if (number) {
        fputs(number, out);
    } else if (v->type == MPR_TEXT || v->type == MPR_WORD) {
        style->text(out, v->text);
    } else if (v->type == MPR_NUMBERS) {
        for (size_t i = 0; i < v->count; i++)
            fprintf(out, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
    } else if (v->type == MPR_PATH) {
        if (!v->path.depth) style->text(out, mpr_group_empty_path(t->by));
        for (size_t i = 0; i < v->path.depth; i++) {
            if (i) fputs(style->separator, out);
            style->text(out, v->path.frame[i]->text);
        }
    }
}

size_t mpr_cell_sums(const struct mpr_table *t, enum mpr_format format)
{
    size_t count = 0;
    for (size_t i = 0; i < t->columns; i++)
        count += t->column[i].sums && mpr_column_in(&t->column[i], format);
    return count;
}

bool mpr_cell_estimated(const struct mpr_table *t, const struct mpr_column *c, size_t from,
                        enum mpr_format format)
{
    for (size_t i = from; c->estimate && t->estimated && i < t->rows; i++)
        if (t->estimated(mpr_table_row(t, i, format))) return true;
    return false;
}

const char *mpr_cell_rest(struct mpr_words *rest, const struct mpr_table *t, size_t shown,
                          enum mpr_format format)
{
    struct mpr_number count, n;
    mpr_units_count(&count, t->rows - shown);
    if (t->total || mpr_cell_sums(t, format) != 1) {
        snprintf(rest->text, sizeof rest->text, "(%s more)", count.text);
        return rest->text;
    }
    const struct mpr_column *c = t->column;
    while (!c->sums || !mpr_column_in(c, format)) c++;
    const struct mpr_value sum = mpr_table_sum(t, c, shown, format);
    if (sum.type == MPR_BYTES && sum.state == MPR_KNOWN && !sum.number) return NULL;
    const bool about = sum.state == MPR_KNOWN && format & MPR_FOR_PEOPLE &&
                       mpr_cell_estimated(t, c, shown, format);
    snprintf(rest->text, sizeof rest->text, "(%s more, %s%s)", count.text, about ? "~" : "",
             sum.state == MPR_KNOWN ? number_text(&n, t, &sum) : "-");
    return rest->text;
}
