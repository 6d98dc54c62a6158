/* A document's fields and tables, into an object of JSON that is open.  Private to this layer. */
#ifndef MPR_JSON_DOCUMENT_H
#define MPR_JSON_DOCUMENT_H

#include "document.h"
#include "instant.h"
#include "json.h"

struct mpr_summary;
/* Writes the fields of the log and the warnings of a report on @at.  Reports with their own
 * renderer call it. */
void mpr_json_log(struct mpr_json *j, const struct mpr_summary *s, struct mpr_instant at);

#endif
