#include "alloc_context.h"

#include <string.h>

/* ---- cells */

uint64_t mpr_alloc_context_key(const struct mpr_replay *r, const struct mpr_alloc_context *c)
{
    const struct mpr_sites *s = &r->sites;
    const struct mpr_site site = mpr_sites_of(s, c->site);
    uint32_t library;
    switch (r->options.by) {
    case MPR_GROUP_RANGE:
    case MPR_GROUP_PLACE: return c->node;
    case MPR_GROUP_AUTO: /* the best name that the block has */
        if (c->node || site.python) return c->node ? c->node : site.python;
        library = mpr_sites_library(s, site.stack);
        return library ? MPR_KEY_LIBRARY | library : 0;
    case MPR_GROUP_THREAD: return c->thread;
    case MPR_GROUP_SIZE: return mpr_size_class(c->size);
    case MPR_GROUP_LIBRARY: return mpr_sites_library(s, site.stack);
    case MPR_GROUP_COMM: return c->comm;
    case MPR_GROUP_GRAPH: return c->graph;
    case MPR_GROUP_PYTHON: return site.python;
    case MPR_GROUP_STACK: return site.stack;
    case MPR_GROUP_ALL:
        return mpr_composite_key_pack(
            (struct mpr_composite_key){ c->node, c->thread, mpr_size_class(c->size) });
    default: return 0;
    }
}

uint32_t mpr_alloc_context_cell(struct mpr_replay *r, const struct mpr_alloc_context *c,
                                uint8_t heap)
{
    const bool composite = r->options.by == MPR_GROUP_ALL || r->options.by == MPR_GROUP_PLACE;
    const uint32_t site = composite ? c->site : 0;
    return mpr_accounts_cell(&r->accounts, mpr_alloc_context_key(r, c), site, heap);
}

uint32_t mpr_thread_cell_at_site(struct mpr_replay *r, struct mpr_thread *t, uint8_t heap,
                                 uint64_t size)
{
    const struct mpr_alloc_context context = { .size = size,
                                               .node =
                                                   mpr_alloc_context_path(r, t->node, t->at.python),
                                               .thread = t->number,
                                               .site = mpr_sites_site(&r->sites, t->at) };
    t->at = (struct mpr_site){ 0, 0 };
    return mpr_alloc_context_cell(r, &context, heap);
}

uint32_t mpr_thread_cell_look_up(struct mpr_replay *r, uint64_t key, uint8_t heap)
{
    const uint32_t cell = mpr_accounts_cell(&r->accounts, key, 0, heap);
    *mpr_accounts_hint(&r->accounts, key, heap) = (struct mpr_hint){ key, cell, heap };
    return cell;
}

/* ---- ranges that wrap a Python call */

/* Returns the innermost frame of a function, "Class.forward" or "Class.forward [module]", or 0. */
static uint32_t find_call(const struct mpr_ranges *ranges, const char *function, size_t bytes,
                          uint32_t python)
{
    for (; python; python = ranges->node[python].parent) {
        size_t length;
        const char *frame = mpr_texts_get(&ranges->names, ranges->node[python].name, &length);
        if (frame && length > bytes && memcmp(frame, function, bytes) == 0 &&
            (frame[bytes] == ' ' || !frame[bytes]))
            return python;
    }
    return 0;
}

/* Returns the path of `node` and the frames of `python` that are inside `call`. */
static uint32_t append_frames(struct mpr_ranges *ranges, uint32_t node, uint32_t call,
                              uint32_t python)
{
    if (python == call) return node;
    const struct mpr_node frame = ranges->node[python];
    return mpr_ranges_child(ranges, append_frames(ranges, node, call, frame.parent), frame.name,
                            frame.domain);
}

uint32_t mpr_alloc_context_path(struct mpr_replay *r, uint32_t node, uint32_t python)
{
    const enum mpr_group by = r->options.by;
    const bool best = by == MPR_GROUP_AUTO || by == MPR_GROUP_ALL || by == MPR_GROUP_PLACE;
    if (!best || !node || !python) return node;
    struct mpr_wrapper_path *cached =
        &r->wrapper_path[mpr_hash((uint64_t)node << 32 | python) % MPR_WRAPPER_PATHS];
    if (cached->node == node && cached->python == python) return cached->path;
    struct mpr_ranges *ranges = &r->ranges;
    const struct mpr_node *range = &ranges->node[node];
    const bool torch = range->name < MPR_FRAME_NAME &&
                       strcmp(mpr_ranges_domain(ranges, range->domain), "torch") == 0;
    size_t bytes;
    const char *name = torch ? mpr_texts_get(&ranges->names, range->name, &bytes) : NULL;
    const uint32_t call = name ? find_call(ranges, name, bytes, python) : 0,
                   path = call ? append_frames(ranges, node, call, python) : node;
    *cached = (struct mpr_wrapper_path){ node, python, path };
    return path;
}

/* ---- ranges of another thread */

uint32_t mpr_thread_inherited_path(struct mpr_replay *r, struct mpr_thread *t, bool *inherited)
{
    if (inherited) *inherited = false;
    if (t->application || r->options.no_inherit) return t->node;
    const struct mpr_thread *source = mpr_threads_range_source(&r->threads);
    if (!source || source == t) return t->node;
    if (inherited) *inherited = true;
    struct mpr_inherited_path *cached = &t->gpu.inherited;
    if (cached->source == source->node && cached->own == t->node && cached->path)
        return cached->path;
    uint32_t node = 0;
    for (uint32_t i = 0; i < source->depth; i++)
        if (!source->stack[i].domain)
            node = mpr_ranges_child(&r->ranges, node, source->stack[i].name, 0);
    for (uint32_t i = 0; i < t->depth; i++)
        node = mpr_ranges_child(&r->ranges, node, t->stack[i].name, t->stack[i].domain);
    *cached = (struct mpr_inherited_path){ source->node, t->node, node };
    return node;
}
