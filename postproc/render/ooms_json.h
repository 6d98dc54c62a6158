/* What the parts of JSON "memprof.oom/1" share.  Private to this layer. */
#ifndef MPR_OOMS_JSON_H
#define MPR_OOMS_JSON_H

#include "json.h"
#include "ooms.h"

/* null when it is not valid; time_ns (of the first instant) where it is two instants of one process. */
void mpr_growth_json(struct mpr_json *j, const char *key, const struct mpr_growth *g, size_t top);
void mpr_ooms_compare_json(struct mpr_json *j, const struct mpr_ooms *ooms, size_t top);

#endif
