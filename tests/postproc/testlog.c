#include "testlog.h"

#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mpf/columns.h"
#include "mpf/frame.h"
#include "mpf/header.h"

#define FRAME_EVENTS 50000u
#define HEADER_BYTES 65536u
#define ID           "000102030405060708090a0b0c0d0e0f"

struct testlog {
    FILE *file;
    ZSTD_CCtx *zstd;
    struct mpf_columns *columns;
    void *memory;
    uint8_t *payload, *out;
    size_t body_cap, out_cap;
    uint64_t seq, data_bytes;
    struct mpf_clock start, from, to;
};

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) err(1, "memory");
    return memset(memory, 0, bytes);
}

static const struct mpf_clock usual_start = { TESTLOG_START, TESTLOG_START, TESTLOG_REAL };

static struct mpf_clock clock_at(const struct mpf_clock *start, uint64_t ns)
{
    return (struct mpf_clock){ start->ticks + ns, start->mono + ns, start->real + ns };
}

static void make_room(struct testlog *log, size_t body_bytes)
{
    if (body_bytes <= log->body_cap) return;
    free(log->payload);
    free(log->out);
    log->body_cap = body_bytes;
    log->payload = allocate(MPF_FRAME_HEAD + body_bytes);
    log->out_cap = mpf_frame_bound(body_bytes);
    log->out = allocate(log->out_cap);
}

static void write_frame(struct testlog *log, int kind, size_t body_bytes)
{
    const struct mpf_frame frame = { MPF_MAJOR,  MPF_MINOR, (uint8_t)kind,
                                     log->seq++, NULL,      body_bytes };
    const long n = mpf_frame_write(log->zstd, 3, &frame, log->payload, log->out, log->out_cap);
    if (n <= 0 || fwrite(log->out, 1, (size_t)n, log->file) != (size_t)n)
        errx(1, "cannot write a frame");
}

static void add_command(struct mpf_pairs *p)
{
    mpf_pairs_add(p, "argv", "./prog");
    mpf_pairs_add(p, "argv", "--size");
    mpf_pairs_add(p, "argv", "3");
}

const char *testlog_host = TESTLOG_HOST;

static void write_header(struct testlog *log, const char *const *pairs)
{
    struct mpf_pairs p;
    mpf_pairs_init(&p, log->payload + MPF_FRAME_HEAD, HEADER_BYTES);
    mpf_pairs_add(&p, "id", ID);
    mpf_pairs_add(&p, "host", testlog_host);
    mpf_pairs_add_u64(&p, "start.ticks", log->start.ticks);
    mpf_pairs_add_u64(&p, "start.mono", log->start.mono);
    mpf_pairs_add_u64(&p, "start.real", log->start.real);
    for (size_t i = 0; pairs && pairs[i]; i += 2) mpf_pairs_add(&p, pairs[i], pairs[i + 1]);
    mpf_pairs_add_u64(&p, "pid", 4242);
    mpf_pairs_add_u64(&p, "ppid", 1);
    if (!pairs) add_command(&p);
    write_frame(log, MPF_FRAME_HEADER, mpf_pairs_bytes(&p));
}

struct testlog *testlog_open(const char *path, const char *const *pairs)
{
    return testlog_open_at(path, pairs, &usual_start);
}

struct testlog *testlog_open_at(const char *path, const char *const *pairs,
                                const struct mpf_clock *start)
{
    struct testlog *log = allocate(sizeof *log);
    log->start = *start;
    log->file = fopen(path, "w");
    log->zstd = ZSTD_createCCtx();
    if (!log->file || !log->zstd) err(1, "%s", path);
    make_room(log, HEADER_BYTES);
    log->memory = allocate(mpf_columns_memory(FRAME_EVENTS));
    log->columns = mpf_columns_init(log->memory, FRAME_EVENTS, 0);
    mpf_columns_begin(log->columns);
    log->from = log->to = clock_at(start, 0);
    write_header(log, pairs);
    return log;
}

static void add(struct testlog *log, uint64_t ns, uint32_t thread, uint64_t head, uint64_t addr,
                const void *data, uint64_t bytes)
{
    const struct mpf_slot slot = { clock_at(&log->start, ns).ticks, addr, head };
    if (mpf_columns_count(log->columns) == FRAME_EVENTS ||
        log->data_bytes + bytes > FRAME_EVENTS * MPF_CONT_BYTES)
        testlog_flush(log);
    mpf_columns_add(log->columns, &slot, thread, data);
    log->data_bytes += bytes;
    log->to = clock_at(&log->start, ns);
}

void testlog_event(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, unsigned heap,
                   uint64_t addr, uint64_t size)
{
    add(log, ns, thread, mpf_slot_head(op, heap, 1, size), addr, NULL, 0);
}

void testlog_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op, uint64_t addr,
                  const void *data, uint64_t bytes)
{
    testlog_heap_data(log, ns, thread, op, 0, addr, data, bytes);
}

void testlog_heap_data(struct testlog *log, uint64_t ns, uint32_t thread, unsigned op,
                       unsigned heap, uint64_t addr, const void *data, uint64_t bytes)
{
    add(log, ns, thread, mpf_slot_head(op, heap, 1, bytes), addr, data, bytes);
}

