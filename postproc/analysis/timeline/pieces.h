/* Bands that are not all of their name: a page stacks them by one of several names, and what has no
 * band of its own is in none of them but in the rest.  Private to this layer. */
#ifndef MPR_PIECES_H
#define MPR_PIECES_H

#include "heap_lines.h"
#include "index.h"
#include "reader.h"
#include "timeline_result.h"

struct mpr_pieces {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    bool by_stack; /* the best name of what has no range and no Python stack is its native one */
    struct mpr_index set; /* hashes of names */
};

void mpr_pieces_init(struct mpr_pieces *p, struct mpr_arena *arena, const struct mpr_reader *reader,
                     enum mpr_group best);
void mpr_pieces_free(struct mpr_pieces *p);
/* What stands for itself in `of` lies in a band of of->kind, which does not say all of its names,
 * nor all of its lines. */
void mpr_pieces_hide(struct mpr_pieces *p, struct mpr_heap_lines *lines, const struct mpr_band *of);
/* After the last of these: fills band->piece. */
void mpr_pieces_tell(struct mpr_pieces *p, struct mpr_band *band);

#endif
