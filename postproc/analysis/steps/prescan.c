#include "prescan.h"

#include "leaks.h"
#include "repeats.h"

void mpr_prescan_take(struct mpr_prescan *out, const struct mpr_reader *reader)
{
    out->end_ns = reader->replay.now;
    for (size_t i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &reader->replay.accounts.heap[i];
        out->heap[i] = (struct mpr_prescan_heap){ h->peak_bytes, h->peak_time, h->bytes };
    }
}

/* A log that begins with ranges probably has one that repeats; then its blocks do not matter. */
static void leave_out_blocks(struct mpr_reader *reader, const struct mpf_event *events,
                             size_t count)
{
    bool *leave_out = &reader->replay.options.without_blocks;
    for (size_t i = 0; i < count && !*leave_out; i++) *leave_out = events[i].op == MPF_OP_PUSH;
}

/* *missing: blocks were left out, but they matter. */
static int scan(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                bool may_leave_out, bool *missing, const struct mpr_progress *progress,
                struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    if (may_leave_out) reader.look_ahead = leave_out_blocks;
    reader.repeats = mpr_repeats_watch(&reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    *out = (struct mpr_prescan){ .choice = mpr_choose(&reader),
                                 .range = mpr_repeats_outermost_name_with(reader.repeats, arena,
                                                                          MPR_LEAKS_LEAST) };
    mpr_prescan_take(out, &reader);
    *missing = reader.replay.options.without_blocks && !out->range;
    mpr_reader_close(&reader);
    return 0;
}

int mpr_prescan_read(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                     bool with_heaps, const struct mpr_progress *progress, struct mpr_error *error)
{
    bool missing;
    int status = scan(out, arena, path, !with_heaps, &missing, progress, error);
    if (status == 0 && missing) status = scan(out, arena, path, false, &missing, progress, error);
    return status;
}
