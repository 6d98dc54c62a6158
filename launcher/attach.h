/* `memprof attach`, `memprof detach` and `memprof status`. */
#ifndef MPL_ATTACH_H
#define MPL_ATTACH_H

/* Return the program's exit status. */
int mpl_attach(int argc, char **argv);
int mpl_detach(int argc, char **argv);
int mpl_status(int argc, char **argv);

#endif
