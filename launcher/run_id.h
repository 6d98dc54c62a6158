/* The ID of a run is the same for all launchers of one job, and differs from those of other
 * runs. */
#ifndef MPL_RUN_ID_H
#define MPL_RUN_ID_H

#include "mpf/run_id.h"

/* Writes the ID of this run: @given or MEMPROF_RUN, if one of them is set and not empty; otherwise
 * the ID of the job whose starter started this launcher (Slurm, PMIx, PALS, Flux, torchrun, Hydra);
 * otherwise a random one.
 * @given: the user's ID, or NULL */
void mpl_run_id(char out[MPF_RUN_ID], const char *given);

#endif
