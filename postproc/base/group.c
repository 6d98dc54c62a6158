#include "group.h"

#include <stddef.h>

// clang-format off
const char *const mpr_group_name[] = {
#define X(name, text, ...) [MPR_GROUP_##name] = text,
    MPR_GROUPS(X)
#undef X
    [MPR_GROUP_AUTO] = "auto", NULL
};
// clang-format on

const char *mpr_group_word(enum mpr_group group)
{
    return mpr_group_name[group == MPR_GROUP_AUTO ? MPR_GROUP_RANGE : group];
}

const char *mpr_group_empty_path(enum mpr_group group)
{
    if (group == MPR_GROUP_STACK) return "(no call stack)";
    return group == MPR_GROUP_PYTHON ? "(no Python call stack)" : "outside any range";
}

bool mpr_group_is_calls(enum mpr_group group)
{
    return group == MPR_GROUP_STACK || group == MPR_GROUP_PYTHON;
}
