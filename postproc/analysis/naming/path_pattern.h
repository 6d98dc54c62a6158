/* Patterns of paths of ranges, "step *", "** > forward".  Private to this layer. */
#ifndef MPR_PATH_PATTERN_H
#define MPR_PATH_PATTERN_H

#include <stdbool.h>

/* * is any text of one name, ** any of any names; "** > " at the beginning may be nothing. */
bool mpr_path_pattern_matches(const char *pattern, const char *path);

#endif
