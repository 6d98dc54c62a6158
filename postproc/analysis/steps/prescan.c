#include "prescan.h"

#include "amount.h"
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

/* A log that begins with ranges probably has one that repeats.  Then its blocks are not needed. */
static void leave_out_blocks(struct mpr_reader *reader, const struct mpf_event *events,
                             size_t count)
{
    bool *leave_out = &reader->replay.options.without_blocks;
    for (size_t i = 0; i < count && !*leave_out; i++) *leave_out = events[i].op == MPF_OP_PUSH;
}

int mpr_prescan_read(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                     bool with_heaps, const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    if (!with_heaps) reader.look_ahead = leave_out_blocks;
    reader.repeats = mpr_repeats_watch(&reader.replay);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    *out = (struct mpr_prescan){ .choice = mpr_choose(&reader),
                                 .range = mpr_repeats_outermost_name_with(reader.repeats, arena,
                                                                          MPR_LEAKS_LEAST) };
    mpr_prescan_take(out, &reader);
    const bool is_missing = reader.replay.options.without_blocks && !out->range;
    mpr_reader_close(&reader);
    return is_missing ? mpr_prescan_read(out, arena, path, true, progress, error) : 0;
}

/* ---- the end of growth */

enum {
    TEARDOWN_TICKS = 32,  /* instants from the peak to the end of the log */
    RISE_SHARE = 8,       /* a rise by this share of the lost bytes shows that the program works */
    MOMENT_NS = 100000000 /* a process may end this long after its last free */
};

/* A heap between its peak and the end of the log. */
struct course {
    unsigned heap;
    uint64_t half;      /* bytes halfway between the peak and the end */
    uint64_t min, rise; /* bytes so far: the minimum, and the largest rise above it */
    uint64_t over_half; /* ns: the newest instant with more than half */
};

static void on_tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    struct course *c = arg;
    const uint64_t bytes = r->accounts.heap[c->heap].bytes;
    if (bytes < c->min) c->min = bytes;
    if (bytes - c->min > c->rise) c->rise = bytes - c->min;
    if (bytes > c->half) c->over_half = time;
}

/* Returns true if the heap only shrinks from its peak to the end of the log, which shows that the
 * program frees its blocks because it ends.  A program that only frees the blocks of a phase works
 * on.  Reads the log once more; returns false if that fails. */
static bool is_followed_by_teardown(const struct mpr_prescan *known, unsigned heap,
                                    const char *path, const struct mpr_progress *progress)
{
    struct mpr_reader reader;
    struct mpr_error none;
    const struct mpr_prescan_heap *h = &known->heap[heap];
    const uint64_t lost = mpr_saturating_sub(h->peak_bytes, h->end_bytes),
                   all = mpr_saturating_sub(known->end_ns, h->peak_ns);
    struct course c = {
        .heap = heap, .half = h->end_bytes + lost / 2, .min = UINT64_MAX, .over_half = h->peak_ns
    };
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &none) != 0) return false;
    mpr_clock_begin(&reader.replay, &(struct mpr_clock){ .tick = on_tick,
                                                         .arg = &c,
                                                         .next = h->peak_ns + 1,
                                                         .every = all / TEARDOWN_TICKS + 1 });
    if (mpr_reader_replay(&reader, path, progress, &none) != 0) return false;
    mpr_reader_close(&reader);
    const uint64_t low = mpr_saturating_sub(known->end_ns, c.over_half);
    return c.rise <= lost / RISE_SHARE && (low <= MOMENT_NS || low <= all / 4 * 3);
}

uint64_t mpr_prescan_growth_end(const struct mpr_prescan *known, uint8_t heap, const char *path,
                                const struct mpr_progress *progress)
{
    const struct mpr_prescan_heap *largest = &known->heap[heap];
    uint64_t until = 0;
    unsigned last = 0;
    for (unsigned i = 0; !heap && i < MPR_HEAPS; i++)
        if (known->heap[i].peak_bytes > largest->peak_bytes) largest = &known->heap[i];
    if (largest->end_bytes >= largest->peak_bytes / 2) return known->end_ns;
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_prescan_heap *h = &known->heap[i];
        /* a third, because Python takes a quarter of a short run to free leaked objects */
        const bool frees_late =
            h->end_bytes < h->peak_bytes / 2 && h->peak_ns >= known->end_ns - known->end_ns / 3;
        if (!frees_late || h->peak_bytes < largest->peak_bytes / 2 || h->peak_ns <= until) continue;
        until = h->peak_ns;
        last = i;
    }
    return until && is_followed_by_teardown(known, last, path, progress) ? until : known->end_ns;
}
