/* Which blocks are recorded one by one, or have a call stack.  The values of host.blocks,
 * stacks, stacks.torch and stacks.python in a log's header. */
#ifndef MPR_RECORDED_H
#define MPR_RECORDED_H

enum mpr_recorded {
    MPR_RECORDED_UNKNOWN,
    MPR_RECORDED_OFF,    /* none */
    MPR_RECORDED_LARGE,  /* those from a size on */
    MPR_RECORDED_SAMPLE, /* a sample, and mostly all from a size on */
    MPR_RECORDED_ALL
};

/* Returns "off", "large", "sample" or "all"; "" for UNKNOWN. */
const char *mpr_recorded_name(enum mpr_recorded recorded);
/* Returns the value of that name, or UNKNOWN.  @name: may be NULL. */
enum mpr_recorded mpr_recorded_named(const char *name);

#endif
