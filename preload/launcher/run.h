/* memprof run: records a command and everything that it starts. */
#ifndef MP_RUN_H
#define MP_RUN_H

/* argv[0] is "run".  Does not return when the command was ended by a signal: then this process ends by it too. */
int mp_run(int argc, char **argv);

#endif
