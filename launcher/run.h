/* memprof run records a command and all processes that it starts. */
#ifndef MPL_RUN_H
#define MPL_RUN_H

/* Runs the subcommand. argv[0] is "run". Returns the exit status: the command's, or 128 + N if
 * signal N ended it. */
int mpl_run(int argc, char **argv);

#endif
