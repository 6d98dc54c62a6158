#include "group.h"

#include <stddef.h>

const char *const mpr_group_name[] = { "range", "thread", "size", "heap", "library", "comm", "python", "stack", "graph", "auto", NULL };
