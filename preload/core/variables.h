/* Checks the environment variables that begin with MEMPROF_ (variables.def lists memprof's). */
#ifndef MP_VARIABLES_H
#define MP_VARIABLES_H

/* Prints one line on stderr if one of them is not memprof's, because it may be misspelt. */
void mp_variables_check(char *const *environment);
/* Returns memprof's variable that is nearest to a name (up to its end or to =), or NULL. */
const char *mp_variables_nearest(const char *name);

#endif
