/* Writes numbers for people.  Each function fills a buffer of the caller and returns its text. */
#ifndef MPR_UNITS_H
#define MPR_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct mpr_number {
    char text[40];
};

const char *mpr_units_size(struct mpr_number *n, uint64_t bytes);  /* "1.23 GiB" */
const char *mpr_units_signed(struct mpr_number *n, int64_t bytes); /* "-1.23 GiB" */
const char *mpr_units_change(struct mpr_number *n, int64_t bytes); /* "+1.23 GiB" */
const char *mpr_units_count(struct mpr_number *n, uint64_t count); /* "48,211,907" */
/* "5.193 s", "11:41.207" from a minute on, "02:15:51.207" from an hour on. */
const char *mpr_units_time(struct mpr_number *n, uint64_t ns);
/* Does the same with the digits that a time needs if it is only exact to @width ns. */
const char *mpr_units_instant(struct mpr_number *n, uint64_t ns, uint64_t width);
/* Writes the local time of day, "02:15:51.207", after month and day if that is not the day of the
 * epoch.
 * @epoch: CLOCK_REALTIME ns that @ns counts from, or 0 for the text of mpr_units_instant */
const char *mpr_units_clock(struct mpr_number *n, uint64_t epoch, uint64_t ns, uint64_t width);
const char *mpr_units_length(struct mpr_number *n, uint64_t ns); /* "250 us", without a fraction */
/* "98.3 us", "1.50 s", "3 min 20 s", "2 h 15 min" */
const char *mpr_units_span(struct mpr_number *n, uint64_t ns);
const char *mpr_units_share(struct mpr_number *n, uint64_t part, uint64_t whole); /* "68.7 %" */

/* Writes 2 * count hexadecimal digits and a zero into the text, and returns the text. */
const char *mpr_units_hex(char *text, const uint8_t *bytes, size_t count);

#endif
