#include "mpr/stream.h"

#include <stdlib.h>

#include "alloc.h"
#include "log.h"
#include "replay.h"
#include "replay_options.h"

struct mpr_stream {
    struct mpr_log *log;      /* NULL if it could not be opened */
    struct mpr_replay replay; /* of the log */
    struct mpr_error error;
    bool ended;
};

struct mpr_stream *mpr_stream_open(const char *path)
{
    struct mpr_stream *stream = mpr_alloc(1, sizeof *stream);
    if (mpr_log_open(&stream->log, path, &stream->error) != 0) return stream;
    struct mpr_replay_options options = { .by = MPR_GROUP_HEAP, .at = MPR_INSTANT_PEAK };
    mpr_replay_options_read(&options, mpr_log_header(stream->log));
    mpr_replay_init(&stream->replay, &options);
    return stream;
}

void mpr_stream_close(struct mpr_stream *stream)
{
    if (stream && stream->log) {
        mpr_replay_free(&stream->replay);
        mpr_log_close(stream->log);
    }
    free(stream);
}

long mpr_stream_next(struct mpr_stream *stream, const struct mpf_event **events)
{
    if (!stream->log) return -1;
    if (stream->ended) return 0;
    const long count = mpr_log_next(stream->log, events, &stream->error);
    if (count > 0) mpr_replay_batch(&stream->replay, *events, (size_t)count);
    if (count == 0) {
        mpr_replay_finish(&stream->replay);
        stream->ended = true;
    }
    return count;
}

const char *mpr_stream_error(const struct mpr_stream *stream) { return stream->error.text; }

const char *mpr_stream_header(const struct mpr_stream *stream, const char *key)
{
    return stream->log ? mpr_header_get(mpr_log_header(stream->log), key) : NULL;
}

bool mpr_stream_whole(const struct mpr_stream *stream)
{
    if (!stream->ended) return false;
    const struct mpr_log_status *status = mpr_log_status(stream->log);
    return !mpr_log_incomplete(status) && status->process.life == MPR_LIFE_ENDED &&
           status->lost == 0 && status->torn == 0;
}

size_t mpr_stream_heaps(const struct mpr_stream *stream, struct mpr_stream_heap *heaps, size_t room)
{
    size_t count = 0;
    for (unsigned code = 0; code < MPR_HEAPS && stream->log; code++) {
        const struct mpr_heap *heap = &stream->replay.accounts.heap[code];
        if (!heap->used || !mpf_heap_name(code)) continue;
        if (count++ >= room) continue;
        heaps[count - 1] = (struct mpr_stream_heap){
            .name = mpf_heap_name(code),
            .bytes = heap->bytes,
            .blocks = heap->blocks,
            .peak_bytes = heap->peak_bytes,
            .peak_blocks = heap->peak_blocks,
            .peak_ns = heap->peak_time,
            .allocations = heap->allocations,
            .frees = heap->frees,
        };
    }
    return count;
}
