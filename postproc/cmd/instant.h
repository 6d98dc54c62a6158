/* Instants as users write them. */
#ifndef MPR_INSTANT_H
#define MPR_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

/* "12.5s", "300ms", "7us", "123ns", "12.5" (seconds), "mm:ss.fff" or "hh:mm:ss.fff" as ns; *width: how much time the last digit
 * stands for.  False: none of these. */
bool mpr_instant_parse(const char *text, uint64_t *ns, uint64_t *width);

#endif
