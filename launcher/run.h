/* memprof run: records a command and everything that it starts. */
#ifndef MPL_RUN_H
#define MPL_RUN_H

/* argv[0] is "run".  The status to exit with: the command's, or 128 + N when signal N ended it. */
int mpl_run(int argc, char **argv);

#endif
