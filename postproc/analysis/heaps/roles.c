/* One function for each phase in which blocks are made.  They follow the rules in `roles`. */
#include "training.h"

#include <string.h>

static const struct {
    const char *key, *name, *rule;
} roles[MPR_ROLES] = {
    [MPR_ROLE_PARAMETERS] = { "parameters", "parameters, buffers",
                              "allocated for a module outside of passes: by a call that makes or moves the module, or lived "
                              "through two passes or to the end" },
    [MPR_ROLE_GRADIENTS] = { "gradients", "gradients",
                             "allocated in a backward pass and outlived it; DistributedDataParallel's buckets" },
    [MPR_ROLE_OPTIMIZER] = { "optimizer_state", "optimizer state",
                             "allocated in an optimizer's step and outlived it" },
    [MPR_ROLE_ACTIVATIONS] = { "activations", "activations",
                               "allocated before a backward pass and freed in it, or the pass is incomplete or missing" },
    [MPR_ROLE_OUTPUTS] = { "outputs", "outputs",
                           "allocated in a forward pass and outlived the backward pass" },
    [MPR_ROLE_GATHERED] = { "gathered_parameters", "gathered parameters",
                            "allocated where FSDP joins shards" },
    [MPR_ROLE_CACHE] = { "kv_cache", "KV cache", "allocated by a call of a cache" },
    [MPR_ROLE_INPUTS] = { "inputs", "inputs, other data",
                          "allocated before a forward pass for no module, and outlived it" },
    [MPR_ROLE_GRAPHS] = { "graphs", "captured graphs",
                          "allocated while a graph was captured, and outlived the capture" },
    [MPR_ROLE_WORKSPACES] = { "workspaces", "workspaces",
                              "allocated once, in the first pass, and never freed (like cuBLAS's)" },
    [MPR_ROLE_TEMPORARIES] = { "temporaries", "temporaries",
                               "allocated and freed in one pass or optimizer's step, or between two" },
    [MPR_ROLE_ASLEEP] = { "asleep", "asleep, not in use",
                          "unmapped below live blocks (sleep mode), so without memory" },
    [MPR_ROLE_UNEXPLAINED] = { "unexplained", "unexplained", "no rule fits" },
};

const char *mpr_role_key(enum mpr_role role) { return roles[role].key; }
const char *mpr_role_name(enum mpr_role role) { return roles[role].name; }
const char *mpr_role_rule(enum mpr_role role) { return roles[role].rule; }

enum mpr_role mpr_role_named(const char *key)
{
    enum mpr_role role = 0;
    while (role < MPR_ROLES && strcmp(roles[role].key, key) != 0) role++;
    return role;
}

/* ---- lives */

static bool ended_in_phase(const struct mpr_role_life *l)
{
    return !l->lives && l->gone.serial == l->made.serial;
}

/* Returns the backward passes that began while it was live. */
static uint32_t passes(const struct mpr_role_life *l) { return l->gone.passes - l->made.passes; }

bool mpr_role_is_left_by_backward(const struct mpr_role_life *l)
{
    return l->made.phase == MPR_PHASE_BACKWARD && !(l->ranges & MPR_IN_GATHER) &&
           (l->lives || l->gone.phase != MPR_PHASE_BACKWARD || passes(l) > 0);
}

/* A library makes a workspace once, at its first call.  The program keeps a block of a later pass
 * or of several calls. */
static enum mpr_role of_kept(const struct mpr_role_life *l)
{
    const uint32_t first = l->made.phase == MPR_PHASE_BACKWARD ? 1 : 0;
    return l->repeated || l->made.passes > first ? MPR_ROLE_UNEXPLAINED : MPR_ROLE_WORKSPACES;
}

/* ---- the role by the phase of the allocation */

static enum mpr_role of_backward(const struct mpr_role_life *l)
{
    if (!mpr_role_is_left_by_backward(l)) return MPR_ROLE_TEMPORARIES;
    if (l->only_pass && l->lives && !l->as_parameter)
        return MPR_ROLE_UNEXPLAINED; /* a gradient, or a workspace */
    if (!l->lives || passes(l) == 0 || l->as_parameter) return MPR_ROLE_GRADIENTS;
    return of_kept(l);
}

/* A forward pass of a program that does not train, so no forward pass is known to end: only a
 * module's call shows that a block was made in one. */
static enum mpr_role of_inference(const struct mpr_role_life *l)
{
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (l->stack & MPR_IN_MODULE) return MPR_ROLE_PARAMETERS;
    return l->lives ? MPR_ROLE_INPUTS : MPR_ROLE_UNEXPLAINED;
}

