/* A JIT's map of the code that it generated, as perf reads it: a line for each function, with its
 * address and size in hexadecimal and its name.  The program writes it as /tmp/perf-PID.map, and
 * the launcher copies it to LOG.perfmap. */
#ifndef MPR_PERF_MAP_H
#define MPR_PERF_MAP_H

#define MPR_PERF_MAP_ENDING ".perfmap"
#define MPR_PERF_MAP_MAX    (64 << 20) /* bytes */

#endif
