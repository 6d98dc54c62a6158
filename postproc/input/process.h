/* Is the recorded process still there? */
#ifndef MPR_PROCESS_H
#define MPR_PROCESS_H

#include <stdbool.h>

#include "header.h"

/* True when this host runs the header's process: same host name, a live (not zombie) process of that id that did not
 * start after the log did.  A process in another pid namespace is not seen. */
bool mpr_process_runs(const struct mpr_header *header);

#endif
