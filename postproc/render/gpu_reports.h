/* The three formats of the reports on device memory alone.  Private to this layer. */
#ifndef MPR_GPU_REPORTS_H
#define MPR_GPU_REPORTS_H

#include "render.h"

struct mpr_ooms_log;

void mpr_ooms_text(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style);
/* Several processes at the first failure. */
void mpr_ooms_compare_text(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style);
/* What one process met of host memory. */
void mpr_ooms_host_text(FILE *out, const struct mpr_ooms_log *log, const struct mpr_style *style);
void mpr_ooms_json(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style);

#endif
