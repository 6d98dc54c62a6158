/* Parts of results that several JSON reports have. */
#ifndef MPR_JSON_ROWS_H
#define MPR_JSON_ROWS_H

#include "json.h"
#include "peaks.h"

/* A path as an array, outermost first. */
void mpr_json_path(struct mpr_json *j, const char *key, const char *const *path, size_t depth);
/* An object of the source's values; absent when there was no sample. */
void mpr_json_reading(struct mpr_json *j, const char *key, enum mpr_reading_source source, const struct mpr_reading *r);

#endif