void testlog_flush(struct testlog *log)
{
    if (!mpf_columns_count(log->columns)) return;
    make_room(log, mpf_columns_bound(FRAME_EVENTS));
    const long n = mpf_columns_finish(log->columns, &log->from, &log->to,
                                      log->payload + MPF_FRAME_HEAD, log->body_cap);
    if (n <= 0) errx(1, "cannot encode a frame");
    write_frame(log, MPF_FRAME_EVENTS, (size_t)n);
    mpf_columns_begin(log->columns);
    log->from = log->to;
    log->data_bytes = 0;
}

void testlog_skip(struct testlog *log)
{
    testlog_flush(log);
    log->seq++;
}

uint64_t testlog_frames(const struct testlog *log) { return log->seq; }

void testlog_close(struct testlog *log, const char *reason)
{
    testlog_flush(log);
    if (reason) {
        struct mpf_pairs p;
        mpf_pairs_init(&p, log->payload + MPF_FRAME_HEAD, HEADER_BYTES);
        mpf_pairs_add(&p, "reason", reason);
        write_frame(log, MPF_FRAME_END, mpf_pairs_bytes(&p));
    }
    if (fclose(log->file) != 0) err(1, "closing a log");
    ZSTD_freeCCtx(log->zstd);
    free(log->payload);
    free(log->out);
    free(log->memory);
    free(log);
}

/* ---- journal */

struct testjournal {
    FILE *file;
    char log_path[PATH_MAX];
    struct mpf_journal head;
    struct mpf_chunk *chunk;
    uint32_t used;
    uint64_t newest;
};

struct testjournal *testjournal_open(const char *path)
{
    struct testjournal *j = allocate(sizeof *j);
    j->file = fopen(path, "w");
    if (!j->file) err(1, "%s", path);
    snprintf(j->log_path, sizeof j->log_path, "%.*s", (int)(strlen(path) - strlen(".journal")),
             path);
    j->head = (struct mpf_journal){ .magic = MPF_JOURNAL_MAGIC,
                                    .major = MPF_MAJOR,
                                    .minor = MPF_MINOR,
                                    .head_bytes = MPF_JOURNAL_HEAD,
                                    .chunk_bytes = MPF_CHUNK_BYTES,
                                    .slot_bytes = sizeof(struct mpf_slot),
                                    .pid = 4242,
                                    .start = usual_start };
    for (unsigned i = 0; i < sizeof j->head.id; i++) j->head.id[i] = (uint8_t)i;
    return j;
}

static void write_chunk(struct testjournal *j)
{
    if (!j->chunk) return;
    const uint32_t index = j->head.chunks++;
    uint8_t *bytes = allocate(MPF_CHUNK_BYTES);
    memcpy(bytes, j->chunk, sizeof *j->chunk);
    if (fseek(j->file, MPF_JOURNAL_HEAD + (long)index * MPF_CHUNK_BYTES, SEEK_SET) != 0)
        err(1, "journal");
    if (fwrite(bytes, 1, MPF_CHUNK_BYTES, j->file) != MPF_CHUNK_BYTES) err(1, "journal");
    free(bytes);
    free(j->chunk);
    j->chunk = NULL;
}

void testjournal_chunk(struct testjournal *j, uint32_t thread, uint64_t seq, uint32_t drained,
                       uint64_t frame, uint32_t drained_next)
{
    write_chunk(j);
    j->chunk = allocate(sizeof *j->chunk);
    *j->chunk = (struct mpf_chunk){ .seq = seq,
                                    .thread = thread,
                                    .state = MPF_CHUNK_USED,
                                    .tag = 7,
                                    .drained = drained,
                                    .drained_next = drained_next,
                                    .frame = frame };
    j->used = 0;
}

void testjournal_event(struct testjournal *j, uint64_t ns, unsigned op, unsigned heap,
                       uint64_t addr, uint64_t size)
{
    j->chunk->slot[j->used++] = (struct mpf_slot){ clock_at(&usual_start, ns).ticks, addr,
                                                   mpf_slot_head(op, heap, j->chunk->tag, size) };
    if (ns > j->newest) j->newest = ns;
}

void testjournal_torn(struct testjournal *j) { j->used++; }

void testjournal_beat(struct testjournal *j, uint64_t ns)
{
    j->head.beat = clock_at(&usual_start, ns).mono;
}

/* Its process has ended: it is not locked, and its head says that a lock shows whether it lives. */
static void tie(struct testjournal *j)
{
    struct stat self, log = { 0 };
    if (fstat(fileno(j->file), &self) != 0) err(1, "journal");
    stat(j->log_path, &log);
    j->head.flags = MPF_JOURNAL_LOCKED;
    j->head.self = (struct mpf_file){ self.st_dev, self.st_ino };
    j->head.log = (struct mpf_file){ log.st_dev, log.st_ino };
}

void testjournal_close(struct testjournal *j)
{
    write_chunk(j);
    j->head.last = clock_at(&usual_start, j->newest);
    tie(j);
    if (fseek(j->file, 0, SEEK_SET) != 0 || fwrite(&j->head, sizeof j->head, 1, j->file) != 1)
        err(1, "journal");
    if (fclose(j->file) != 0) err(1, "journal");
    free(j);
}
