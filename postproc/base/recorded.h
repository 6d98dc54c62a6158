/* Values of the keys host.blocks, stacks, stacks.torch and stacks.python in the header of a log:
 * the blocks that were recorded one by one, or have a call stack. */
#ifndef MPR_RECORDED_H
#define MPR_RECORDED_H

enum mpr_recorded {
    MPR_RECORDED_UNKNOWN,
    MPR_RECORDED_OFF,
    MPR_RECORDED_LARGE,  /* blocks of at least some size */
    MPR_RECORDED_SAMPLE, /* a sample, and usually all blocks of at least some size */
    MPR_RECORDED_ALL
};

/* Returns "off", "large", "sample", "all", or "" for UNKNOWN. */
const char *mpr_recorded_name(enum mpr_recorded recorded);
/* Returns the value with this name, or UNKNOWN.  @name: may be NULL. */
enum mpr_recorded mpr_recorded_named(const char *name);

#endif
