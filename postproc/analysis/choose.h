/* What AUTO stands for in a process: the application's own ranges; else PyTorch's; else Python's stacks; else native ones; else
 * libraries.  Private to this layer. */
#ifndef MPR_CHOOSE_H
#define MPR_CHOOSE_H

#include "group.h"
#include "reader.h"

/* Of a log that was replayed by range.  Without any of them it is the range, from "none recorded". */
struct mpr_choice mpr_choose(const struct mpr_reader *reader);
/* How replay is to group for it; AUTO is the range at first. */
enum mpr_by mpr_choose_by(enum mpr_group group);

#endif
