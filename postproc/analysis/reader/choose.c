#include "reader.h"

#include <string.h>

#include "recorded.h"

struct found {
    bool application, torch, python, stack;
};

/* NCCL makes its ranges itself, without a request of the user. */
static struct found look(const struct mpr_replay *r)
{
    struct found f = { false, false, false, false };
    for (uint32_t i = 1; i < r->ranges.nodes && !f.application; i++) {
        const struct mpr_node *n = &r->ranges.node[i];
        const char *domain = mpr_ranges_domain(&r->ranges, n->domain);
        if (n->name >= MPR_FRAME_NAME) continue;
        if (strcmp(domain, "torch") == 0) f.torch = true;
        else f.application = strncmp(domain, "NCCL", 4) != 0;
    }
    for (uint32_t i = 0; i < r->sites.sites; i++) {
        if (i + 1 == r->thinned_site || (r->totals.told && i + 1 == r->totals.site)) continue;
        f.python |= r->sites.site[i].python != 0;
        f.stack |= r->sites.site[i].stack != 0;
    }
    return f;
}

/* Call stacks of driver calls are always recorded, because they determine the owner library. */
static bool has_stacks_of_blocks(const struct mpr_reader *reader)
{
    const char *mode = mpr_header_get(mpr_log_header(reader->log), "stacks");
    return mode && mpr_recorded_named(mode) != MPR_RECORDED_OFF;
}

/* Returns the sources of names, in the order of preference for a block. */
static const char *best(const struct found *f)
{
    static const char *const source[][2][2] = {
        { { "NVTX", "NVTX, else libraries" },
          { "NVTX, else Python call stacks", "NVTX, else Python call stacks, else libraries" } },
        { { "PyTorch", "PyTorch, else libraries" },
          { "PyTorch, else Python call stacks",
            "PyTorch, else Python call stacks, else libraries" } },
        { { "", "" }, { "Python call stacks", "Python call stacks, else libraries" } },
    };
    return source[f->application ? 0 : f->torch ? 1 : 2][f->python][f->stack];
}

struct mpr_choice mpr_choose(const struct mpr_reader *reader)
{
    const struct found f = look(&reader->replay);
    const bool native = f.stack && has_stacks_of_blocks(reader), ranges = f.application || f.torch;
    const enum mpr_group calls = !ranges    ? MPR_GROUP_RANGE
                                 : f.python ? MPR_GROUP_PYTHON
                                 : native   ? MPR_GROUP_STACK
                                            : MPR_GROUP_RANGE;
    if (ranges || f.python) return (struct mpr_choice){ MPR_GROUP_AUTO, best(&f), calls };
    if (native) return (struct mpr_choice){ MPR_GROUP_STACK, "native call stacks", calls };
    if (f.stack) return (struct mpr_choice){ MPR_GROUP_LIBRARY, "libraries", calls };
    if (reader->replay.totals.told)
        return (struct mpr_choice){ MPR_GROUP_AUTO, "none recorded", calls };
    return (struct mpr_choice){ MPR_GROUP_RANGE, "none recorded", calls };
}

/* Node 0 is outside any range; others are for blocks without a record (totals.h, absent.h). */
bool mpr_choose_has_better_names(const struct mpr_replay *replay)
{
    return replay->ranges.nodes > 1u + replay->totals.told + (replay->thinned_site != 0);
}
