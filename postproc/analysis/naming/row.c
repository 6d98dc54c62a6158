#include "row.h"

#include <math.h>
#include <string.h>

const char *const mpr_order_name[] = {
#define X(name, text, member) text,
    MPR_ORDERS(X)
#undef X
};

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

uint64_t mpr_row_error(double variance) { return (uint64_t)(sqrt(variance) + 0.5); }

static int larger_first(uint64_t a, uint64_t b) { return a > b ? -1 : a < b; }

int mpr_row_by(const struct mpr_row *a, const struct mpr_row *b, enum mpr_order order)
{
    int result = larger_first(mpr_row_amount(a, order), mpr_row_amount(b, order));
    if (!result) result = larger_first(a->bytes, b->bytes);
    return result ? result : larger_first(a->own_peak, b->own_peak);
}

int mpr_row_by_path(const struct mpr_row *a, const struct mpr_row *b)
{
    return mpr_frame_compare_paths(a->path, b->path);
}
