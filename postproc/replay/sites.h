/* Object files, native and Python call stacks, and call sites.
 *
 * Modules, libraries and sites have small numbers, from 1; 0 means unknown.  A site, at which
 * blocks are allocated, is a pair of stacks: a native one (a node of `stacks`) and a Python one (a
 * node of the ranges). */
#ifndef MPR_SITES_H
#define MPR_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"
#include "intervals.h"
#include "mpf/event.h"
#include "ranges.h"

struct mpr_module {
    uint64_t from, to;
    uint32_t library, build_id_bytes;
    char *path;
    uint8_t build_id[64];
};

/* A node of the tree of native call stacks.  A stack is identified by its node, which has the
 * innermost return address.  The parent is the caller's; node 0 is the root. */
struct mpr_stack_node {
    uint64_t pc; /* return address */
    uint32_t parent;
    uint32_t module; /* number, 0 if unknown */
    uint32_t owner;  /* library of mpr_sites_library, 0 if unknown */
    bool for_torch;  /* mpr_sites_for_torch */
};

/* The outermost node of a stack that was cut has an enum mpf_cut instead of an address.  There is
 * no code below this address. */
enum { MPR_STACK_CUTS = 256 };
static inline bool mpr_stack_is_cut(const struct mpr_stack_node *n)
{
    return !n->parent && !n->module && n->pc && n->pc < MPR_STACK_CUTS;
}

struct mpr_site {
    uint32_t stack, python;
};

/* The kinds of ids in a log. */
enum mpr_id_kind {
    MPR_ID_STACK,
    MPR_ID_CUT, /* why a native stack was cut */
    MPR_ID_FRAME,
    MPR_ID_PYTHON,
    MPR_ID_NAME, /* names of Python frames, by a hash of the frame */
    MPR_ID_KINDS
};

struct mpr_sites {
    struct mpr_module *module; /* by number - 1 */
    uint32_t modules, module_cap;
    struct mpr_intervals loaded; /* numbers of modules: the newest one at each address */
    char **library;              /* file names, by number - 1 */
    uint32_t libraries, library_cap;
    struct mpr_index library_number; /* by hash of the name */
    struct mpr_index by_id[MPR_ID_KINDS];
    struct {
        struct mpr_stack_node *node;
        uint32_t nodes, node_cap;
        struct mpr_index number; /* by hash of (parent, pc, module) */
    } stacks;
    struct mpr_site *site; /* by number - 1 */
    uint32_t sites, site_cap;
    struct mpr_index site_number; /* by the pair */
};

void mpr_sites_free(struct mpr_sites *s);
/* Applies MODULE, STACK_CUT, STACK, FRAME and PYTHON.  Python stacks become paths of `ranges`. */
void mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e);
/* Return the node of a native stack, or that of a Python stack in the ranges, by its id in the log.
 */
static inline uint32_t mpr_sites_stack(const struct mpr_sites *s, uint64_t id)
{
    return mpr_index_get(&s->by_id[MPR_ID_STACK], id);
}
static inline uint32_t mpr_sites_python(const struct mpr_sites *s, uint64_t id)
{
    return mpr_index_get(&s->by_id[MPR_ID_PYTHON], id);
}
/* Returns the node of a path in the ranges that is a name for memory, not a place in code. */
uint32_t mpr_sites_named(struct mpr_sites *s, struct mpr_ranges *ranges, const char *name);
/* Returns the number of a pair of stacks, which is added if it is new; 0 if neither is known. */
uint32_t mpr_sites_site(struct mpr_sites *s, struct mpr_site pair);
/* Returns the stacks of a site, both 0 for site 0. */
struct mpr_site mpr_sites_of(const struct mpr_sites *s, uint32_t site);
/* Returns the library that the allocations of a native stack are attributed to: the innermost
 * object file that is not one of CUDA's own libraries or memprof.  C and C++ libraries and
 * allocators are also skipped, unless no other object file remains. */
uint32_t mpr_sites_library(const struct mpr_sites *s, uint32_t stack);
/* Returns true if PyTorch's caching allocator called the driver, directly or through a plug-in. */
bool mpr_sites_for_torch(const struct mpr_sites *s, uint32_t stack);
/* Returns the file name, "" for 0. */
const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library);

#endif
