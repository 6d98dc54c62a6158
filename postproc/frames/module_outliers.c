/* A row whose module has several numbers in its path is part of several modules: "layers.5.attn.0"
 * is part of "layers.5" and of itself. */
#include "module_outliers.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "numbered_names.h"
#include "user_frame.h"

enum { IN_A_PATH = 8, FEWEST = 3, TWENTIETH = 20 };

/* The bytes of one row, and then of all rows, in a module. */
struct part {
    const char *module;    /* its path, and more */
    size_t before, length; /* bytes of the path before the number ("layers."), and with it */
    uint64_t number, bytes, blocks;
    bool estimated;
};

static int compare_places(const struct part *a, const struct part *b)
{
    const int order = mpr_compare(a->before, b->before);
    return order ? order : memcmp(a->module, b->module, a->before);
}

MPR_COMPARE(by_place, struct part, compare_places(a, b) ?: mpr_compare(a->number, b->number))

/* Adds the outliers among modules that differ only in the number, and returns how many there are.
 */
static size_t add_outliers(struct mpr_arena *arena, const struct part *part, size_t parts,
                           uint64_t whole, struct mpr_module_outlier *out)
{
    struct mpr_module_outlier usual = { .sibling_least = UINT64_MAX };
    size_t added = 0;
    if (parts < FEWEST) return 0;
    uint64_t *bytes = mpr_alloc(parts, sizeof *bytes);
    for (size_t i = 0; i < parts; i++) bytes[i] = part[i].bytes;
    const uint64_t limit = mpr_outlier_limit(bytes, parts);
    free(bytes);
    for (const struct part *p = part; p < part + parts; p++) {
        if (p->bytes > limit) continue;
        usual.siblings++;
        if (p->bytes < usual.sibling_least) usual.sibling_least = p->bytes;
        if (p->bytes > usual.sibling_most) usual.sibling_most = p->bytes;
    }
    for (const struct part *p = part; p < part + parts; p++) {
        if (p->bytes <= limit || p->bytes - limit / 2 < whole / TWENTIETH) continue;
        struct mpr_module_outlier *s = &out[added++];
        *s = usual;
        s->module = mpr_arena_format(arena, "%.*s", (int)p->length, p->module);
        s->bytes = p->bytes;
        s->blocks = p->blocks;
        s->estimated = p->estimated;
    }
    return added;
}

MPR_COMPARE(by_bytes, struct mpr_module_outlier,
            mpr_compare(b->bytes, a->bytes) ?: strcmp(a->module, b->module))

struct mpr_module_outlier *mpr_module_outliers(struct mpr_arena *arena, const struct mpr_row *row,
                                               size_t rows, uint64_t whole, size_t *outliers)
{
    struct part *part = NULL;
    size_t parts = 0, cap = 0, kept = 0;
    for (const struct mpr_row *r = row; r < row + rows; r++) {
        struct mpr_name_number place[IN_A_PATH];
        const struct mpr_frame *frame = mpr_frame_module(r->path);
        const size_t places = frame && r->bytes ? mpr_numbers_find(frame, place, IN_A_PATH) : 0;
        for (size_t i = 0; i < places; i++) {
            *MPR_ADD(part, parts, cap) =
                (struct part){ frame->module, place[i].from, place[i].to, place[i].number,
                               r->bytes,      r->blocks,     r->estimated };
        }
    }
    if (parts) qsort(part, parts, sizeof *part, by_place);
    for (size_t i = 0; i < parts; i++) { /* parts of one module become one */
        struct part *last = kept ? &part[kept - 1] : NULL;
        if (last && by_place(last, &part[i]) == 0) {
            last->bytes += part[i].bytes;
            last->blocks += part[i].blocks;
            last->estimated |= part[i].estimated;
        } else part[kept++] = part[i];
    }
    struct mpr_module_outlier *out = mpr_arena_alloc(arena, kept * sizeof *out);
    *outliers = 0;
    for (size_t i = 0, to; i < kept; i = to) {
        for (to = i + 1; to < kept && compare_places(&part[i], &part[to]) == 0;) to++;
        *outliers += add_outliers(arena, &part[i], to - i, whole, &out[*outliers]);
    }
    if (*outliers) qsort(out, *outliers, sizeof *out, by_bytes);
    free(part);
    return out;
}
