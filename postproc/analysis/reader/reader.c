#include "reader.h"

#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "index.h"
#include "labels.h"
#include "log.h"
#include "recorded.h"
#include "repeats.h"
#include "replay_options.h"

/* Not with totals or samples, because these also describe the time before them. */
void mpr_reader_end_early(struct mpr_reader *reader)
{
    const struct mpr_replay_options *o = &reader->replay.options;
    reader->ends_early = !mpr_instant_is_peak(o->at) && o->sample_mean == 0 &&
                         o->torch_sample_mean == 0 && o->python_sample_mean == 0 && !*o->rest_name;
}

static bool has_enough(const struct mpr_reader *reader)
{
    /* frames are written every 100 ms, so names may be recorded a little after their first use */
    enum { LATER_NS = 500000000 };
    const struct mpr_replay *r = &reader->replay;
    if (reader->until_heap && r->accounts.heap[reader->until_heap].used) return true;
    if (reader->ends_early && r->instant_is_over &&
        mpr_saturating_sub(r->now, r->options.at.to) > LATER_NS)
        return true;
    return reader->enough && reader->enough(r);
}

static struct mpr_readings so_far;

struct mpr_readings mpr_readings_so_far(void) { return so_far; }

int mpr_reader_read(struct mpr_reader *reader, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    static uint64_t first; /* hash of the path of the first reading */
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
    if (!so_far.readings++) first = mpr_hash_text(path);
    so_far.events += events_read;
    if (events_read > so_far.longest) so_far.longest = events_read;
    so_far.one_log = (so_far.readings == 1 || so_far.one_log) && mpr_hash_text(path) == first;
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

/* ---- the grouping for AUTO */

struct mpr_choice mpr_choose(const struct mpr_reader *reader)
{
    /* [NVTX, PyTorch or no ranges][Python stacks][native stacks] */
    static const char *const source[][2][2] = {
        { { "NVTX", "NVTX, else libraries" },
          { "NVTX, else Python call stacks", "NVTX, else Python call stacks, else libraries" } },
        { { "PyTorch", "PyTorch, else libraries" },
          { "PyTorch, else Python call stacks",
            "PyTorch, else Python call stacks, else libraries" } },
        { { "", "" }, { "Python call stacks", "Python call stacks, else libraries" } },
    };
    const struct mpr_replay *r = &reader->replay;
    bool application = false, torch = false, python = false, stack = false;
    for (uint32_t i = 1; i < r->ranges.nodes && !application; i++) {
        const struct mpr_node *n = &r->ranges.node[i];
        const char *domain = mpr_ranges_domain(&r->ranges, n->domain);
        if (n->name >= MPR_FRAME_NAME) continue;
        if (strcmp(domain, "torch") == 0) torch = true;
        /* NCCL's ranges are not the user's */
        else application = strncmp(domain, "NCCL", 4) != 0;
    }
    for (uint32_t i = 0; i < r->sites.sites; i++) {
        if (i + 1 == r->thinned_site || (r->totals.known && i + 1 == r->totals.site)) continue;
        python |= r->sites.site[i].python != 0;
        stack |= r->sites.site[i].stack != 0;
    }
    /* native stacks of driver calls are always recorded, because they identify the library that
     * owns a block */
    const char *mode = mpr_header_get(mpr_log_header(reader->log), "stacks");
    const bool native = stack && mode && mpr_recorded_named(mode) != MPR_RECORDED_OFF,
               ranges = application || torch;
    const enum mpr_group calls = !ranges  ? MPR_GROUP_RANGE
                                 : python ? MPR_GROUP_PYTHON
                                 : native ? MPR_GROUP_STACK
                                          : MPR_GROUP_RANGE;
    if (ranges || python) {
        const char *names = source[application ? 0 : torch ? 1 : 2][python][stack];
        return (struct mpr_choice){ MPR_GROUP_AUTO, names, calls };
    }
    if (native) return (struct mpr_choice){ MPR_GROUP_STACK, "native call stacks", calls };
    if (stack) return (struct mpr_choice){ MPR_GROUP_LIBRARY, "libraries", calls };
    const enum mpr_group by = r->totals.known ? MPR_GROUP_AUTO : MPR_GROUP_RANGE;
    return (struct mpr_choice){ by, "none recorded", calls };
}

/* Node 0 means outside any range. Counted blocks (counted.h) and a thinned part have a node
 * each. */
bool mpr_choose_has_better_names(const struct mpr_replay *replay)
{
    return replay->ranges.nodes > 1u + replay->totals.known + (replay->thinned_site != 0);
}
