/* The value of MEMPROF_WINDOW and of the header's `window`: when each block of malloc and each call
 * stack is recorded. */
#ifndef MPF_WINDOW_H
#define MPF_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct mpf_window {
    enum mpf_window_by {
        MPF_WINDOW_PROFILER, /* cudaProfilerStart to cudaProfilerStop */
        MPF_WINDOW_RANGE,    /* instances `first` to `last` of the ranges called `name` */
        MPF_WINDOW_TIME,     /* from delay_ns after the start for duration_ns */
        MPF_WINDOW_SIGNAL    /* `signal` opens and closes it */
    } by;
    const char *name; /* inside the text that was read; not NUL-terminated */
    size_t name_bytes;
    uint64_t first, last;           /* from 1; 0: each instance is a separate window */
    uint64_t delay_ns, duration_ns; /* duration 0: until the end */
    int signal;
};

#define MPF_EXPECTED_WINDOW                                                                        \
    "profiler, range:NAME[:N[:M]], delay:TIME[,duration:TIME], duration:TIME or signal:USR1|USR2"

/* Returns 1, or 0 if the text is invalid. Numbers after a name are N and M if they are all digits.
 */
int mpf_window_read(const char *text, struct mpf_window *window);

#endif
