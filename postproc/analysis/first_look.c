#include "first_look.h"

#include "repeats.h"

int mpr_first_look(struct mpr_first_look *out, struct mpr_arena *arena, const char *path,
                   enum mpr_group by, const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, by, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.repeats = mpr_repeats_new();
    mpr_repeats_watch(reader.repeats, &reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    *out = (struct mpr_first_look){ .choice = mpr_choose(&reader),
                                    .range = mpr_repeats_outermost_name(reader.repeats, arena),
                                    .end_ns = reader.replay.now };
    mpr_reader_close(&reader);
    return 0;
}
