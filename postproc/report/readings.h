/* What the kernel and jemalloc said, for every report that tells it. */
#ifndef MPR_READINGS_H
#define MPR_READINGS_H

#include "document.h"
#include "peaks.h"

/* The values of a source's reading, in JSON's names. */
enum { MPR_RSS_COLUMNS = 13, MPR_CGROUP_COLUMNS = 6, MPR_JEMALLOC_COLUMNS = 7 };
extern const struct mpr_column mpr_reading_rss[MPR_RSS_COLUMNS],
    mpr_reading_cgroup[MPR_CGROUP_COLUMNS], mpr_reading_jemalloc[MPR_JEMALLOC_COLUMNS];

/* An object of the source's values; absent when there was no sample. */
void mpr_report_reading(struct mpr_document *doc, const char *key, enum mpr_reading_source source,
                        const struct mpr_reading *r);
/* An object of the sources'. */
void mpr_report_readings(struct mpr_document *doc, const char *key,
                         const struct mpr_reading list[MPR_READ_SOURCES]);

/* RSS: what of its parts is known; MPF_UNKNOWN: nothing. */
uint64_t mpr_reading_resident(const struct mpr_reading *rss);
/* Behind Private_Dirty and Pss: when they were read, where that was before the rest of the sample.
 */
void mpr_report_rollup_time(struct mpr_document *doc, const struct mpr_reading *rss);

#endif
