/* What every JSON report says of its log. */
#ifndef MPR_JSON_SUMMARY_H
#define MPR_JSON_SUMMARY_H

#include "json.h"
#include "summary.h"

/* null when the value is `unknown`. */
void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown);
/* The fields of the log, into the object that is open. */
void mpr_json_summary(struct mpr_json *j, const struct mpr_summary *s);

#endif
