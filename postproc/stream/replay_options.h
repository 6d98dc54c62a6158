/* Reads the options of a replay from the header of its log. */
#ifndef MPR_REPLAY_OPTIONS_H
#define MPR_REPLAY_OPTIONS_H

#include "header.h"
#include "replay.h"

/* Sets all options except those that the caller chooses: the grouping of cells, and the instant. */
void mpr_replay_options_read(struct mpr_replay_options *options, const struct mpr_header *header);

#endif
