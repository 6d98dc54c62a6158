/* What pins PyTorch's split free memory, as lines for people: paths that differ in a number are
 * one. */
#ifndef MPR_PIN_LINES_H
#define MPR_PIN_LINES_H

#include "document.h"
#include "segments.h"

void mpr_report_pin_lines(struct mpr_document *doc, const struct mpr_segments_device *device);

#endif
