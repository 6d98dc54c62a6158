/* Writes logs and journals for tests, with the format library's encoder.  Ticks are ns: times come
 * back exactly.
 *
 * Every function ends the test program on an error of the system: tests need no error paths. */
#ifndef TESTLOG_H
#define TESTLOG_H

#include <stdint.h>

#include "mpf/event.h"

#define TESTLOG_START UINT64_C(1000000000)          /* the process's start on the log's clock */
#define TESTLOG_REAL  UINT64_C(1700000000000000000) /* and in UTC: 2023-11-14T22:13:20 */
#define TESTLOG_HOST  "testhost"

extern const char *testlog_host; /* what headers say: TESTLOG_HOST unless set */

struct testlog;

/* Creates the log and writes its header: pid 4242, ppid 1, command `./prog --size 3`;
 * with `pairs` (key, value, ..., NULL) those come first and there is no command. */
struct testlog *testlog_open(const char *path, const char *const *pairs);
/* ns since the start, in order. */
void testlog_event(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, unsigned heap,
                   uint64_t addr, uint64_t size);
void testlog_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, uint64_t addr,
                  const void *data, uint64_t bytes);
void testlog_heap_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op,
                       unsigned heap, uint64_t addr, const void *data, uint64_t bytes);
/* Ends the present frame of events; done by itself every 50,000 events. */
void testlog_flush(struct testlog *log);
/* Leaves out a frame's number, as if it had been lost. */
void testlog_skip(struct testlog *log);
uint64_t testlog_frames(const struct testlog *log);
/* With a reason: an END frame.  NULL: the process was killed. */
void testlog_close(struct testlog *log, const char *reason);

/* The journal `LOG.journal` of a log that is there, with the header's id, whose process has ended:
 * chunks are added one by one. */
struct testjournal;
struct testjournal *testjournal_open(const char *path);
/* A new chunk of the thread.  Of its slots, `drained` are in the log before frame `frame`,
 * `drained_next` with it. */
void testjournal_chunk(struct testjournal *j, uint32_t thread, uint64_t seq, uint32_t drained,
                       uint64_t frame, uint32_t drained_next);
/* An event into the newest chunk. */
void testjournal_event(struct testjournal *j, uint64_t ns, unsigned op, unsigned heap,
                       uint64_t addr, uint64_t size);
/* A slot that was begun and never finished. */
void testjournal_torn(struct testjournal *j);
/* The last sign of life. */
void testjournal_beat(struct testjournal *j, uint64_t ns);
void testjournal_close(struct testjournal *j);

#endif
