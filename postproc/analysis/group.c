#include "group.h"

#include <stddef.h>

const char *const mpr_group_name[] = { "range", "thread", "size", "heap", "library", "comm", "python", "stack", "graph", "auto", NULL };

const char *mpr_group_word(enum mpr_group group) { return mpr_group_name[group == MPR_GROUP_AUTO ? MPR_GROUP_RANGE : group]; }
