#include "first_look.h"

#include "leaks.h"
#include "repeats.h"

void mpr_first_look_ended(struct mpr_first_look *out, const struct mpr_reader *reader)
{
    out->end_ns = reader->replay.now;
    for (size_t i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &reader->replay.books.heap[i];
        out->heap[i] = (struct mpr_first_heap){ h->peak_bytes, h->peak_time, h->bytes };
    }
}

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
                                    .grows = mpr_repeats_outermost_name_with(reader.repeats, arena,
                                                                             MPR_LEAKS_LEAST) };
    mpr_first_look_ended(out, &reader);
    mpr_reader_close(&reader);
    return 0;
}
