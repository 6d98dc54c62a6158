/* The process's memory as the kernel and jemalloc reported it: fields of JSON, columns of
 * exported tables, and lines for people. */
#ifndef MPR_READINGS_H
#define MPR_READINGS_H

#include "document.h"
#include "peaks.h"

/* The values of a reading of one source, with the names of JSON. */
enum {
    MPR_RSS_COLUMNS = 14,
    MPR_CGROUP_COLUMNS = 10,
    MPR_JEMALLOC_COLUMNS = 7,
    MPR_ALLOCATOR_COLUMNS = 3
};
extern const struct mpr_column mpr_reading_rss[MPR_RSS_COLUMNS],
    mpr_reading_cgroup[MPR_CGROUP_COLUMNS], mpr_reading_jemalloc[MPR_JEMALLOC_COLUMNS],
    mpr_reading_allocator[MPR_ALLOCATOR_COLUMNS];

/* Adds an object with the values of a source, if it was read. */
void mpr_report_reading(struct mpr_document *doc, const char *key, enum mpr_reading_source source,
                        const struct mpr_reading *r);
/* Adds an object with the values of all sources. */
void mpr_report_readings(struct mpr_document *doc, const char *key,
                         const struct mpr_reading list[MPR_READ_SOURCES]);

/* Adds an object with the maximum of a source and its time, if it is known. */
void mpr_report_reading_peak(struct mpr_document *doc, const char *key,
                             const struct mpr_reading_peak *peak);
/* Returns when the maximum was reached, with the samples around it: "at 1.053 s", or "between
 * 135.853 s (901.20 MiB) and 135.953 s (870.00 MiB)". */
const char *mpr_report_reached(struct mpr_document *doc, const struct mpr_reading_peak *peak);
/* For people: "RSS peak: 302.00 MiB at 1.053 s", and that of the cgroup if it has a limit. The
 * line is not ended. Returns false if RSS is not known. */
bool mpr_report_rss_peak(struct mpr_document *doc, const struct mpr_log_peaks *log);
/* For people: the samples at the heap's peak, or the nearest ones with their times. @at_peak:
 * false if the report is about another instant than the peak. */
void mpr_report_kernel_view(struct mpr_document *doc, const struct mpr_heap_peak *heap,
                            bool at_peak);
/* Adds an object with resident memory by kind of mapping, if there was a sample. @lines: also a
 * line for each kind of at least 1 % for people. */
void mpr_report_resident(struct mpr_document *doc, const struct mpr_log_peaks *log, bool lines);
/* Returns the sum of the resident bytes in the sample, or MPF_UNKNOWN. */
uint64_t mpr_reading_resident_bytes(const struct mpr_reading *rss);
/* Returns the kind of memory outside of all processes that has at least half of @bytes of the
 * cgroup's charge, such as "files on tmpfs or shared memory", with its bytes; NULL if none is
 * known. Page cache does not count, because the kernel can free it. */
const char *mpr_reading_outside(const struct mpr_reading *cgroup, uint64_t bytes, uint64_t *kind);
/* Adds the time of Private_Dirty and Pss to a line, if they were read before the other values. */
void mpr_report_smaps_time(struct mpr_document *doc, const struct mpr_reading *rss);

#endif
