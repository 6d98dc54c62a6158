#include "recorded.h"

#include <string.h>

static const char *const names[] = { [MPR_RECORDED_UNKNOWN] = "",
                                     [MPR_RECORDED_OFF] = "off",
                                     [MPR_RECORDED_LARGE] = "large",
                                     [MPR_RECORDED_SAMPLE] = "sample",
                                     [MPR_RECORDED_ALL] = "all" };

const char *mpr_recorded_name(enum mpr_recorded recorded) { return names[recorded]; }

enum mpr_recorded mpr_recorded_named(const char *name)
{
    for (enum mpr_recorded r = MPR_RECORDED_OFF; name && r <= MPR_RECORDED_ALL; r++)
        if (strcmp(names[r], name) == 0) return r;
    return MPR_RECORDED_UNKNOWN;
}
