#include "reader.h"

#include "ahead.h"
#include "alloc.h"
#include "amount.h"
#include "hash.h"
#include "names.h"
#include "repeats.h"
#include "replay_options.h"

/* Totals and samples also describe the time before them. */
void mpr_reader_end_early(struct mpr_reader *reader)
{
    const struct mpr_replay_options *o = &reader->replay.options;
    reader->ends_early = !mpr_instant_is_peak(o->at) && o->sample_mean == 0 &&
                         o->torch_sample_mean == 0 && o->python_sample_mean == 0 && !*o->rest_name;
}

static bool has_enough(const struct mpr_reader *reader)
{
    enum {
        LATER_NS = 500000000
    }; /* frames are written every 100 ms, so names may be recorded a
          little later than they are used */
    const struct mpr_replay *r = &reader->replay;
    if (reader->until_heap && r->accounts.heap[reader->until_heap].used) return true;
    if (reader->ends_early && r->pinned && mpr_saturating_sub(r->now, r->options.at.to) > LATER_NS)
        return true;
    return reader->enough && reader->enough(r);
}

static struct mpr_readings so_far;

struct mpr_readings mpr_readings_so_far(void) { return so_far; }

static void count_reading(const char *path, uint64_t events)
{
    static uint64_t first; /* hash of the first path */
    if (!so_far.readings++) first = mpr_hash_text(path);
    so_far.events += events;
    if (events > so_far.longest) so_far.longest = events;
    so_far.one_log = (so_far.readings == 1 || so_far.one_log) && mpr_hash_text(path) == first;
}

int mpr_reader_read(struct mpr_reader *reader, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    uint64_t events_read = 0;
    const uint64_t total = mpr_log_status(reader->log)->bytes;
    struct mpr_ahead *ahead = mpr_ahead_start(reader->log);
    const struct mpf_event *events;
    bool enough = false;
    uint64_t position;
    long count;
    while (!enough && (count = mpr_ahead_next(ahead, &events, &position, error)) > 0) {
        if (reader->look_ahead && !events_read) reader->look_ahead(reader, events, (size_t)count);
        mpr_replay_batch(&reader->replay, events, (size_t)count);
        events_read += (uint64_t)count;
        enough = has_enough(reader);
        if (progress->tick && !enough) progress->tick(progress->arg, path, position, total);
    }
    mpr_ahead_stop(ahead);
    count_reading(path, events_read);
    return enough ? 1 : (int)count;
}

static void begin(struct mpr_reader *reader, const char *path, enum mpr_group by,
                  struct mpr_instant at)
{
    const struct mpr_header *header = mpr_log_header(reader->log);
    struct mpr_replay_options options = { .by = by, .at = at };
    mpr_replay_options_read(&options, header);
    options.pools_exact = mpr_log_status(reader->log)->minor >= 11;
    mpr_alloc_set_path(path);
    mpr_replay_init(&reader->replay, &options);
    reader->look_ahead = NULL;
    reader->enough = NULL;
    reader->until_heap = 0;
    reader->ends_early = false;
    reader->repeats = NULL;
    reader->names = mpr_names_new(path, header->id);
}

int mpr_reader_open(struct mpr_reader *reader, const char *path, enum mpr_group by,
                    struct mpr_instant at, struct mpr_error *error)
{
    if (mpr_log_open(&reader->log, path, error) != 0) return -1;
    begin(reader, path, by, at);
    return 0;
}

int mpr_reader_follow(struct mpr_reader *reader, const char *path, enum mpr_group by,
                      struct mpr_error *error)
{
    if (mpr_log_follow(&reader->log, path, error) != 0) return -1;
    begin(reader, path, by, MPR_INSTANT_PEAK);
    return 0;
}

int mpr_reader_replay(struct mpr_reader *reader, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    const int status = mpr_reader_read(reader, path, progress, error);
    if (status < 0) mpr_reader_close(reader);
    if (status < 0 || (status > 0 && !reader->ends_early)) return status;
    mpr_replay_finish(&reader->replay);
    if (reader->repeats) mpr_repeats_end(reader->repeats, &reader->replay);
    return 0;
}

int mpr_reader_run(struct mpr_reader *reader, const char *path, enum mpr_group by,
                   struct mpr_instant at, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    if (mpr_reader_open(reader, path, by, at, error) != 0) return -1;
    return mpr_reader_replay(reader, path, progress, error);
}

void mpr_reader_close(struct mpr_reader *reader)
{
    mpr_repeats_free(reader->repeats);
    mpr_names_free(reader->names);
    mpr_replay_free(&reader->replay);
    mpr_log_close(reader->log);
    mpr_alloc_set_path(NULL);
}
