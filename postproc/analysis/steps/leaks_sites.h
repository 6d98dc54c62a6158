/* The sites of a log that grow or levelled off.
 *
 * If each instance of a range has a number, as in "request 7", none of its sites grows by itself.
 * So sites that differ only in numbers are also tested as one site. A function that is reached on
 * many ways has a site for each of them, with few samples each. So sampled sites are tested as one
 * if reports show them as one line.  Private to this layer. */
#ifndef MPR_LEAKS_SITES_H
#define MPR_LEAKS_SITES_H

#include "leaks.h"
#include "reader.h"
#include "repeats.h"
#include "trend.h"

struct mpr_leaks_site {
    size_t first, cells; /* its part of the list of cells */
    uint8_t heap;
    struct mpr_trend trend;
    struct mpr_history_value live;
    struct mpr_path path; /* the largest cell's if several cells are one line, else of depth 0 */
};

struct mpr_leaks_sites {
    struct mpr_leaks_site *at;
    size_t count, cap;
    uint32_t *cell; /* indices in the accounts; each is in one site at most */
    size_t cells, cell_cap;
};

/* Finds the sites of some heaps.  @wanted: by heap.  @arena: for their paths. */
void mpr_leaks_sites_find(struct mpr_leaks_sites *sites, const struct mpr_history_view *history,
                          struct mpr_repeats *repeats, const struct mpr_reader *reader,
                          const bool *wanted, struct mpr_arena *arena);
/* Returns the path of a site; the one of several cells has their numbers: "request {0..39}". */
struct mpr_path mpr_leaks_site_path(struct mpr_arena *arena, const struct mpr_leaks_sites *sites,
                                    const struct mpr_leaks_site *site, struct mpr_repeats *repeats,
                                    const struct mpr_reader *reader);
void mpr_leaks_sites_free(struct mpr_leaks_sites *sites);

/* Fills out[i] with the blocks of cell[i] that lived at the newest mark; the cells are different
 * ones.  @projection: of these cells, or NULL.  Takes 8 bytes a block in the arena. */
void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lifetime_histogram *lasting,
                 const struct mpr_projection *projection, const uint32_t *cell, size_t cells,
                 struct mpr_ages *out);

#endif
