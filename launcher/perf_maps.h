/* Copies the maps that JITs write of their code, /tmp/perf-PID.map, next to the logs. */
#ifndef MPL_PERF_MAPS_H
#define MPL_PERF_MAPS_H

#include "logs.h"

struct stat;

/* Copies the map of the process that wrote a log, which has ended, to LOG.perfmap in the same
 * directory. The map must belong to the log's owner, must not be writable by all, and must have
 * changed since the process began. Other maps may be of another process and are not copied. */
void mpl_perf_map_keep(const struct mpl_logs *logs, const char *name, const struct stat *log);

#endif
