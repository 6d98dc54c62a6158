/* What AUTO stands for in a process.  Where it has ranges of the application or of PyTorch, or Python's stacks: the best that each
 * block has, its range, else its Python stack, else its library.  Else native stacks; else libraries.  Private to this layer. */
#ifndef MPR_CHOOSE_H
#define MPR_CHOOSE_H

#include "group.h"
#include "reader.h"

/* Of a log that was replayed by AUTO, or by stack.  Without any of them it is the range, from "none recorded". */
struct mpr_choice mpr_choose(const struct mpr_reader *reader);
/* There are other names than native stacks so far: the choice will hardly be those. */
bool mpr_choose_better_names(const struct mpr_replay *replay);
/* How replay is to group for it. */
enum mpr_by mpr_choose_by(enum mpr_group group);

#endif
