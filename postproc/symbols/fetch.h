/* Debug files that servers of debuginfod have.  Private to this folder. */
#ifndef MPR_FETCH_H
#define MPR_FETCH_H

#include <elfutils/libdwfl.h>

/* What libdwfl's find_debuginfo is to return: the module's debug file, or, where libdwfl has that,
 * what it shares with others.  It may be any file. */
int mpr_fetch(Dwfl_Module *module, char **path);

#endif
