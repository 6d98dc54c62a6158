/* The sites of a log that grow or levelled off.  Where each instance of a range has a number,
 * request 7, none of its sites grows by itself: those that differ in numbers only are judged
 * together then. Private to this layer. */
#ifndef MPR_LEAKS_SITES_H
#define MPR_LEAKS_SITES_H

#include "reader.h"
#include "repeats.h"
#include "trend.h"

struct mpr_leaks_site {
    size_t first, cells; /* of the list: those of the site */
    uint8_t heap;
    struct mpr_trend trend;
    struct mpr_history_value live;
};

struct mpr_leaks_sites {
    struct mpr_leaks_site *at;
    size_t count, cap;
    uint32_t *cell; /* of books; each is in one site at most */
    size_t cells, cell_cap;
};

/* wanted: by heap. */
void mpr_leaks_sites_find(struct mpr_leaks_sites *sites, const struct mpr_history *history,
                          struct mpr_repeats *repeats, const struct mpr_reader *reader,
                          const bool *wanted);
/* Its path, of several cells with what their numbers are: "request {0..39}". */
struct mpr_path mpr_leaks_site_path(struct mpr_arena *arena, const struct mpr_leaks_sites *sites,
                                    const struct mpr_leaks_site *site, struct mpr_repeats *repeats,
                                    const struct mpr_reader *reader);
void mpr_leaks_sites_free(struct mpr_leaks_sites *sites);

#endif
