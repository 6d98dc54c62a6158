/* Reads a log of memprof: its events in time order, and of each heap what it holds and held at
 * most.
 *
 * A log is joined with its journal, and one that is cut or damaged is read as far as it is good;
 * nothing of it is trusted.  Of a process that runs it is read up to now.  Memory grows with what
 * lives, not with the number of events; names, ranges' paths, call stacks, object files, lacks of
 * memory and pools are kept to the end.  Where there is none left, the process ends by abort().
 *
 * There may be several streams; one thread at a time opens, reads or closes any of them.  While one
 * is open the library has the process's handler of SIGBUS, for files that are truncated while they
 * are read, and hands other faults on to the handler of before. */
#ifndef MPR_STREAM_H
#define MPR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when programs have to be changed for it. */
#define MPR_STREAM_VERSION 1

struct mpr_stream;

/* Opens a log.  Never NULL: what is wrong with it mpr_stream_next returns. */
struct mpr_stream *mpr_stream_open(const char *path);
void mpr_stream_close(struct mpr_stream *stream);

/* Next events; they and their data are valid until the next call.  Their number, 0 at the end, -1
 * where the file cannot be read or is of a newer format. */
long mpr_stream_next(struct mpr_stream *stream, const struct mpf_event **events);
/* What was wrong, as one line with the path; "" while nothing was. */
const char *mpr_stream_error(const struct mpr_stream *stream);

/* What the log says of its process: the first value of a key of its header (FORMAT.md lists them:
 * "host", "pid", "exe", "rank", ...), valid until the stream is closed.  NULL where it says
 * nothing. */
const char *mpr_stream_header(const struct mpr_stream *stream, const char *key);
/* At the end of the log: no event is missing, and the process had ended. */
bool mpr_stream_whole(const struct mpr_stream *stream);

struct mpr_stream_heap {
    const char *name;                 /* "host/heap", "gpu0/device", ...: mpf_heap_name */
    uint64_t bytes, blocks;           /* that live after the last event that was returned */
    uint64_t peak_bytes, peak_blocks; /* at the largest state so far, */
    uint64_t peak_ns;                 /* and when, since the start of the process */
    uint64_t allocations, frees;      /* so far, of the blocks that are recorded each */
};

/* The heaps that the log has so far, in the order of their codes: fills at most `room` of them and
 * returns how many there are. */
size_t mpr_stream_heaps(const struct mpr_stream *stream, struct mpr_stream_heap *heaps,
                        size_t room);

#ifdef __cplusplus
}
#endif

#endif
