/* How a log wants to be replayed, as its header says. */
#ifndef MPR_REPLAY_OPTIONS_H
#define MPR_REPLAY_OPTIONS_H

#include "header.h"
#include "replay.h"

/* Sets all but what the caller chooses: what a cell is, and the instant. */
void mpr_replay_options_read(struct mpr_replay_options *options, const struct mpr_header *header);

#endif
