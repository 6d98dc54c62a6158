#include "by.h"

#include <string.h>

enum mpr_group mpr_by_parse(const char *arg, struct argp_state *state)
{
    for (size_t i = 0; mpr_group_name[i]; i++)
        if (strcmp(arg, mpr_group_name[i]) == 0) return (enum mpr_group)i;
    argp_error(state, "--by=%s: auto, range, stack, python, library, thread, size, heap, comm or graph is wanted", arg);
    return MPR_GROUP_AUTO;
}
