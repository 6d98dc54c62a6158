/* Of several numbers that vary the last one is meant: "worker 3 > capture bs=8". */
#include "graph_sizes.h"

#include <ctype.h>
#include <string.h>

#include "amount.h"
#include "index.h"
#include "places.h"

enum { PLACES = 16 }; /* of a path that are looked at */

/* A number of a path. */
struct place {
    size_t name; /* which of the path's */
    struct mpr_place at;
};

static size_t places_of(const struct mpr_graph_row *row, struct place *place)
{
    size_t found = 0;
    for (size_t i = 0; i < row->path.depth; i++) {
        struct mpr_place at[PLACES];
        const size_t here = mpr_places_find(row->path.frame[i], at, PLACES - found);
        for (size_t k = 0; k < here; k++) place[found++] = (struct place){ i, at[k] };
    }
    return found;
}

/* Do the rows differ in numbers only, if at all? */
static bool is_like(const struct mpr_graph_row *row, const struct place *place, size_t places,
                    const struct mpr_graph_row *first, const struct place *of_first, size_t most)
{
    if (row->path.depth != first->path.depth || places != most) return false;
    for (size_t i = 0; i < places; i++)
        if (place[i].name != of_first[i].name || place[i].at.from != of_first[i].at.from)
            return false;
    return true;
}

/* The last place where a row like the first one has another number; `places` where none has. */
static size_t varying(const struct mpr_graph_burst *burst, const struct place *of_first,
                      size_t places)
{
    size_t last = places;
    for (size_t i = 1; i < burst->rows; i++) {
        struct place place[PLACES];
        const size_t count = places_of(burst->row[i], place);
        if (!is_like(burst->row[i], place, count, burst->row[0], of_first, places)) continue;
        for (size_t k = last == places ? 0 : last + 1; k < places; k++)
            if (place[k].at.number != of_first[k].at.number) last = k;
    }
    return last;
}

/* What is counted: the word before the number, "bs" of "capture bs=8". */
static const char *word_before(struct mpr_arena *arena, const char *name, size_t number)
{
    size_t to = number;
    while (to && !isalpha((unsigned char)name[to - 1])) to--;
    size_t from = to;
    while (from && (isalnum((unsigned char)name[from - 1]) || name[from - 1] == '_')) from--;
    return to > from ? mpr_arena_format(arena, "%.*s", (int)(to - from), name + from) : "number";
}

static struct mpr_graph_size *size_of(struct mpr_graph_burst *burst, struct mpr_index *known,
                                      uint64_t number)
{
    const uint32_t at = mpr_index_get(known, number);
    if (at) return &burst->size[at - 1];
    burst->size[burst->sizes++] = (struct mpr_graph_size){ .burst = burst->number, .size = number };
    mpr_index_set(known, number, (uint32_t)burst->sizes);
    return &burst->size[burst->sizes - 1];
}

static void add(struct mpr_graph_size *size, const struct mpr_graph_row *row)
{
    size->graphs += row->captured;
    size->segment_bytes += row->segment_bytes;
    size->executable_bytes = mpr_plus(size->executable_bytes, row->executable_bytes);
    size->launch_bytes = mpr_plus(size->launch_bytes, row->launch_bytes);
    size->bytes = mpr_plus(size->bytes, mpr_graph_total(row));
}

static void add_up(struct mpr_graph_burst *burst)
{
    int64_t sum = 0;
    for (size_t i = 0; i < burst->sizes; i++)
        burst->size[i].cumulative = sum = mpr_plus(sum, burst->size[i].bytes);
}

void mpr_graph_sizes(struct mpr_graph_burst *burst, struct mpr_arena *arena)
{
    struct place of_first[PLACES], place[PLACES];
    struct mpr_index known = { 0 };
    const size_t places = places_of(burst->row[0], of_first);
    const size_t which = varying(burst, of_first, places);
    if (!burst->number || which == places) return;
    burst->counted =
        word_before(arena, mpr_frame_numbered(burst->row[0]->path.frame[of_first[which].name]),
                    of_first[which].at.from);
    burst->size = mpr_arena_alloc(arena, burst->rows * sizeof *burst->size);
    for (size_t i = 0; i < burst->rows; i++) {
        const struct mpr_graph_row *row = burst->row[i];
        const size_t count = places_of(row, place);
        const bool like = is_like(row, place, count, burst->row[0], of_first, places);
        add(size_of(burst, &known, like ? place[which].at.number : MPR_GRAPH_NO_SIZE), row);
    }
    mpr_index_free(&known);
    add_up(burst);
}
