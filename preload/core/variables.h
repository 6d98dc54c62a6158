/* The environment's variables that begin as memprof's do (variables.def has memprof's own). */
#ifndef MP_VARIABLES_H
#define MP_VARIABLES_H

/* One line on stderr where at least one is none of memprof's, for it may be misspelt. */
void mp_variables_check(char *const *environment);
/* The variable of memprof's that a name (up to its end, or to =) may stand for; NULL: none is near.
 */
const char *mp_variables_nearest(const char *name);

#endif
