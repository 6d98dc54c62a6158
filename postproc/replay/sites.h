/* Where in the program: object files, native call stacks (their owner library), Python call stacks.
 *
 * Libraries and Python stacks have small numbers, from 1; 0 is "not known". */
#ifndef MPR_SITES_H
#define MPR_SITES_H

#include <stdint.h>

#include "mpf/event.h"
#include "ranges.h"

struct mpr_sites {
    struct mpr_module { uint64_t from, to; uint32_t library; } *module;
    uint32_t modules, module_cap;
    char **library;             /* file names, by number - 1 */
    uint32_t libraries, library_cap;
    struct mpr_site { uint64_t id; uint32_t value; } *site;     /* stacks, Python frames and stacks: open addressing by id */
    uint32_t site_mask, sites;
    uint32_t frames;            /* Python frames so far: names in `ranges` */
};

void mpr_sites_free(struct mpr_sites *s);
/* MODULE, STACK, FRAME and PYTHON events.  Python stacks become paths of `ranges`.  0, or -1 without memory. */
int mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e);
/* The owner of a native stack: the first object file on it outside CUDA's own libraries and memprof. */
uint32_t mpr_sites_library(const struct mpr_sites *s, uint64_t stack);
/* The node of a Python stack's path in the ranges, outermost frame first. */
uint32_t mpr_sites_python(const struct mpr_sites *s, uint64_t stack);
/* File name, "" for 0. */
const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library);

#define MPR_FRAME_NAME UINT32_C(0x80000000)     /* names of ranges from here on are Python frames */

#endif
