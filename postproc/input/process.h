/* A process by its number, its namespace and the time of its start.  life.h asks here where a journal's lock says nothing. */
#ifndef MPR_PROCESS_H
#define MPR_PROCESS_H

#include "header.h"
#include "life.h"

/* What the header says of its process, of this one: started is 0. */
void mpr_process_here(struct mpf_identity *here);
struct mpr_verdict mpr_process_tell(const struct mpr_header *header);

#endif
