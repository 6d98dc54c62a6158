#include "intervals.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { LEAF = 256 };

struct mpr_interval_leaf {
    size_t count;
    struct mpr_interval at[LEAF];
};

void mpr_intervals_free(struct mpr_intervals *s)
{
    for (size_t i = 0; i < s->leaves; i++) free(s->leaf[i]);
    free(s->leaf);
    *s = (struct mpr_intervals){ 0 };
}

struct mpr_position mpr_intervals_after(const struct mpr_intervals *s, uint64_t address)
{
    struct mpr_position place = { 0, 0 };
    size_t high = s->leaves;
    while (place.leaf < high) {
        const size_t middle = place.leaf + (high - place.leaf) / 2;
        const struct mpr_interval_leaf *candidate = s->leaf[middle];
        if (candidate->at[candidate->count - 1].end > address) high = middle;
        else place.leaf = middle + 1;
    }
    if (place.leaf == s->leaves) return place;
    const struct mpr_interval_leaf *leaf = s->leaf[place.leaf];
    high = leaf->count;
    while (place.at < high) {
        const size_t middle = place.at + (high - place.at) / 2;
        if (leaf->at[middle].end > address) high = middle;
        else place.at = middle + 1;
    }
    return place;
}

struct mpr_interval *mpr_intervals_at(const struct mpr_intervals *s, struct mpr_position place)
{
    return place.leaf < s->leaves ? &s->leaf[place.leaf]->at[place.at] : NULL;
}

struct mpr_position mpr_intervals_next(const struct mpr_intervals *s, struct mpr_position place)
{
    if (++place.at == s->leaf[place.leaf]->count)
        place = (struct mpr_position){ place.leaf + 1, 0 };
    return place;
}

size_t mpr_intervals_count(const struct mpr_intervals *s, struct mpr_position place, uint64_t end)
{
    const struct mpr_interval *span;
    size_t count = 0;
    MPR_INTERVALS_EACH(span, s, place, end) count++;
    return count;
}

static struct mpr_interval_leaf *insert_leaf(struct mpr_intervals *s, size_t at)
{
    MPR_GROW(s->leaf, s->leaves, s->cap);
    struct mpr_interval_leaf *leaf = mpr_alloc(1, sizeof *leaf);
    memmove(s->leaf + at + 1, s->leaf + at, (s->leaves - at) * sizeof *s->leaf);
    s->leaves++;
    return s->leaf[at] = leaf;
}

void mpr_intervals_insert(struct mpr_intervals *s, const struct mpr_interval *span)
{
    struct mpr_position place = mpr_intervals_after(s, span->start);
    if (!s->leaves) insert_leaf(s, 0);
    if (place.leaf == s->leaves)
        place = (struct mpr_position){ s->leaves - 1, s->leaf[s->leaves - 1]->count };
    if (s->leaf[place.leaf]->count == LEAF) { /* the upper half becomes the next leaf */
        struct mpr_interval_leaf *upper = insert_leaf(s, place.leaf + 1);
        struct mpr_interval_leaf *lower = s->leaf[place.leaf];
        upper->count = LEAF / 2;
        lower->count = LEAF - LEAF / 2;
        memcpy(upper->at, lower->at + lower->count, upper->count * sizeof *upper->at);
        if (place.at > lower->count)
            place = (struct mpr_position){ place.leaf + 1, place.at - lower->count };
    }
    struct mpr_interval_leaf *leaf = s->leaf[place.leaf];
    memmove(leaf->at + place.at + 1, leaf->at + place.at,
            (leaf->count - place.at) * sizeof *leaf->at);
    leaf->at[place.at] = *span;
    leaf->count++;
}

void mpr_intervals_replace(struct mpr_intervals *s, const struct mpr_interval *span)
{
    const struct mpr_position place = mpr_intervals_after(s, span->start);
    mpr_intervals_remove(s, place, mpr_intervals_count(s, place, span->end));
    mpr_intervals_insert(s, span);
}

void mpr_intervals_remove(struct mpr_intervals *s, struct mpr_position place, size_t count)
{
    size_t kept = place.leaf, next = kept;
    bool empty = false;
    for (; count && place.leaf < s->leaves; place = (struct mpr_position){ place.leaf + 1, 0 }) {
        struct mpr_interval_leaf *leaf = s->leaf[place.leaf];
        const size_t here = count < leaf->count - place.at ? count : leaf->count - place.at;
        memmove(leaf->at + place.at, leaf->at + place.at + here,
                (leaf->count - place.at - here) * sizeof *leaf->at);
        leaf->count -= here;
        count -= here;
        empty |= !leaf->count;
    }
    if (!empty) return;
    for (; next < place.leaf; next++) {
        if (s->leaf[next]->count) s->leaf[kept++] = s->leaf[next];
        else free(s->leaf[next]);
    }
    memmove(s->leaf + kept, s->leaf + next, (s->leaves - next) * sizeof *s->leaf);
    s->leaves -= next - kept;
}
