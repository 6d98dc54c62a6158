#include "maker.h"

/* The best name that the block has. */
static uint64_t key_by_best(const struct mpr_sites *s, const struct mpr_maker *m)
{
    const struct mpr_site site = mpr_sites_of(s, m->site);
    const uint32_t library = mpr_sites_library(s, site.stack);
    if (m->node || site.python) return m->node ? m->node : site.python;
    return library ? MPR_KEY_LIBRARY | library : 0;
}

uint64_t mpr_maker_key(const struct mpr_replay *r, const struct mpr_maker *m)
{
    const struct mpr_sites *s = &r->sites;
    switch (r->options.by) {
    case MPR_GROUP_RANGE: return m->node;
    case MPR_GROUP_AUTO: return key_by_best(s, m);
    case MPR_GROUP_THREAD: return m->thread;
    case MPR_GROUP_SIZE: return mpr_size_class(m->size);
    case MPR_GROUP_LIBRARY: return mpr_sites_library(s, mpr_sites_of(s, m->site).stack);
    case MPR_GROUP_COMM: return m->comm;
    case MPR_GROUP_GRAPH: return m->graph;
    case MPR_GROUP_PYTHON: return mpr_sites_of(s, m->site).python;
    case MPR_GROUP_STACK: return mpr_sites_of(s, m->site).stack;
    case MPR_GROUP_ALL:
        return mpr_all_key((struct mpr_all){ m->node, m->thread, mpr_size_class(m->size) });
    default: return 0;
    }
}

uint32_t mpr_maker_cell(struct mpr_replay *r, const struct mpr_maker *m, uint8_t heap)
{
    const uint32_t site = r->options.by == MPR_GROUP_ALL ? m->site : 0;
    return mpr_books_cell(&r->books, mpr_maker_key(r, m), site, heap);
}

uint32_t mpr_maker_path(struct mpr_replay *r, uint32_t node, uint32_t python)
{
    const bool best = r->options.by == MPR_GROUP_AUTO || r->options.by == MPR_GROUP_ALL;
    return best ? mpr_wrappers_path(&r->wrappers, &r->ranges, node, python) : node;
}

uint32_t mpr_maker_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap, uint64_t size)
{
    const uint32_t node = mpr_maker_path(r, t->node, t->at.python);
    const struct mpr_maker maker = {
        size, node, t->number, mpr_sites_site(&r->sites, t->at), 0, 0
    };
    t->at = (struct mpr_site){ 0, 0 };
    return mpr_maker_cell(r, &maker, heap);
}

uint32_t mpr_maker_look_up(struct mpr_replay *r, uint64_t key, uint8_t heap)
{
    const uint32_t cell = mpr_books_cell(&r->books, key, 0, heap);
    *mpr_books_hint(&r->books, key, heap) = (struct mpr_hint){ key, cell, heap };
    return cell;
}
