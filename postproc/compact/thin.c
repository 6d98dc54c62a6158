/* Keeps each event. */
#include "thin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "log.h"
#include "mpf/columns.h"
#include "mpf/frame.h"

#define EVENTS 49152u
#define LEVEL  3

struct output {
    int fd;
    uint64_t seq, frames, bytes;
    struct mpf_columns *columns;
    uint8_t *payload, *out;
    struct mpf_clock clock;
    ZSTD_CCtx *zstd;
    bool failed;
};

static void flush(struct output *o)
{
    const size_t body = mpf_columns_bound(EVENTS);
    if (!mpf_columns_count(o->columns)) return;
    const long n =
        mpf_columns_finish(o->columns, &o->clock, &o->clock, o->payload + MPF_FRAME_HEAD, body);
    const struct mpf_frame frame = { MPF_MAJOR, MPF_MINOR, MPF_FRAME_EVENTS,
                                     o->seq++,  NULL,      (size_t)n };
    const long length =
        mpf_frame_write(o->zstd, LEVEL, &frame, o->payload, o->out, mpf_frame_bound(body));
    o->failed |=
        n < 0 || length < 0 || (o->fd >= 0 && write(o->fd, o->out, (size_t)length) != length);
    o->frames++;
    o->bytes += (uint64_t)length;
    mpf_columns_begin(o->columns);
}

static void put(struct output *o, const struct mpf_event *e)
{
    const struct mpf_slot slot = { .time = o->clock.mono + e->time,
                                   .addr = e->addr,
                                   .head = e->op | (uint64_t)e->heap << 8 | e->size << 24 };
    if (!mpf_columns_room(o->columns)) flush(o);
    mpf_columns_add(o->columns, &slot, e->thread, e->data);
}

static int pass(const char *path, uint64_t seq, struct output *o, struct mpr_thinned *out,
                struct mpr_error *error)
{
    struct mpr_log *log;
    const struct mpf_event *events;
    long count;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_log_stop_after(log, seq);
    const struct mpf_clock start = mpr_log_header(log)->start;
    o->clock = (struct mpf_clock){ start.mono, start.mono, start.real };
    o->frames = o->bytes = 0;
    mpf_columns_begin(o->columns);
    while ((count = mpr_log_next(log, &events, error)) > 0)
        for (long i = 0; i < count; i++) put(o, &events[i]);
    flush(o);
    const struct mpr_log_status *s = mpr_log_status(log);
    out->until = start.mono + s->last_ns;
    if (count == 0 && (s->damaged || s->missing_frames)) {
        mpr_fail(error, "%s: it is damaged, and so not folded", path);
        count = -1;
    } else if (count == 0 && o->failed) count = mpr_fail_errno(error, path, "fold");
    mpr_log_close(log);
    return (int)count;
}

int mpr_thin(const char *log, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error)
{
    const size_t body = mpf_columns_bound(EVENTS);
    (void)budget;
    *out = (struct mpr_thinned){ .frames = 0 };
    void *memory = aligned_alloc(64, (mpf_columns_memory(EVENTS) + 63) / 64 * 64);
    memset(memory, 0, mpf_columns_memory(EVENTS));
    struct output o = { .fd = -1,
                        .columns = mpf_columns_init(memory, EVENTS, 0),
                        .payload = mpr_alloc(1, MPF_FRAME_HEAD + body),
                        .out = mpr_alloc(1, mpf_frame_bound(body)),
                        .zstd = ZSTD_createCCtx() };
    int result = pass(log, seq, &o, out, error);
    o.fd = fd;
    o.seq = seq + 1 - o.frames;
    if (result == 0) result = pass(log, seq, &o, out, error);
    out->frames = o.frames;
    out->bytes = o.bytes;
    ZSTD_freeCCtx(o.zstd);
    free(o.out);
    free(o.payload);
    free(memory);
    return result;
}
