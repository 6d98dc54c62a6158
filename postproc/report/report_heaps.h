/* Heaps of a log: their numbers, and lines about them.  Private to this layer. */
#ifndef MPR_REPORT_HEAPS_H
#define MPR_REPORT_HEAPS_H

#include "document.h"
#include "peaks.h"

/* The peak of a struct mpr_heap_peak, for people with "~" if it is approximate. */
struct mpr_value mpr_report_heap_peak(const void *row, const void *context);
/* Adds a heap's numbers to the open object of JSON. */
void mpr_report_heap_fields(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: a table of the heaps at the instant, and lines about them.
 * @tick: resolution of times, ns. */
void mpr_report_heap_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                           struct mpr_instant at, uint64_t tick);

/* For people: the instances of repeated ranges in which the peaks are, in one line for all heaps of
 * one instance.  @at_peak: false if another instant replaces the peaks. */
void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak);
/* For people: bytes of the heap that were never all in memory; nothing if they may have been. */
void mpr_report_reserved(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: heaps whose bytes other heaps also count. */
void mpr_report_nested(struct mpr_document *doc, const struct mpr_log_peaks *log);

#endif
