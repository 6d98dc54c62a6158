#include "growth_text.h"

#include "amount.h"
#include "device_text.h"
#include "text.h"

void mpr_growth_change(FILE *out, int64_t before, int64_t after)
{
    char was[48], is[48], by[48];
    mpr_device_signed(was, sizeof was, before);
    mpr_device_signed(is, sizeof is, after);
    mpr_device_signed(by, sizeof by, mpr_minus(after, before));
    fprintf(out, "%12s -> %10s  %s%s\n", was, is, after > before ? "+" : "", by);
}

void mpr_growth_rows(FILE *out, const struct mpr_growth *g, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_GROWTH_ROWS;
    int64_t before = 0, after = 0;
    for (size_t i = 0; i < g->rows && i < top; i++) {
        fputs("  ", out);
        mpr_text_path(out, g->row[i].key ? &g->row[i].name : g->row[i].path, g->row[i].key ? 1 : g->row[i].depth, style->path);
        mpr_growth_change(out, g->row[i].before, g->row[i].after);
    }
    for (size_t i = top; i < g->rows; i++) before = mpr_plus(before, g->row[i].before), after = mpr_plus(after, g->row[i].after);
    if (g->rows > top) {
        char more[32];
        snprintf(more, sizeof more, "(%zu more)", g->rows - top);
        fprintf(out, "  %-*s", style->path, more);
        mpr_growth_change(out, before, after);
    }
}
