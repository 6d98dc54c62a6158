#include "segments_kept.h"

#include <stdlib.h>

#include "alloc.h"

static size_t rows_of(const struct mpr_segments_then *t)
{
    return t->segments.devices ? t->segments.device[0].segments : 0;
}

static void drop(struct mpr_segments_kept *kept, struct mpr_segments_then *then)
{
    kept->rows -= rows_of(then);
    mpr_segments_free(&then->segments);
}

static bool is_due(const struct mpr_segments_kept *kept, size_t number)
{
    return !number || (number - 1) % kept->stride == 0;
}

/* False: all that is left a link goes to. */
static bool thin_out(struct mpr_segments_kept *kept)
{
    size_t left = 0, spread = 0;
    kept->stride *= 2;
    for (size_t i = 0; i < kept->count; i++) {
        const size_t number = kept->at[i].number;
        if (!is_due(kept, number)) {
            drop(kept, &kept->at[i]);
            continue;
        }
        spread += number > 1;
        kept->at[left++] = kept->at[i];
    }
    kept->count = left;
    return spread != 0;
}

void mpr_segments_keep(struct mpr_segments_kept *kept, const struct mpr_reader *reader,
                       const struct mpr_picture *picture, uint64_t since, size_t number)
{
    struct mpr_segments_then then = { .since = since, .number = number };
    if (!kept->stride) kept->stride = 1;
    if (!is_due(kept, number)) return;
    mpr_segments_fill_picture(&then.segments, reader, picture);
    MPR_GROW(kept->at, kept->count, kept->cap);
    kept->at[kept->count++] = then;
    kept->rows += rows_of(&then);
    while (kept->rows > kept->most && thin_out(kept)) {}
    if (kept->rows > kept->most && kept->count) drop(kept, &kept->at[--kept->count]);
}

void mpr_segments_kept_free(struct mpr_segments_kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) mpr_segments_free(&kept->at[i].segments);
    free(kept->at);
}
