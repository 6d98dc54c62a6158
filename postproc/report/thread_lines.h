/* The threads of a heap as lines for people: those of a pool, whose names differ in a number, are
 * one. */
#ifndef MPR_THREAD_LINES_H
#define MPR_THREAD_LINES_H

#include "document.h"
#include "thread_use.h"

void mpr_report_thread_lines(struct mpr_document *doc, const struct mpr_thread_heap *heap,
                             bool bounds);

#endif
