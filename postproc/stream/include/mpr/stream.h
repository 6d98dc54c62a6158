/* Reads a log that memprof recorded: its events in time order, and for each heap the live bytes and
 * the peak.
 *
 * Use:
 *
 *     struct mpr_stream *stream = mpr_stream_open("log.zst");
 *     const struct mpf_event *events;
 *     long count;
 *     while ((count = mpr_stream_next(stream, &events)) > 0) { ... }
 *     if (count < 0) fprintf(stderr, "%s\n", mpr_stream_error(stream));
 *     mpr_stream_close(stream);
 *
 * Input.  The events of a log's journal are read after those of the log.  If the log is cut or
 * damaged, the readable part is read.  If its process is still running, the events up to now are
 * read.  The contents are never trusted: any file is safe to open.
 *
 * Memory.  It grows with the number of live blocks, not with the number of events.  Names, paths of
 * ranges, call stacks, object files, out-of-memory events and memory pools are kept until the
 * stream is closed.  If memory runs out, the process ends by abort().
 *
 * Threads.  Several streams may be open, but only one thread at a time may open, read or close any
 * of them.
 *
 * Signals.  While a stream is open the library handles SIGBUS for the whole process, because a file
 * may be truncated while it is read.  Any other SIGBUS is passed to the handler that was installed
 * before.
 *
 * Units.  Sizes are bytes.  Times are nanoseconds since the start of the recorded process. */
#ifndef MPR_STREAM_H
#define MPR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when programs that use this header must be changed. */
#define MPR_STREAM_VERSION 1

struct mpr_stream;

/* Opens a log.  Never returns NULL: if the log cannot be opened, the first mpr_stream_next returns
 * -1. */
struct mpr_stream *mpr_stream_open(const char *path);
/* Closes the stream and frees everything that it returned.  @stream: may be NULL */
void mpr_stream_close(struct mpr_stream *stream);

/* Reads the next events.  Returns their number, 0 at the end, or -1 if the file cannot be read or
 * has a newer format.  @events and their data are valid until the next call. */
long mpr_stream_next(struct mpr_stream *stream, const struct mpf_event **events);
/* Returns the error as one line that includes the path, or "" if there was none. */
const char *mpr_stream_error(const struct mpr_stream *stream);

/* Returns the first value of a key in the log's header, or NULL without that key.
 * FORMAT.md lists the keys: "host", "pid", "exe", "rank", ...  Valid until the stream is closed. */
const char *mpr_stream_header(const struct mpr_stream *stream, const char *key);
/* Returns true if the log was read to its end, the process had ended, and no event is missing. */
bool mpr_stream_whole(const struct mpr_stream *stream);

struct mpr_stream_heap {
    const char *name;       /* "host/heap", "gpu0/device", ... (mpf_heap_name) */
    uint64_t bytes, blocks; /* live after the last event that was returned */
    uint64_t peak_bytes;    /* the largest number of live bytes so far, */
    uint64_t peak_blocks;   /* the live blocks at that time, */
    uint64_t peak_ns;       /* and that time */
    uint64_t allocations;   /* so far, of the blocks that are recorded one by one */
    uint64_t frees;
};

/* Returns the number of heaps in the log so far, and fills @heaps with at most @room of them,
 * ordered by their codes. */
size_t mpr_stream_heaps(const struct mpr_stream *stream, struct mpr_stream_heap *heaps,
                        size_t room);

#ifdef __cplusplus
}
#endif

#endif
