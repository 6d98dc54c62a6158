/* Patterns of names and paths, as hidden_frames.def and users write them. */
#ifndef MPR_PATTERN_H
#define MPR_PATTERN_H

#include <stdbool.h>

/* Returns true if the pattern matches the whole text.  * is any text. */
bool mpr_pattern_matches(const char *pattern, const char *text);

/* The same for a path whose names are joined by " > ": "step *", "** > forward".  * is any text of
 * one name, ** any text of any names.  "** > " at the beginning may also match nothing. */
bool mpr_pattern_matches_path(const char *pattern, const char *path);

#endif
