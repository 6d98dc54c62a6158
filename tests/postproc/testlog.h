/* Writes logs and journals for tests, with the format library's encoder. Ticks are ns, so times are
 * read back exactly.
 *
 * Every function ends the test program on a system error, so tests need no error paths. */
#ifndef TESTLOG_H
#define TESTLOG_H

#include <stdint.h>

#include "mpf/event.h"
#include "mpf/slot.h"

#define TESTLOG_START UINT64_C(1000000000)          /* the process's start on the log's clock */
#define TESTLOG_REAL  UINT64_C(1700000000000000000) /* and in UTC: 2023-11-14T22:13:20 */
#define TESTLOG_HOST  "testhost"

extern const char *testlog_host; /* the host in headers; TESTLOG_HOST unless set */

struct testlog;

/* Creates the log and writes its header: pid 4242, ppid 1, command `./prog --size 3`. If `pairs`
 * (key, value, ..., NULL) is given, they are written first and there is no command. */
struct testlog *testlog_open(const char *path, const char *const *pairs);
/* Does the same for a process that started at @start.  Its ticks must be TESTLOG_START. */
struct testlog *testlog_open_at(const char *path, const char *const *pairs,
                                const struct mpf_clock *start);
/* @ns: ns since the start, not decreasing. */
void testlog_event(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, unsigned heap,
                   uint64_t addr, uint64_t size);
void testlog_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, uint64_t addr,
                  const void *data, uint64_t bytes);
void testlog_heap_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op,
                       unsigned heap, uint64_t addr, const void *data, uint64_t bytes);
/* Ends the current frame of events. This also happens after every 50,000 events. */
void testlog_flush(struct testlog *log);
/* Skips a frame number, as if a frame had been lost. */
void testlog_skip(struct testlog *log);
uint64_t testlog_frames(const struct testlog *log);
/* @reason: writes an END frame with it. NULL: the process was killed. */
void testlog_close(struct testlog *log, const char *reason);

/* The journal `LOG.journal` of an existing log with the header's ID, whose process has ended.
 * Chunks are added one by one. */
struct testjournal;
struct testjournal *testjournal_open(const char *path);
/* Adds a chunk of the thread. `drained` of its slots are in the log before frame `frame`,
 * `drained_next` with it. */
void testjournal_chunk(struct testjournal *j, uint32_t thread, uint64_t seq, uint32_t drained,
                       uint64_t frame, uint32_t drained_next);
/* Adds an event to the newest chunk. */
void testjournal_event(struct testjournal *j, uint64_t ns, unsigned op, unsigned heap,
                       uint64_t addr, uint64_t size);
/* Adds a slot that was reserved and never committed. */
void testjournal_torn(struct testjournal *j);
/* Sets the time of the last heartbeat. */
void testjournal_beat(struct testjournal *j, uint64_t ns);
void testjournal_close(struct testjournal *j);

#endif
