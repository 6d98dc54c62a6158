/* Names are compared as the page compares them, by their texts.  The set holds of each hidden path
 * all its beginnings, for the page cuts paths, and the path itself. */
#include "pieces.h"

#include "labels.h"

enum entry { SEEN, BEGINNING, WHOLE };

void mpr_pieces_init(struct mpr_pieces *p, struct mpr_arena *arena, const struct mpr_reader *reader,
                     enum mpr_group best)
{
    *p = (struct mpr_pieces){ .arena = arena,
                              .reader = reader,
                              .by_stack = best == MPR_GROUP_STACK };
}

void mpr_pieces_free(struct mpr_pieces *p) { mpr_index_free(&p->set); }

/* ---- the set */

static uint64_t entry_of(enum entry what, uint64_t hash) { return mpr_hash(hash + (uint64_t)what); }

static bool has(const struct mpr_pieces *p, enum entry what, uint64_t hash)
{
    return mpr_index_get(&p->set, entry_of(what, hash));
}

/* False: it is there already. */
static bool add(struct mpr_pieces *p, enum entry what, uint64_t hash)
{
    if (has(p, what, hash)) return false;
    mpr_index_add(&p->set, entry_of(what, hash), 1);
    return true;
}

/* ---- names */

static uint64_t then(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = mpr_hash(hash + (uint8_t)*text);
    return mpr_hash(hash + 256);
}

/* By the best name: the view that gives it. */
static enum mpr_view best_view(const struct mpr_pieces *p, const struct mpr_band *b)
{
    if (b->node || b->python) return b->node ? MPR_VIEW_RANGE : MPR_VIEW_PYTHON;
    return p->by_stack ? MPR_VIEW_STACK : MPR_VIEW_LIBRARY;
}

static uint32_t number_of(const struct mpr_band *b, enum mpr_view view)
{
    switch (view) {
    case MPR_VIEW_RANGE: return b->node;
    case MPR_VIEW_PYTHON: return b->python;
    case MPR_VIEW_STACK: return b->native;
    case MPR_VIEW_THREAD: return b->thread;
    case MPR_VIEW_SIZE: return b->class;
    default: return b->library;
    }
}

static struct mpr_path path_of(struct mpr_pieces *p, const struct mpr_band *b, enum mpr_view view)
{
    if (view == MPR_VIEW_RANGE || view == MPR_VIEW_PYTHON)
        return mpr_label_node(p->arena, p->reader, number_of(b, view));
    if (view == MPR_VIEW_STACK) return mpr_label_stack(p->arena, p->reader, b->native);
    const char *name =
        view == MPR_VIEW_THREAD ? mpr_label_thread(p->arena, &p->reader->replay, b->thread)
        : view == MPR_VIEW_SIZE ? mpr_label_size(p->arena, b->class)
                                : mpr_sites_library_name(&p->reader->replay.sites, b->library);
    return mpr_frame_labels(p->arena, &name, 1);
}

/* Whether a band of that kind leaves the name open. */
static bool is_open(const struct mpr_pieces *p, const struct mpr_band *of, enum mpr_view view)
{
    if (of->kind == MPR_BAND_FOLD) return view != MPR_VIEW_LIBRARY;
    if (of->kind != MPR_BAND_SMALL) return of->kind == MPR_BAND_OTHER;
    if (view == MPR_VIEW_AUTO) return best_view(p, of) == MPR_VIEW_STACK;
    if (view == MPR_VIEW_PYTHON) return of->node != 0;
    return view == MPR_VIEW_STACK || view == MPR_VIEW_THREAD || view == MPR_VIEW_SIZE;
}

/* A band of folded rows does not say which it is of, but it does say of which line. */
static void hide_line(struct mpr_heap_lines *lines, enum mpr_view view, const struct mpr_band *of)
{
    const bool said = of->kind == MPR_BAND_FOLD && view <= MPR_VIEW_RANGE;
    if (view < MPR_TOLD_VIEWS)
        mpr_heap_lines_hide(lines, view, mpr_heap_lines_find(lines, view, of), !said);
}

void mpr_pieces_hide(struct mpr_pieces *p, struct mpr_heap_lines *lines, const struct mpr_band *of)
{
    for (enum mpr_view v = 0; v < MPR_VIEWS; v++) {
        const enum mpr_view named = v == MPR_VIEW_AUTO ? best_view(p, of) : v;
        const uint64_t number = (uint64_t)v << 40 | (uint64_t)named << 36 | number_of(of, named);
        uint64_t hash = mpr_hash(v);
        if (!is_open(p, of, v)) continue;
        hide_line(lines, v, of);
        if (!add(p, SEEN, mpr_hash(number))) continue;
        const struct mpr_path path = path_of(p, of, named);
        for (size_t i = 0; i < path.depth; i++)
            add(p, BEGINNING, hash = then(hash, path.frame[i]->text));
        add(p, WHOLE, hash);
    }
}

void mpr_pieces_tell(struct mpr_pieces *p, struct mpr_band *band)
{
    if (band->kind == MPR_BAND_OTHER || !p->set.count) return;
    for (enum mpr_view v = 0; v < MPR_VIEWS; v++) {
        size_t shared = 0;
        uint64_t hash = mpr_hash(v);
        const struct mpr_path path = path_of(p, band, v == MPR_VIEW_AUTO ? best_view(p, band) : v);
        for (size_t i = 0; i < path.depth; i++)
            if (has(p, BEGINNING, hash = then(hash, path.frame[i]->text))) shared = i + 1;
        band->piece[v] = (uint32_t)shared << 1 | has(p, WHOLE, hash);
    }
}
