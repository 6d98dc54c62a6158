#include "wrappers.h"

#include <stdbool.h>
#include <string.h>

#include "hash.h"

static bool is_torch(const struct mpr_ranges *ranges, const struct mpr_node *node)
{
    return node->name < MPR_FRAME_NAME &&
           strcmp(mpr_ranges_domain(ranges, node->domain), "torch") == 0;
}

/* The innermost frame of that function, "Class.forward" or "Class.forward [module]"; 0: none. */
static uint32_t frame_of(const struct mpr_ranges *ranges, const char *function, size_t bytes,
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

static uint32_t go_on(struct mpr_ranges *ranges, uint32_t node, uint32_t call, uint32_t python)
{
    if (python == call) return node;
    const struct mpr_node frame = ranges->node[python];
    return mpr_ranges_child(ranges, go_on(ranges, node, call, frame.parent), frame.name,
                            frame.domain);
}

static uint32_t find(struct mpr_ranges *ranges, uint32_t node, uint32_t python)
{
    size_t bytes;
    const struct mpr_node *range = &ranges->node[node];
    const char *name =
        is_torch(ranges, range) ? mpr_texts_get(&ranges->names, range->name, &bytes) : NULL;
    const uint32_t call = name ? frame_of(ranges, name, bytes, python) : 0;
    return call ? go_on(ranges, node, call, python) : node;
}

uint32_t mpr_wrappers_path(struct mpr_wrappers *w, struct mpr_ranges *ranges, uint32_t node,
                           uint32_t python)
{
    if (!node || !python) return node;
    const uint32_t at = (uint32_t)mpr_hash((uint64_t)node << 32 | python) % MPR_WRAPPER_PATHS;
    if (w->found[at].node != node || w->found[at].python != python) {
        w->found[at].path = find(ranges, node, python);
        w->found[at].node = node;
        w->found[at].python = python;
    }
    return w->found[at].path;
}
