/* The id of a run: the same for all launchers of one job, and another one for any other run. */
#ifndef MPL_RUN_ID_H
#define MPL_RUN_ID_H

#include "mpf/run_id.h"

/* Writes the id of this run: @given or MEMPROF_RUN, if one of them is set and not empty; else the
 * id of the job whose starter started this launcher (Slurm, PMIx, PALS, Flux, torchrun, Hydra);
 * else a random one.
 * @given: the user's, or NULL */
void mpl_run_id(char out[MPF_RUN_ID], const char *given);

#endif