static enum mpr_role of_forward(const struct mpr_role_life *l)
{
    const bool trains = l->gone.passes > 0 || l->gone.steps > 0;
    /* no backward pass began, or it is not known to have ended */
    const bool in_last_pass =
        passes(l) == 0 ? l->gone.passes > 0
                       : passes(l) == 1 && l->broken_off && l->gone.phase == MPR_PHASE_BACKWARD;
    if (!trains && l->stack && !(l->stack & MPR_IN_FORWARD)) return of_inference(l);
    if (!l->lives && l->gone.phase == MPR_PHASE_BACKWARD && passes(l) > 0)
        return MPR_ROLE_ACTIVATIONS;
    if (l->stack & MPR_IN_CACHE && !(trains && ended_in_phase(l))) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (ended_in_phase(l))
        return l->went_last ? MPR_ROLE_UNEXPLAINED /* the end of the program may have freed it */
                            : MPR_ROLE_TEMPORARIES;
    if (!l->lives) return passes(l) > 0 ? MPR_ROLE_OUTPUTS : MPR_ROLE_TEMPORARIES;
    /* without any backward pass, the graph that autograd recorded keeps what it needs for one */
    if (in_last_pass || (l->recorded && !l->gone.passes)) return MPR_ROLE_ACTIVATIONS;
    if (l->only_pass) return MPR_ROLE_UNEXPLAINED; /* an output, or a workspace */
    return passes(l) == 1 ? MPR_ROLE_OUTPUTS : of_kept(l);
}

/* A block that a training program makes outside of passes.  If it lives through passes it is a
 * module's, unless its stack shows otherwise. */
static enum mpr_role of_training(const struct mpr_role_life *l)
{
    const bool modules = !l->stack || l->stack & MPR_IN_MODULE;
    const bool lasts = l->lives || passes(l) >= 2; /* a whole pass, and the begin of the next */
    const bool fresh = l->made.phase == MPR_PHASE_BETWEEN && passes(l) <= 1; /* the last batch */
    if (lasts && modules && !fresh) return MPR_ROLE_PARAMETERS;
    if (l->stack & MPR_IN_BUILD && (l->lives || passes(l) > 0)) return MPR_ROLE_PARAMETERS;
    if (!l->lives && l->gone.phase == MPR_PHASE_BACKWARD && modules) return MPR_ROLE_ACTIVATIONS;
    if (l->only_pass && modules && !l->lives && l->made.phase == MPR_PHASE_SETUP)
        return MPR_ROLE_UNEXPLAINED; /* a parameter, or the batch */
    if (l->lives || passes(l) > 0) return MPR_ROLE_INPUTS;
    return l->made.phase == MPR_PHASE_BETWEEN ? MPR_ROLE_TEMPORARIES : MPR_ROLE_UNEXPLAINED;
}

static enum mpr_role of_between(const struct mpr_role_life *l)
{
    if (ended_in_phase(l) && !l->captured) return MPR_ROLE_TEMPORARIES;
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    if (l->gone.passes > 0) return of_training(l);
    if (l->stack & MPR_IN_MODULE || (!l->stack && l->lives)) return MPR_ROLE_PARAMETERS;
    return l->stack ? MPR_ROLE_INPUTS : MPR_ROLE_UNEXPLAINED;
}

/* The whole log is one phase, so only the stack is evidence. */
static enum mpr_role of_no_phase(const struct mpr_role_life *l)
{
    if (l->stack & MPR_IN_CACHE) return MPR_ROLE_CACHE;
    if (l->captured) return MPR_ROLE_GRAPHS;
    return l->lives && l->stack & MPR_IN_MODULE ? MPR_ROLE_PARAMETERS : MPR_ROLE_UNEXPLAINED;
}

enum mpr_role mpr_role_of(const struct mpr_role_life *l)
{
    if (l->no_pass) return of_no_phase(l);
    if (l->ranges & MPR_IN_GATHER && l->made.phase != MPR_PHASE_OPTIMIZER) return MPR_ROLE_GATHERED;
    if (l->stack & MPR_IN_BUCKET && !ended_in_phase(l)) return MPR_ROLE_GRADIENTS;
    switch (l->made.phase) {
    case MPR_PHASE_OPTIMIZER: return ended_in_phase(l) ? MPR_ROLE_TEMPORARIES : MPR_ROLE_OPTIMIZER;
    case MPR_PHASE_BACKWARD: return of_backward(l);
    case MPR_PHASE_FORWARD: return of_forward(l);
    default: return of_between(l);
    }
}
