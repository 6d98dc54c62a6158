/* Where in the program: object files, native and Python call stacks.
 *
 * Modules, libraries and sites have small numbers, from 1; 0 is "not known".  A site is a pair of
 * stacks, a native one (a node of `stacks`) and a Python one (a node of the ranges): what a block
 * was made by. */
#ifndef MPR_SITES_H
#define MPR_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"
#include "intervals.h"
#include "mpf/event.h"
#include "ranges.h"
#include "stacks.h"

struct mpr_module {
    uint64_t from, to;
    uint32_t library, build_id_bytes;
    char *path;
    uint8_t build_id[64];
};

struct mpr_site {
    uint32_t stack, python;
};
enum mpr_known {
    MPR_KNOWN_STACK,
    MPR_KNOWN_CUT,
    MPR_KNOWN_FRAME,
    MPR_KNOWN_PYTHON,
    MPR_KNOWN_NAME,
    MPR_KNOWN
}; /* native stacks and why they are cut; frames and stacks of Python; names of frames */

struct mpr_sites {
    struct mpr_module *module; /* by number - 1 */
    uint32_t modules, module_cap;
    struct mpr_intervals loaded; /* numbers of the newest ones at their addresses: they do not
                                    overlap */
    char **library;              /* file names, by number - 1 */
    uint32_t libraries, library_cap;
    struct mpr_index library_number;   /* by hash of the name */
    struct mpr_index known[MPR_KNOWN]; /* what an id of the log means */
    struct mpr_stacks stacks;
    struct mpr_site *site; /* by number - 1 */
    uint32_t sites, site_cap;
    struct mpr_index site_number; /* by the pair */
};

void mpr_sites_free(struct mpr_sites *s);
/* MODULE, STACK_CUT, STACK, FRAME and PYTHON events.  Python stacks become paths of `ranges`. */
void mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e);
/* A native stack's node, by its id in the log. */
uint32_t mpr_sites_stack(const struct mpr_sites *s, uint64_t id);
/* The node of a Python stack's path in the ranges, outermost frame first, by its id in the log. */
uint32_t mpr_sites_python(const struct mpr_sites *s, uint64_t id);
/* The node of a path in the ranges that stands for no place in code, but for what the memory is. */
uint32_t mpr_sites_named(struct mpr_sites *s, struct mpr_ranges *ranges, const char *name);
/* The number of a pair of stacks, made when new; 0 when neither is known. */
uint32_t mpr_sites_site(struct mpr_sites *s, struct mpr_site wanted);
/* The stacks of a site; both 0 for site 0. */
struct mpr_site mpr_sites_of(const struct mpr_sites *s, uint32_t site);
/* The owner of a native stack: the first object file on it outside CUDA's own libraries and
 * memprof; the C and C++ libraries and allocators only where there is no other. */
uint32_t mpr_sites_library(const struct mpr_sites *s, uint32_t stack);
/* Did PyTorch's caching allocator ask, itself or through a plug-in that takes memory for it? */
bool mpr_sites_for_torch(const struct mpr_sites *s, uint32_t stack);
/* File name, "" for 0. */
const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library);

#endif
