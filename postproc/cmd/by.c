#include "by.h"

#include <string.h>

#include "mpf/event.h"

enum mpr_group mpr_by_parse(const char *arg, struct argp_state *state)
{
    for (size_t i = 0; mpr_group_name[i]; i++)
        if (strcmp(arg, mpr_group_name[i]) == 0) return (enum mpr_group)i;
    argp_error(state, "--by=%s: auto, range, stack, python, library, thread, size, heap, comm or graph is wanted", arg);
    return MPR_GROUP_AUTO;
}

const char *mpr_heap_parse(const char *arg, const char *wanted, struct argp_state *state)
{
    for (unsigned i = 1; i < 256; i++) {
        const char *name = mpf_heap_name(i);
        if (name && strcmp(arg, name) == 0) return name;
    }
    argp_error(state, "--heap=%s: %s is wanted", arg, wanted);
    return NULL;
}
